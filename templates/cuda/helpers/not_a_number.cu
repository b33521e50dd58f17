__device__ float not_a_number() { return float_of(0x7fffffff); }
