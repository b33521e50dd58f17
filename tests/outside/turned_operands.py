"""Operands that are the transposes of fragments: the Gram matrix of a product, and its product with itself."""

import tilegen.language as T

SIZES = ({"M": 64}, {"M": 45})


def kernel(A: T.Tensor[("M", 64), "float16"], G: T.Tensor[(64, 64), "float32"], H: T.Tensor[(64, 64), "float32"],
           BM=32):
    with T.Kernel(1, threads=128) as _:
        a = T.alloc_fragment((BM, 64), "float16")
        gram = T.alloc_fragment((64, 64), "float32")
        rounded = T.alloc_fragment((64, 64), "float16")
        flipped = T.alloc_fragment((64, 64), "float16")
        again = T.alloc_fragment((64, 64), "float32")
        T.clear(gram)
        for step in T.serial(T.ceildiv(M, BM)):
            T.copy(A[step * BM, 0], a)
            T.gemm(a, a, gram, transpose_A=True)
        for i, j in T.Parallel(64, 64):
            rounded[i, j] = gram[i, j] * 0.125
        T.transpose(rounded, flipped)
        T.clear(again)
        T.gemm(rounded, flipped, again, transpose_B=True)
        T.gemm(flipped, rounded, again)
        for i, j in T.Parallel(64, 64):
            gram[i, j] = gram[i, j] + again[j, i]
        T.copy(gram, G)
        T.copy(again, H)
