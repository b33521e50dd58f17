__device__ unsigned bits_of(float x) { return __float_as_uint(x); }
