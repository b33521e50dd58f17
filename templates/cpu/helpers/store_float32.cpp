static inline void store_float32(float* p, float32x8 x) { _mm256_storeu_ps(p, x); }
