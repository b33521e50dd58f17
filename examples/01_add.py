"""C = A + B: each block adds one tile; what lies outside of the matrices is left alone."""

import numpy

import tilegen
import tilegen.language as T


@tilegen.jit
def add(A: T.Tensor[("M", "N"), "float32"], B: T.Tensor[("M", "N"), "float32"],
        C: T.Tensor[("M", "N"), "float32"],
        BM=16, BN=T.by_target(256, cpu=4096)):
    with T.Kernel(T.ceildiv(N, BN), T.ceildiv(M, BM), threads=256) as (bx, by):
        for i, j in T.Parallel(BM, BN):
            C[by * BM + i, bx * BN + j] = A[by * BM + i, bx * BN + j] + B[by * BM + i, bx * BN + j]


if __name__ == "__main__":
    A, B = numpy.random.default_rng(0).random((2, 1000, 777), "float32")
    assert numpy.array_equal(add(A, B), A + B)
    print("add: 1000 x 777 elements as NumPy adds them")
