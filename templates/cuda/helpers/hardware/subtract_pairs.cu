// The difference of two pairs of float16, each rounded to nearest even.
__device__ unsigned subtract_pairs(unsigned a, unsigned b)
{
    unsigned y;
    asm("sub.rn.f16x2 %0, %1, %2;" : "=r"(y) : "r"(a), "r"(b));
    return y;
}
