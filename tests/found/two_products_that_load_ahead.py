import tilegen.language as T

BM = 16
BN = 32
BK = 32
M = 16
N = 32
K = 96


@T.prim_func
def program(
    A1: T.Tensor((M, K,), "float16"),
    B1: T.Tensor((K, N,), "float16"),
    A2: T.Tensor((M, K,), "float16"),
    B2: T.Tensor((K, N,), "float16"),
    O1: T.Tensor((M, N,), "float32"),
    O2: T.Tensor((M, N,), "float32"),
):
    with T.Kernel(T.ceildiv(N, BN), T.ceildiv(M, BM), threads=64) as (bx, by):
        S1 = T.alloc_shared((BM, BK,), "float16")
        S2 = T.alloc_shared((BK, BN,), "float16")
        F1 = T.alloc_fragment((BM, BN,), "float32")
        T.clear(F1)
        for k in T.Pipelined(T.ceildiv(K, BK), num_stages=2):
            T.copy(A1[by * BM, k * BK], S1)
            T.copy(B1[k * BK, bx * BN], S2)
            T.gemm(S1, S2, F1)
        S3 = T.alloc_shared((BM, BK,), "float16")
        S4 = T.alloc_shared((BK, BN,), "float16")
        F2 = T.alloc_fragment((BM, BN,), "float32")
        T.clear(F2)
        for k in T.Pipelined(T.ceildiv(K, BK), num_stages=3):
            T.copy(A2[by * BM, k * BK], S3)
            T.copy(B2[k * BK, bx * BN], S4)
            T.gemm(S3, S4, F2)
        T.copy(F1, O1[by * BM, bx * BN])
        T.copy(F2, O2[by * BM, bx * BN])
