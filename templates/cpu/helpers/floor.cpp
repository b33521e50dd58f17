static inline float32x8 floor(float32x8 x) { return _mm256_floor_ps(x); }
