"""total = X.sum(1): each row by as many threads as hold it in a few 16-byte accesses, short rows several to a block."""

import numpy

import tilegen
import tilegen.language as T


# Rows are a multiple of 8 elements long, so that every access moves 16 bytes; multiple=1 is the kernel for others.
@tilegen.jit
def row_sum(dtype="bfloat16", M=T.dynamic("M"), N=T.dynamic("N"), BM=1, BN=8192, threads=256, multiple=8):
    @T.prim_func
    def kernel(X: T.Tensor((M, N), dtype), total: T.Tensor((M,), "float32")):
        T.assume(N <= BN)
        T.assume(N % multiple == 0)
        with T.Kernel(T.ceildiv(M, BM), threads=threads) as by:
            X_local = T.alloc_fragment((BM, BN), "float32")
            row_total = T.alloc_fragment((BM,), "float32")
            T.copy(X[by * BM, 0], X_local)
            T.reduce_sum(X_local, row_total, dim=1)
            T.copy(row_total, total[by * BM])
    return kernel


# The knobs for rows of up to so many elements of 16 bits, as measured on an H200.
WIDTHS = {1024: dict(BM=2, BN=1024, threads=128), 4096: dict(BN=4096, threads=128), 8192: dict(BN=8192, threads=256),
          32768: dict(BN=32768, threads=1024)}


if __name__ == "__main__":
    X = numpy.random.default_rng(0).random((100, 3000), "float32")
    assert numpy.allclose(row_sum("float32")(X), X.sum(1), rtol=1e-5)
    print("row_sum: 100 rows of 3000 as NumPy adds them")
