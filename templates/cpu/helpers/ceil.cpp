static inline float32x8 ceil(float32x8 x) { return _mm256_ceil_ps(x); }
