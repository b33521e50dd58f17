static inline int32x8 load_int32(const int* p)
{
    return int32x8(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)));
}
