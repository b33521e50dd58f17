// Two numbers, rounded to float16, in one register.
__device__ unsigned pack_float16(float low, float high)
{
    unsigned pair;
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
    return pair;
}
