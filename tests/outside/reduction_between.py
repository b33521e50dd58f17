"""A reduction between two products: the columns of the first, normalised by their own lengths, times a matrix."""

import tilegen.language as T

SIZES = ({"M": 128, "blocks": 2}, {"M": 100, "blocks": 2})


def kernel(A: T.Tensor[("M", 32), "float16"], B: T.Tensor[(32, 64), "float16"], W: T.Tensor[(64, 64), "float16"],
           C: T.Tensor[("M", 64), "float32"], S: T.Tensor[("blocks", 64), "float32"], BM=64):
    with T.Kernel(T.ceildiv(M, BM), threads=128) as bx:
        a = T.alloc_shared((BM, 32), "float16")
        b = T.alloc_shared((32, 64), "float16")
        w = T.alloc_shared((64, 64), "float16")
        hidden = T.alloc_fragment((BM, 64), "float32")
        squares = T.alloc_fragment((BM, 64), "float32")
        length = T.alloc_fragment((64,), "float32")
        rounded = T.alloc_fragment((BM, 64), "float16")
        out = T.alloc_fragment((BM, 64), "float32")
        T.copy(A[bx * BM, 0], a)
        T.copy(B, b)
        T.copy(W, w)
        T.clear(hidden)
        T.gemm(a, b, hidden)
        for i, j in T.Parallel(BM, 64):
            squares[i, j] = hidden[i, j] * hidden[i, j]
        T.reduce_sum(squares, length, dim=0)
        for i, j in T.Parallel(BM, 64):
            rounded[i, j] = hidden[i, j] / T.sqrt(length[j] + 1.0)
        T.clear(out)
        T.gemm(rounded, w, out)
        T.copy(out, C[bx * BM, 0])
        T.copy(length, S[bx, 0])
