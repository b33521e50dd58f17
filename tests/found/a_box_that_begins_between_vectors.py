import tilegen.language as T

M = 33
N = 70


@T.prim_func
def program(
    A1: T.Tensor((M, N,), "float32"),
    O1: T.Tensor((M, N,), "float32"),
):
    with T.Kernel(T.ceildiv(N, 64), T.ceildiv(M, 16), threads=128) as (bx, by):
        S1 = T.alloc_shared((16, 64,), "float32")
        T.copy(A1[by * 16 - 3, bx * 64 - 2], S1)
        T.copy(S1, O1[by * 16, bx * 64])
