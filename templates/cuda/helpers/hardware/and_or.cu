// x & mask | bits as the one instruction that it is, also where both are constants.
__device__ unsigned and_or(unsigned x, unsigned mask, unsigned bits)
{
    unsigned y;
    asm("lop3.b32 %0, %1, %2, %3, 0xea;" : "=r"(y) : "r"(x), "r"(mask), "r"(bits));
    return y;
}
