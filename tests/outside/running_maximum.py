"""The running maximum of a product along its columns, and where each row's largest value stands."""

import tilegen.language as T

SIZES = ({"M": 64, "K": 32}, {"M": 50, "K": 20})


def kernel(A: T.Tensor[("M", "K"), "float16"], B: T.Tensor[("K", 64), "float16"], C: T.Tensor[("M", 64), "float32"],
           where: T.Tensor[("M",), "int32"], BM=32, BK=16):
    with T.Kernel(T.ceildiv(M, BM), threads=64) as bx:
        a = T.alloc_shared((BM, BK), "float16")
        b = T.alloc_shared((BK, 64), "float16")
        c = T.alloc_fragment((BM, 64), "float32")
        top = T.alloc_fragment((BM,), "float32")
        place = T.alloc_fragment((BM, 64), "int32")
        first = T.alloc_fragment((BM,), "int32")
        T.clear(c)
        for k in T.Pipelined(T.ceildiv(K, BK), num_stages=2):
            T.copy(A[bx * BM, k * BK], a)
            T.copy(B[k * BK, 0], b)
            T.gemm(a, b, c)
        T.reduce_max(c, top, dim=1)
        for i, j in T.Parallel(BM, 64):
            place[i, j] = T.if_then_else(c[i, j] == top[i], j, 64)
        T.reduce_min(place, first, dim=1)
        T.cummax(c, dim=1)
        T.copy(c, C[bx * BM, 0])
        T.copy(first, where[bx * BM])
