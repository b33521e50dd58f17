"""One sweep of Jacobi's method for the Laplace equation: V is the mean of the four neighbours of U, its edge stays."""

import numpy

import tilegen
import tilegen.language as T


@tilegen.jit
def sweep(U: T.Tensor[("M", "N"), "float32"], V: T.Tensor[("M", "N"), "float32"], BM=16, BN=128):
    with T.Kernel(T.ceildiv(N, BN), T.ceildiv(M, BM), threads=256) as (bx, by):
        halo = T.alloc_shared((BM + 2, BN + 8), "float32")     # a row and, for whole vectors, four columns on each side
        T.copy(U[by * BM - 1, bx * BN - 4], halo)
        for i, j in T.Parallel(BM, BN):
            row, col = by * BM + i, bx * BN + j
            mean = 0.25 * (halo[i, j + 4] + halo[i + 2, j + 4] + halo[i + 1, j + 3] + halo[i + 1, j + 5])
            inner = 0 < row and row < M - 1 and 0 < col and col < N - 1
            V[row, col] = T.if_then_else(inner, mean, halo[i + 1, j + 4])


def jacobi(U, sweeps):
    """U after some sweeps: two arrays take turns."""
    V = U.copy()
    for _ in range(sweeps):
        sweep(U, V)
        U, V = V, U
    return U


if __name__ == "__main__":
    U = numpy.zeros((50, 300), "float32")
    U[0] = 1
    expected = U.copy()
    for _ in range(20):
        mean = (expected[:-2, 1:-1] + expected[2:, 1:-1] + expected[1:-1, :-2] + expected[1:-1, 2:]) / 4
        expected[1:-1, 1:-1] = mean
    assert numpy.allclose(jacobi(U, 20), expected, atol=1e-6)
    print("jacobi: 20 sweeps over 50 x 300 points as NumPy does them")
