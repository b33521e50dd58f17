// One register tile: c += a * b over `depth` steps.
static inline void multiply(const float (*a)[MR], const float (*b)[NR], float (*c)[NR], int depth)
{
    float32x8 acc[MR][NV];
#pragma GCC unroll 16
    for (int i = 0; i < MR; ++i)
#pragma GCC unroll 16
        for (int j = 0; j < NV; ++j) acc[i][j] = _mm256_load_ps(&c[i][j * LANES]);
    for (int k = 0; k < depth; ++k) {
        float32x8 row[NV];
#pragma GCC unroll 16
        for (int j = 0; j < NV; ++j) row[j] = _mm256_load_ps(&b[k][j * LANES]);
#pragma GCC unroll 16
        for (int i = 0; i < MR; ++i) {
            const float32x8 x = _mm256_broadcast_ss(&a[k][i]);
#pragma GCC unroll 16
            for (int j = 0; j < NV; ++j) acc[i][j] = _mm256_fmadd_ps(x, row[j], acc[i][j]);
        }
    }
#pragma GCC unroll 16
    for (int i = 0; i < MR; ++i)
#pragma GCC unroll 16
        for (int j = 0; j < NV; ++j) _mm256_store_ps(&c[i][j * LANES], acc[i][j]);
}
