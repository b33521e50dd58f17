static inline float32x8 sqrt(float32x8 x) { return _mm256_sqrt_ps(x); }
