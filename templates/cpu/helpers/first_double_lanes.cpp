// All bits set in the first `count` of four lanes.
static inline __m256i first_double_lanes(int count)
{
    return _mm256_cmpgt_epi64(_mm256_set1_epi64x(count), _mm256_setr_epi64x(0, 1, 2, 3));
}
