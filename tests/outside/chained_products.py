"""A product of a product that stays on chip, and its transpose: E = (A @ B) @ D + (A @ B)^T @ F."""

import tilegen.language as T

SIZES = ({"K": 64}, {"K": 50})


def kernel(A: T.Tensor[(64, "K"), "float16"], B: T.Tensor[("K", 64), "float16"], D: T.Tensor[(64, 32), "float16"],
           F: T.Tensor[(64, 32), "float16"], E: T.Tensor[(64, 32), "float32"], BK=32):
    with T.Kernel(1, threads=128) as _:
        a = T.alloc_shared((64, BK), "float16")
        b = T.alloc_shared((BK, 64), "float16")
        d = T.alloc_shared((64, 32), "float16")
        f = T.alloc_shared((64, 32), "float16")
        inner = T.alloc_fragment((64, 64), "float32")
        rounded = T.alloc_fragment((64, 64), "float16")
        outer = T.alloc_fragment((64, 32), "float32")
        T.copy(D, d)
        T.copy(F, f)
        T.clear(inner)
        T.clear(outer)
        for k in T.Pipelined(T.ceildiv(K, BK), num_stages=2):
            T.copy(A[0, k * BK], a)
            T.copy(B[k * BK, 0], b)
            T.gemm(a, b, inner)
        T.copy(inner, rounded)
        T.gemm(rounded, d, outer)
        T.gemm(rounded, f, outer, transpose_A=True)
        T.copy(outer, E)
