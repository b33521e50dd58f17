// Rounds toward zero.
static inline int32x8 to_int32(float32x8 x) { return int32x8(_mm256_cvttps_epi32(x)); }
