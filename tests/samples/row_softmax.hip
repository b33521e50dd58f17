// row_softmax: Y[M, N] = softmax(X[M, N]) along rows, one block a row, for hip gfx942.

#include <hip/hip_runtime.h>

constexpr int THREADS = 256;  // threads per row: a multiple of 64
constexpr int WARP = 32;      // lanes that shuffle together: 32 runs on every GPU
constexpr float LOWEST = -3.402823466e38f;

struct Smem {
    float partial[THREADS / WARP];
};

extern "C" __global__ void __launch_bounds__(THREADS, 1)
row_softmax(const float* __restrict__ X, float* __restrict__ Y, double* __restrict__ total, int M, int N)
{
    __shared__ Smem s;
    const int row = blockIdx.x, lane = threadIdx.x % WARP, warp = threadIdx.x / WARP;
    // softmax.py:8  T.reduce_max(X_local, highest, dim=1)
    float highest = LOWEST;
    for (int col = threadIdx.x; col < N; col += THREADS) highest = fmaxf(highest, X[row * N + col]);
    for (int mask = WARP / 2; mask > 0; mask /= 2) highest = fmaxf(highest, __shfl_xor(highest, mask, WARP));
    if (lane == 0) s.partial[warp] = highest;
    __syncthreads();
    for (int w = 0; w < THREADS / WARP; ++w) highest = fmaxf(highest, s.partial[w]);
    // softmax.py:10  Y[row, j] = T.exp(X[row, j] - highest)
    double sum = 0;
    for (int col = threadIdx.x; col < N; col += THREADS) {
        const float e = expf(X[row * N + col] - highest);
        Y[row * N + col] = e;
        sum += e;
    }
    for (int mask = WARP / 2; mask > 0; mask /= 2) sum += __shfl_xor(sum, mask, WARP);
    if (lane == 0) atomicAdd(&total[row], sum);
}

// tilegen-launch: {"entry": "row_softmax", "target": "hip", "arch": "gfx942", "knobs": ["THREADS"],
//   "grid": ["M", "1", "1"], "block": "THREADS", "shared": "0",
//   "params": [{"name": "X", "dtype": "float32", "shape": ["M", "N"], "access": "read"},
//              {"name": "Y", "dtype": "float32", "shape": ["M", "N"], "access": "write"},
//              {"name": "total", "dtype": "float64", "shape": ["M"], "access": "readwrite"}],
//   "sizes": ["M", "N"], "map": {"8": [18, 24], "10": [25, 33]}, "source": "softmax.py:5"}
