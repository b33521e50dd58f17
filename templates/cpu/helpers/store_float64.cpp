static inline void store_float64(double* p, float64x4 x) { _mm256_storeu_pd(p, x); }
