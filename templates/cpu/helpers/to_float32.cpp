static inline float32x8 to_float32(int32x8 x) { return _mm256_cvtepi32_ps(__m256i(x)); }
