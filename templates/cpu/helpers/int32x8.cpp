typedef int int32x8 __attribute__((vector_size(32)));
