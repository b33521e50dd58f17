"""B = A^T through shared memory: rows are read and written whole, the turn happens on the chip."""

import numpy

import tilegen
import tilegen.language as T


@tilegen.jit
def transpose(A: T.Tensor[("M", "N"), "float32"], B: T.Tensor[("N", "M"), "float32"], BT=32):
    with T.Kernel(T.ceildiv(N, BT), T.ceildiv(M, BT), threads=256) as (bx, by):
        tile = T.alloc_shared((BT, BT), "float32")
        T.copy(A[by * BT, bx * BT], tile)
        for i, j in T.Parallel(BT, BT):
            B[bx * BT + i, by * BT + j] = tile[j, i]


if __name__ == "__main__":
    A = numpy.random.default_rng(0).random((1000, 777), "float32")
    assert numpy.array_equal(transpose(A), A.T)
    print("transpose: 1000 x 777 elements where NumPy puts them")
