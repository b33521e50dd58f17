import tilegen.language as T

BM = 16
BN = 16
BK = 16
M = 16
N = 16
K = 16


@T.prim_func
def program(
    A1: T.Tensor((M, N,), "float32"),
    A2: T.Tensor((M, K,), "float32"),
    B1: T.Tensor((K, N,), "float32"),
    A3: T.Tensor((M, K,), "float32"),
    B2: T.Tensor((K, N,), "float32"),
    O1: T.Tensor((M, N,), "float32"),
):
    with T.Kernel(T.ceildiv(N, BN), T.ceildiv(M, BM), threads=128) as (bx, by):
        F1 = T.alloc_fragment((BM, BN,), "float32")
        T.copy(A1[by * BM, bx * BN], F1)
        S1 = T.alloc_shared((BM, BK,), "float32")
        S2 = T.alloc_shared((BK, BN,), "float32")
        F2 = T.alloc_fragment((BM, BN,), "float32")
        T.clear(F2)
        for k in T.Pipelined(T.ceildiv(K, BK), num_stages=2):
            T.copy(A2[by * BM, k * BK], S1)
            T.copy(B1[k * BK, bx * BN], S2)
            T.gemm(S1, S2, F2)
        F3 = T.alloc_fragment((BM, BN,), "float32")
        for i, j in T.Parallel(BM, BN):
            F3[i, j] = F1[i, j]
        S3 = T.alloc_shared((BM, BK,), "float32")
        S4 = T.alloc_shared((BK, BN,), "float32")
        F4 = T.alloc_fragment((BM, BN,), "float32")
        T.clear(F4)
        for k in T.Pipelined(T.ceildiv(K, BK), num_stages=2):
            T.copy(A3[by * BM, k * BK], S3)
            T.copy(B2[k * BK, bx * BN], S4)
            T.gemm(S3, S4, F4)
        F5 = T.alloc_fragment((BM, BN,), "float32")
        for i, j in T.Parallel(BM, BN):
            F5[i, j] = F1[i, j]
        F6 = T.alloc_fragment((BM, BN,), "float32")
        for i, j in T.Parallel(BM, BN):
            F6[i, j] = F1[i, j]
        F7 = T.alloc_fragment((BM, BN,), "float32")
        for i, j in T.Parallel(BM, BN):
            F7[i, j] = F1[i, j]
        T.copy(F7, O1[by * BM, bx * BN])
