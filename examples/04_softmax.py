"""Y = softmax(X) along the rows: one block holds whole rows in registers, so that X is read once."""

import numpy

import tilegen
import tilegen.language as T


@tilegen.jit
def softmax(X: T.Tensor[("M", "N"), "float32"], Y: T.Tensor[("M", "N"), "float32"],
            BM=1, BN=8192, threads=512):
    T.assume(N <= BN)
    with T.Kernel(T.ceildiv(M, BM), threads=threads) as by:
        X_local = T.alloc_fragment((BM, BN), "float32")
        row_max = T.alloc_fragment((BM,), "float32")
        row_sum = T.alloc_fragment((BM,), "float32")
        T.copy(X[by * BM, 0], X_local)
        for i, j in T.Parallel(BM, BN):
            X_local[i, j] = T.if_then_else(j < N, X_local[i, j], -T.infinity("float32"))
        T.reduce_max(X_local, row_max, dim=1)
        for i, j in T.Parallel(BM, BN):
            X_local[i, j] = T.exp(X_local[i, j] - row_max[i])
        T.reduce_sum(X_local, row_sum, dim=1)
        for i in T.Parallel(BM):
            row_sum[i] = 1.0 / row_sum[i]
        for i, j in T.Parallel(BM, BN):
            X_local[i, j] = X_local[i, j] * row_sum[i]
        T.copy(X_local, Y[by * BM, 0])


if __name__ == "__main__":
    X = numpy.random.default_rng(0).random((100, 3000), "float32")
    expected = numpy.exp(X) / numpy.exp(X).sum(1, keepdims=True)
    assert numpy.allclose(softmax(X), expected)
    print("softmax: 100 rows of 3000 as NumPy computes them")
