// The first `count` elements; `beyond` in the lanes after them.
static inline float64x4 load_float64_first(const double* p, int count, double beyond = 0)
{
    if (count >= 4) return load_float64(p);
    const __m256i mask = first_double_lanes(count);
    return _mm256_blendv_pd(broadcast(beyond), _mm256_maskload_pd(p, mask), __m256d(mask));
}
