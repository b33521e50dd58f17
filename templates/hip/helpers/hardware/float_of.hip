__device__ float float_of(unsigned bits) { return __builtin_bit_cast(float, bits); }
