// A number in both halves of a register.
__device__ unsigned pair_of(float16 value) { return value.bits | unsigned(value.bits) << 16; }
