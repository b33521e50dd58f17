static inline float32x8 load_float32(const float* p) { return _mm256_loadu_ps(p); }
