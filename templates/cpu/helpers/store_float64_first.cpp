static inline void store_float64_first(double* p, float64x4 x, int count)
{
    if (count >= 4) return store_float64(p, x);
    _mm256_maskstore_pd(p, first_double_lanes(count), x);
}
