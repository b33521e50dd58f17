// One register tile: c += a * b over `depth` steps.
static inline void multiply_float64(const double (*a)[MR], const double (*b)[NR], double (*c)[NR],
                                    int depth)
{
    float64x4 acc[MR][NV];
#pragma GCC unroll 16
    for (int i = 0; i < MR; ++i)
#pragma GCC unroll 16
        for (int j = 0; j < NV; ++j) acc[i][j] = _mm256_load_pd(&c[i][j * DOUBLE_LANES]);
    for (int k = 0; k < depth; ++k) {
        float64x4 row[NV];
#pragma GCC unroll 16
        for (int j = 0; j < NV; ++j) row[j] = _mm256_load_pd(&b[k][j * DOUBLE_LANES]);
#pragma GCC unroll 16
        for (int i = 0; i < MR; ++i) {
            const float64x4 x = _mm256_broadcast_sd(&a[k][i]);
#pragma GCC unroll 16
            for (int j = 0; j < NV; ++j) acc[i][j] = _mm256_fmadd_pd(x, row[j], acc[i][j]);
        }
    }
#pragma GCC unroll 16
    for (int i = 0; i < MR; ++i)
#pragma GCC unroll 16
        for (int j = 0; j < NV; ++j) _mm256_store_pd(&c[i][j * DOUBLE_LANES], acc[i][j]);
}
