// The first `count` elements; `beyond` in the lanes after them.
static inline float32x8 load_float16_first(const float16* p, int count, float beyond = 0)
{
    float32x8 x = broadcast(beyond);
    if (count >= 8) return load_float16(p);
    for (int lane = 0; lane < count; ++lane) x[lane] = p[lane];
    return x;
}
