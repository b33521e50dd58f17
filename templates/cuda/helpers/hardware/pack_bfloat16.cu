// Two numbers, rounded to bfloat16, in one register.
__device__ unsigned pack_bfloat16(float low, float high)
{
    unsigned pair;
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
    return pair;
}
