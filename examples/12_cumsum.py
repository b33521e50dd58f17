"""Y = the running sum of each row of X: the rows pass through registers in pieces, with what came before."""

import numpy

import tilegen
import tilegen.language as T


@tilegen.jit
def running_sum(X: T.Tensor[("M", "N"), "float32"], Y: T.Tensor[("M", "N"), "float32"], BM=4, BN=1024):
    with T.Kernel(T.ceildiv(M, BM), threads=128) as by:
        X_local = T.alloc_fragment((BM, BN), "float32")
        total = T.alloc_fragment((BM,), "float32")
        before = T.alloc_fragment((BM,), "float32")
        T.clear(before)
        for k in T.serial(T.ceildiv(N, BN)):
            T.copy(X[by * BM, k * BN], X_local)
            T.reduce_sum(X_local, total, dim=1)
            T.cumsum(X_local, dim=1)
            for i, j in T.Parallel(BM, BN):
                X_local[i, j] += before[i]
            for i in T.Parallel(BM):
                before[i] += total[i]
            T.copy(X_local, Y[by * BM, k * BN])


if __name__ == "__main__":
    X = numpy.random.default_rng(0).random((30, 2500), "float32")
    assert numpy.allclose(running_sum(X), X.cumsum(1), rtol=1e-5)
    print("running_sum: 30 rows of 2500 as NumPy sums them")
