static inline void store_int32_first(int* p, int32x8 x, int count)
{
    if (count >= 8) return store_int32(p, x);
    _mm256_maskstore_epi32(p, first_lanes(count), __m256i(x));
}
