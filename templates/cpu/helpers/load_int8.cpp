// Eight small integers as int.
static inline int32x8 load_int8(const signed char* p)
{
    return int32x8(_mm256_cvtepi8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(p))));
}
