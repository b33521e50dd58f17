__device__ float infinity() { return float_of(0x7f800000); }
