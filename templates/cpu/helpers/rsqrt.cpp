static inline float32x8 rsqrt(float32x8 x) { return 1.0f / _mm256_sqrt_ps(x); }
