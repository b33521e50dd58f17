static inline void store_float16_first(float16* p, float32x8 x, int count)
{
    if (count >= 8) return store_float16(p, x);
    for (int lane = 0; lane < count; ++lane) p[lane] = x[lane];
}
