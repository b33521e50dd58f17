"""Two products that share their left operand, gated: C = (A @ B) * sigmoid(A @ D)."""

import tilegen.language as T

SIZES = ({"M": 64, "N": 64, "K": 64}, {"M": 70, "N": 50, "K": 45})


def kernel(A: T.Tensor[("M", "K"), "float16"], B: T.Tensor[("K", "N"), "float16"], D: T.Tensor[("K", "N"), "float16"],
           C: T.Tensor[("M", "N"), "float16"], BM=64, BN=64, BK=32):
    with T.Kernel(T.ceildiv(N, BN), T.ceildiv(M, BM), threads=128) as (bx, by):
        a = T.alloc_shared((BM, BK), "float16")
        b = T.alloc_shared((BK, BN), "float16")
        d = T.alloc_shared((BK, BN), "float16")
        value = T.alloc_fragment((BM, BN), "float32")
        gate = T.alloc_fragment((BM, BN), "float32")
        T.clear(value)
        T.clear(gate)
        for k in T.Pipelined(T.ceildiv(K, BK), num_stages=2):
            T.copy(A[by * BM, k * BK], a)
            T.copy(B[k * BK, bx * BN], b)
            T.copy(D[k * BK, bx * BN], d)
            T.gemm(a, b, value)
            T.gemm(a, d, gate)
        for i, j in T.Parallel(BM, BN):
            value[i, j] = value[i, j] / (1.0 + T.exp(-gate[i, j]))
        T.copy(value, C[by * BM, bx * BN])
