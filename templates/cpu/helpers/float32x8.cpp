typedef float float32x8 __attribute__((vector_size(32)));
