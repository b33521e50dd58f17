import tilegen.language as T

BM = 16
BN = 16
BK = 16
M = 16
N = 16
K = 16


@T.prim_func
def program(
    A1: T.Tensor((M, N,), "bfloat16"),
    O1: T.Tensor((M, N,), "float16"),
):
    with T.Kernel(T.ceildiv(N, BN), T.ceildiv(M, BM), threads=128) as (bx, by):
        F1 = T.alloc_fragment((BM, BN,), "bfloat16")
        T.copy(A1[by * BM, bx * BN], F1)
        S1 = T.alloc_shared((BM, BN,), "float16")
        T.copy(F1, S1)
        T.copy(S1, O1[by * BM, bx * BN])
