"""Products of bytes, halves and floats in one kernel: quantise by rows, multiply as integers, scale, and add a
product of floats."""

import tilegen.language as T

SIZES = ({"M": 64}, {"M": 50})


def kernel(X: T.Tensor[("M", 64), "float32"], W: T.Tensor[(64, 32), "int8"], scales: T.Tensor[(32,), "float32"],
           V: T.Tensor[(64, 32), "float32"], Y: T.Tensor[("M", 32), "float16"], BM=32):
    with T.Kernel(T.ceildiv(M, BM), threads=64) as bx:
        x = T.alloc_fragment((BM, 64), "float32")
        exact = T.alloc_shared((BM, 64), "float32")
        top = T.alloc_fragment((BM,), "float32")
        bytes_of_x = T.alloc_fragment((BM, 64), "int8")
        w = T.alloc_shared((64, 32), "int8")
        v = T.alloc_shared((64, 32), "float32")
        whole = T.alloc_fragment((BM, 32), "int32")
        rest = T.alloc_fragment((BM, 32), "float32")
        T.copy(X[bx * BM, 0], x)
        T.copy(X[bx * BM, 0], exact)
        T.copy(W, w)
        T.copy(V, v)
        T.reduce_absmax(x, top, dim=1)
        for i, j in T.Parallel(BM, 64):
            bytes_of_x[i, j] = T.cast(T.round(x[i, j] * 16.0), "int8")
        T.clear(whole)
        T.clear(rest)
        T.gemm(bytes_of_x, w, whole)
        T.gemm(exact, v, rest)
        for i, j in T.Parallel(BM, 32):
            rest[i, j] = rest[i, j] + T.cast(whole[i, j], "float32") * 0.0625 * scales[j] / (top[i] + 1.0)
        T.copy(rest, Y[bx * BM, 0])
