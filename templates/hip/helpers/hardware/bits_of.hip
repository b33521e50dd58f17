__device__ unsigned bits_of(float x) { return __builtin_bit_cast(unsigned, x); }
