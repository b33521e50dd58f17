// One register tile: c += a * b over `depth` steps.
static inline void multiply_int32(const int (*a)[MR], const int (*b)[NR], int (*c)[NR], int depth)
{
    int32x8 acc[MR][NV];
#pragma GCC unroll 16
    for (int i = 0; i < MR; ++i)
#pragma GCC unroll 16
        for (int j = 0; j < NV; ++j) acc[i][j] = load_int32(&c[i][j * LANES]);
    for (int k = 0; k < depth; ++k) {
        int32x8 row[NV];
#pragma GCC unroll 16
        for (int j = 0; j < NV; ++j) row[j] = load_int32(&b[k][j * LANES]);
#pragma GCC unroll 16
        for (int i = 0; i < MR; ++i)
#pragma GCC unroll 16
            for (int j = 0; j < NV; ++j) acc[i][j] += a[k][i] * row[j];
    }
#pragma GCC unroll 16
    for (int i = 0; i < MR; ++i)
#pragma GCC unroll 16
        for (int j = 0; j < NV; ++j) store_int32(&c[i][j * LANES], acc[i][j]);
}
