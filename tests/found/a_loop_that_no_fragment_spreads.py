import tilegen.language as T

BM = 16
BN = 16
BK = 16
M = 16
N = 16
K = 16


@T.prim_func
def program(
    A1: T.Tensor((M, N,), "int32"),
    O1: T.Tensor((M, N,), "int32"),
):
    with T.Kernel(T.ceildiv(N, BN), T.ceildiv(M, BM), threads=128) as (bx, by):
        F1 = T.alloc_fragment((BM, BN,), "int32")
        T.copy(A1[by * BM, bx * BN], F1)
        S1 = T.alloc_shared((BM, BN,), "int32")
        T.copy(F1, S1)
        F2 = T.alloc_fragment((BN,), "int32")
        T.reduce_sum(F1, F2, dim=0)
        S2 = T.alloc_shared((BM, BN,), "int32")
        for i, j in T.Parallel(BM, BN):
            S2[i, j] = ((S1[i, j]) + (F2[j])) + (S1[i, j])
        T.copy(S2, O1[by * BM, bx * BN])
