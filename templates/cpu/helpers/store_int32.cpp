static inline void store_int32(int* p, int32x8 x)
{
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), __m256i(x));
}
