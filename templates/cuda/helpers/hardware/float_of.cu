__device__ float float_of(unsigned bits) { return __uint_as_float(bits); }
