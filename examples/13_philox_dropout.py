"""Y = X / (1 - p) where a random number keeps the element, else 0: the same mask from the same seed."""

import numpy

import tilegen
import tilegen.language as T


@tilegen.jit
def dropout(X: T.Tensor[("M", "N"), "float32"], seed: T.int64, Y: T.Tensor[("M", "N"), "float32"], p=0.25, BM=8,
            BN=256):
    with T.Kernel(T.ceildiv(N, BN), T.ceildiv(M, BM), threads=256) as (bx, by):
        for i, j in T.Parallel(BM, BN):
            row, col = by * BM + i, bx * BN + j
            kept = T.philox(seed, col, sequence=row) >= T.cast(p * 4294967296.0, "uint32")
            Y[row, col] = T.if_then_else(kept, X[row, col] / (1.0 - p), 0.0)


if __name__ == "__main__":
    X = numpy.ones((100, 1000), "float32")
    Y, again, other = dropout(X, 1), dropout(X, 1), dropout(X, 2)
    assert (Y == again).all() and (Y != other).any() and set(numpy.unique(Y)) == {0, numpy.float32(1 / 0.75)}
    print(f"dropout: {(Y == 0).mean():.3f} of the elements dropped, 0.25 asked for")
