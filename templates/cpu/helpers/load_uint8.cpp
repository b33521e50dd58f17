// Eight small integers as int.
static inline int32x8 load_uint8(const unsigned char* p)
{
    return int32x8(_mm256_cvtepu8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(p))));
}
