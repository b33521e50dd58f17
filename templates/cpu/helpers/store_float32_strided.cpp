// Stores the first `count` elements `stride` apart.
static inline void store_float32_strided(float* p, int stride, float32x8 x, int count = 8)
{
    for (int lane = 0; lane < std::min(count, 8); ++lane) p[lane * stride] = x[lane];
}
