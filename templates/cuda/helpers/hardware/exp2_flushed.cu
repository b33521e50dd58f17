// 2 to the x by one instruction; what would be below the least normal number is 0.
__device__ float exp2_flushed(float x)
{
    float y;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}
