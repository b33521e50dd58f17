// The first `count` elements; `beyond` in the lanes after them.
static inline int32x8 load_int32_first(const int* p, int count, int beyond = 0)
{
    if (count >= 8) return load_int32(p);
    const __m256i mask = first_lanes(count);
    return int32x8(mask) ? int32x8(_mm256_maskload_epi32(p, mask)) : broadcast(beyond);
}
