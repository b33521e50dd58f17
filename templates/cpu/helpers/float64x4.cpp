typedef double float64x4 __attribute__((vector_size(32)));
