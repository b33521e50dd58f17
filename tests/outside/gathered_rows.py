"""Rows chosen by an index, multiplied and scattered again: the routing of a mixture of experts."""

import tilegen.language as T

SIZES = ({"R": 40, "M": 64}, {"R": 33, "M": 50})


def kernel(X: T.Tensor[("R", 64), "float16"], rows: T.Tensor[("M",), "int32"], W: T.Tensor[(64, 32), "float16"],
           Y: T.Tensor[("R", 32), "float32"], Z: T.Tensor[("M", 64), "float32"], BM=32):
    with T.Kernel(T.ceildiv(M, BM), threads=64) as bx:
        index = T.alloc_shared((BM,), "int32")
        place = T.alloc_fragment((BM,), "int32")
        x = T.alloc_shared((BM, 64), "float16")
        w = T.alloc_shared((64, 32), "float16")
        y = T.alloc_fragment((BM, 32), "float32")
        table = T.alloc_fragment((BM, 64), "float32")
        T.copy(rows[bx * BM], index)
        for i in T.Parallel(BM):
            place[i] = (index[i] * 7 + 3) % BM
        T.copy(W, w)
        for i, j in T.Parallel(BM, 64):
            x[i, j] = X[(index[i] % R + R) % R, j]
        T.clear(y)
        T.gemm(x, w, y)
        for i, j in T.Parallel(BM, 32):
            if bx * BM + i < M:
                T.atomic_add(Y[(index[i] % R + R) % R, j], y[i, j])
        for i, j in T.Parallel(BM, 64):
            table[i, j] = x[i, j]
        for i, j in T.Parallel(BM, 64):
            Z[bx * BM + i, j] = table[place[i], j] + table[i, (j + place[i]) % 64]
