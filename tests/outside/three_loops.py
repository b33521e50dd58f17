"""One fragment in loops of three shapes: rotary embedding, scaling by groups, and rows of half the length."""

import tilegen.language as T

SIZES = ({"M": 32}, {"M": 37})


def kernel(X: T.Tensor[("M", 64), "float32"], angles: T.Tensor[("M", 32), "float32"],
           Y: T.Tensor[("M", 64), "float32"], Z: T.Tensor[("M", 32), "float32"], BM=16):
    with T.Kernel(T.ceildiv(M, BM), threads=64) as bx:
        x = T.alloc_fragment((BM, 64), "float32")
        turned = T.alloc_fragment((BM, 64), "float32")
        top = T.alloc_fragment((BM, 4), "float32")
        T.copy(X[bx * BM, 0], x)
        for i, j in T.Parallel(BM, 32):
            cosine = T.cos(angles[bx * BM + i, j])
            sine = T.sin(angles[bx * BM + i, j])
            turned[i, j] = x[i, j] * cosine - x[i, j + 32] * sine
            turned[i, j + 32] = x[i, j] * sine + x[i, j + 32] * cosine
        groups = T.reshape(turned, (BM, 4, 16))
        T.reduce_absmax(groups, top, dim=2)
        for i, g, j in T.Parallel(BM, 4, 16):
            groups[i, g, j] = groups[i, g, j] / (top[i, g] + 0.5)
        T.copy(turned, Y[bx * BM, 0])
        for i, j in T.Parallel(BM, 32):
            Z[bx * BM + i, j] = turned[i, 2 * j] + turned[i, 2 * j + 1]
