// The first `count` elements; `beyond` in the lanes after them.
static inline float32x8 load_float32_first(const float* p, int count, float beyond = 0)
{
    if (count >= 8) return load_float32(p);
    const __m256i mask = first_lanes(count);
    return _mm256_blendv_ps(broadcast(beyond), _mm256_maskload_ps(p, mask), __m256(mask));
}
