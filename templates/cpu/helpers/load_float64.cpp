static inline float64x4 load_float64(const double* p) { return _mm256_loadu_pd(p); }
