// transpose: B[N, M] = transposed A[M, N], for cuda sm_75.

constexpr int TILE = 32;      // edge of the square tile: 8, 16, 32
constexpr int ROWS = 8;       // rows of threads
constexpr int STRIDE = TILE + 1;
constexpr int SMEM_BYTES = TILE * STRIDE * 4;

static_assert(SMEM_BYTES <= 64 * 1024, "A_shared fits in shared memory");

extern "C" __global__ void __launch_bounds__(TILE * ROWS, 1)
transpose(const float* __restrict__ A, float* __restrict__ B, int M, int N)
{
    extern __shared__ __align__(16) float A_shared[];
    const int bx = blockIdx.x, by = blockIdx.y;
    const int col = threadIdx.x;
    // transpose.py:9  T.copy(A[by * TILE, bx * TILE], A_shared)
    for (int row = threadIdx.y; row < TILE; row += ROWS) {
        const int m = by * TILE + row, n = bx * TILE + col;
        if (m < M && n < N) A_shared[row * STRIDE + col] = A[m * N + n];
    }
    __syncthreads();
    // transpose.py:10  B[bx * TILE + i, by * TILE + j] = A_shared[j, i]
    for (int row = threadIdx.y; row < TILE; row += ROWS) {
        const int n = bx * TILE + row, m = by * TILE + col;
        if (m < M && n < N) B[n * M + m] = A_shared[col * STRIDE + row];
    }
}

// tilegen-launch: {"entry": "transpose", "target": "cuda", "arch": "sm_75", "knobs": ["TILE", "ROWS"],
//   "grid": ["ceildiv(N, TILE)", "ceildiv(M, TILE)", "1"], "block": ["TILE", "ROWS", "1"],
//   "shared": "SMEM_BYTES",
//   "params": [{"name": "A", "dtype": "float32", "shape": ["M", "N"], "access": "read"},
//              {"name": "B", "dtype": "float32", "shape": ["N", "M"], "access": "write"}],
//   "sizes": ["M", "N"], "map": {"9": [16, 20], "10": [22, 26]}, "source": "transpose.py:5"}
