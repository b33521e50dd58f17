"""C = gelu(A @ B + bias): the epilogue works on the accumulator before it leaves the registers."""

import tilegen
import tilegen.language as T


@tilegen.jit
def linear_gelu(A: T.Tensor[("M", "K"), "float16"], B: T.Tensor[("K", "N"), "float16"], bias: T.Tensor[("N",), "float32"],
                C: T.Tensor[("M", "N"), "float16"],
                BM=T.by_target(128, cpu=480), BN=T.by_target(128, cpu=1024), BK=T.by_target(32, cpu=256)):
    with T.Kernel(T.ceildiv(N, BN), T.ceildiv(M, BM), threads=256) as (bx, by):
        A_shared = T.alloc_shared((BM, BK), "float16")
        B_shared = T.alloc_shared((BK, BN), "float16")
        C_local = T.alloc_fragment((BM, BN), "float32")
        bias_local = T.alloc_fragment((BN,), "float32")
        T.clear(C_local)
        for ko in T.Pipelined(T.ceildiv(K, BK), num_stages=2):
            T.copy(A[by * BM, ko * BK], A_shared)
            T.copy(B[ko * BK, bx * BN], B_shared)
            T.gemm(A_shared, B_shared, C_local)
        T.copy(bias[bx * BN], bias_local)
        for i, j in T.Parallel(BM, BN):
            C_local[i, j] = T.gelu(C_local[i, j] + bias_local[j])
        T.copy(C_local, C[by * BM, bx * BN])
