// C[M, N] = A[M, K] * B[N, K]^T for a wave of 64: one block computes 32 x 32 with v_mfma_f32_32x32x8f16.
#include <hip/hip_runtime.h>

typedef _Float16 half4 __attribute__((vector_size(8)));
typedef float float16x __attribute__((vector_size(64)));

constexpr int TILE = 32, BK = 32, PITCH = BK + 8;

extern "C" __global__ __launch_bounds__(64) void gemm(const _Float16* A, const _Float16* B, float* C, int N, int K)
{
    __shared__ __attribute__((aligned(16))) _Float16 A_shared[TILE][PITCH];
    __shared__ __attribute__((aligned(16))) _Float16 B_shared[TILE][PITCH];
    const int lane = threadIdx.x, m = blockIdx.y * TILE, n = blockIdx.x * TILE;
    float16x sums = {};
    for (int k = 0; k < K; k += BK) {
        for (int i = lane; i < TILE * BK; i += 64) {
            A_shared[i / BK][i % BK] = A[(m + i / BK) * K + k + i % BK];
            B_shared[i / BK][i % BK] = B[(n + i / BK) * K + k + i % BK];
        }
        __syncthreads();
        for (int kk = 0; kk < BK; kk += 8) {
            const half4 a = *reinterpret_cast<const half4*>(&A_shared[lane % 32][kk + lane / 32 * 4]);
            const half4 b = *reinterpret_cast<const half4*>(&B_shared[lane % 32][kk + lane / 32 * 4]);
            sums = __builtin_amdgcn_mfma_f32_32x32x8f16(a, b, sums, 0, 0, 0);
        }
        __syncthreads();
    }
    for (int i = 0; i < 16; ++i)
        C[(m + i / 4 * 8 + lane / 32 * 4 + i % 4) * N + n + lane % 32] = sums[i];
}
