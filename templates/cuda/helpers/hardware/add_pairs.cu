// The sum of two pairs of float16, each rounded to nearest even.
__device__ unsigned add_pairs(unsigned a, unsigned b)
{
    unsigned y;
    asm("add.rn.f16x2 %0, %1, %2;" : "=r"(y) : "r"(a), "r"(b));
    return y;
}
