static inline void store_float32_first(float* p, float32x8 x, int count)
{
    if (count >= 8) return store_float32(p, x);
    _mm256_maskstore_ps(p, first_lanes(count), x);
}
