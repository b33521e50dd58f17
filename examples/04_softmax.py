"""Y = softmax(X) along the rows: one block holds whole rows in registers, so that X is read once."""

import numpy

import tilegen
import tilegen.language as T

LOG2E = 1.4426950408889634


# Rows are a multiple of 8 elements long, so that every access moves 16 bytes; multiple=1 is the kernel for others.
@tilegen.jit
def softmax(dtype="float32", M=T.dynamic("M"), N=T.dynamic("N"), BM=1, BN=8192, threads=512, multiple=8):
    @T.prim_func
    def kernel(X: T.Tensor((M, N), dtype), Y: T.Tensor((M, N), dtype)):
        T.assume(N <= BN)
        T.assume(N % multiple == 0)
        with T.Kernel(T.ceildiv(M, BM), threads=threads) as by:
            X_local = T.alloc_fragment((BM, BN), "float32")
            row_max = T.alloc_fragment((BM,), "float32")
            row_sum = T.alloc_fragment((BM,), "float32")
            T.copy(X[by * BM, 0], X_local)
            if N < BN:
                for i, j in T.Parallel(BM, BN):
                    X_local[i, j] = T.if_then_else(j < N, X_local[i, j], -T.infinity("float32"))
            T.reduce_max(X_local, row_max, dim=1)
            for i in T.Parallel(BM):
                row_max[i] = row_max[i] * LOG2E
            for i, j in T.Parallel(BM, BN):
                X_local[i, j] = T.exp2(X_local[i, j] * LOG2E - row_max[i])
            T.reduce_sum(X_local, row_sum, dim=1)
            for i in T.Parallel(BM):
                row_sum[i] = 1.0 / row_sum[i]
            for i, j in T.Parallel(BM, BN):
                X_local[i, j] = X_local[i, j] * row_sum[i]
            T.copy(X_local, Y[by * BM, 0])
    return kernel


# The knobs for rows of up to so many elements of 16 bits, as measured on an H200; 18_online_softmax has longer ones.
WIDTHS = {1024: dict(BM=2, BN=1024, threads=128), 4096: dict(BN=4096, threads=128), 8192: dict(BN=8192, threads=256)}


if __name__ == "__main__":
    X = numpy.random.default_rng(0).random((100, 3000), "float32")
    expected = numpy.exp(X) / numpy.exp(X).sum(1, keepdims=True)
    assert numpy.allclose(softmax()(X), expected)
    print("softmax: 100 rows of 3000 as NumPy computes them")
