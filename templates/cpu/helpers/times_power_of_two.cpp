// x * 2^n in two steps, so that results may be subnormal or infinite.
static inline float32x8 times_power_of_two(float32x8 x, int32x8 n)
{
    const int32x8 half = n >> 1;
    return x * float32x8((half + 127) << 23) * float32x8((n - half + 127) << 23);
}
