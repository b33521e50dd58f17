// 16 bits in both halves of a register.
__device__ constexpr unsigned both(unsigned bits) { return bits | bits << 16; }
