// scale_add: C[M, N] = alpha * A[M, N] + B[N], for cpu avx2.

constexpr int BM = 16;        // rows per block: 1 and up
constexpr int BN = 8 * 4;     // columns per block: a multiple of 8
constexpr int TILE = BM * BN, ROW_BYTES = BN * 4;

static_assert(TILE % 8 == 0 && ROW_BYTES % 32 == 0, "a block is made of whole vectors");

extern "C" void scale_add(const float* __restrict__ A, const float* __restrict__ B,
                          float* __restrict__ C, float alpha, int M, int N)
{
    const int blocks_m = (M + BM - 1) / BM;
    // scale.py:7  with T.Kernel(T.ceildiv(N, BN), T.ceildiv(M, BM)) as (bx, by)
#pragma omp parallel for schedule(static)
    for (int by = 0; by < blocks_m; ++by)
        for (int row = by * BM; row < M && row < (by + 1) * BM; ++row)
            // scale.py:9  C[i, j] = alpha * A[i, j] + B[j]
            for (int col = 0; col < N; ++col)
                C[long(row) * N + col] = alpha * A[long(row) * N + col] + B[col];
}

// tilegen-launch: {"entry": "scale_add", "target": "cpu", "arch": "avx2", "knobs": ["BM", "BN"],
//   "grid": ["ceildiv(N, BN)", "ceildiv(M, BM)", "1"], "block": "1", "shared": "0",
//   "params": [{"name": "A", "dtype": "float32", "shape": ["M", "N"], "access": "read"},
//              {"name": "B", "dtype": "float32", "shape": ["N"], "access": "read"},
//              {"name": "C", "dtype": "float32", "shape": ["M", "N"], "access": "write"},
//              {"name": "alpha", "dtype": "float32"}],
//   "sizes": ["M", "N"], "map": {"7": [15, 18], "9": [19, 21]}, "source": "scale.py:5"}

#ifdef TILEGEN_MAIN
constexpr int BM = 0;         // the stand-alone part is none of the loader's business
#endif
