static inline void store_bfloat16_first(bfloat16* p, float32x8 x, int count)
{
    if (count >= 8) return store_bfloat16(p, x);
    for (int lane = 0; lane < count; ++lane) p[lane] = x[lane];
}
