"""Y = softmax(X) along long rows, which are read into shared memory once; one pass finds the maximum and the sum."""

import numpy

import tilegen
import tilegen.language as T

LOG2E = 1.4426950408889634


# A sum that is relative to a smaller maximum is scaled when a greater one comes. Rows are a multiple of 8 elements
# long, so that every access moves 16 bytes; multiple=1 is the kernel for others.
@tilegen.jit
def softmax(dtype="bfloat16", M=T.dynamic("M"), N=T.dynamic("N"), BM=1, BN=16384, BK=4096, threads=512, blocks=3,
            multiple=8):
    @T.prim_func
    def kernel(X: T.Tensor((M, N), dtype), Y: T.Tensor((M, N), dtype)):
        T.assume(N <= BN)
        T.assume(N % multiple == 0)
        with T.Kernel(T.ceildiv(M, BM), threads=threads) as by:
            T.annotate_min_blocks_per_sm(blocks)
            X_shared = T.alloc_shared((BM, BN), dtype)
            X_local = T.alloc_fragment((BM, BK), "float32")
            top = T.alloc_fragment((BM, BK), "float32")
            total = T.alloc_fragment((BM, BK), "float32")
            row_max = T.alloc_fragment((BM,), "float32")
            row_sum = T.alloc_fragment((BM,), "float32")
            T.copy_async(X[by * BM, 0], X_shared)
            T.sync()
            T.fill(top, T.min_value("float32"))
            T.clear(total)
            for k in T.serial(BN // BK):
                T.copy(X_shared[0, k * BK], X_local)
                if k * BK + BK > N:
                    for i, j in T.Parallel(BM, BK):
                        X_local[i, j] = T.if_then_else(k * BK + j < N, X_local[i, j], -T.infinity("float32"))
                for i, j in T.Parallel(BM, BK):
                    less = T.exp2(-T.abs(X_local[i, j] - top[i, j]) * LOG2E)
                    greater = X_local[i, j] > top[i, j]
                    total[i, j] = T.if_then_else(greater, total[i, j] * less + 1.0, total[i, j] + less)
                    top[i, j] = T.max(top[i, j], X_local[i, j])
            T.reduce_max(top, row_max, dim=1)
            for i, j in T.Parallel(BM, BK):
                total[i, j] = total[i, j] * T.exp2((top[i, j] - row_max[i]) * LOG2E)
            T.reduce_sum(total, row_sum, dim=1)
            for i in T.Parallel(BM):
                row_max[i] = row_max[i] * LOG2E
                row_sum[i] = 1.0 / row_sum[i]
            for k in T.serial(BN // BK):
                T.copy(X_shared[0, k * BK], X_local)
                for i, j in T.Parallel(BM, BK):
                    X_local[i, j] = T.exp2(X_local[i, j] * LOG2E - row_max[i]) * row_sum[i]
                T.copy(X_local, Y[by * BM, k * BK])
    return kernel


# The knobs for rows of up to so many elements of 16 bits, as measured on an H200.
WIDTHS = {1024: dict(BM=2, BN=1024, BK=512, threads=128, blocks=12),
          4096: dict(BN=4096, BK=1024, threads=128, blocks=10),
          8192: dict(BN=8192, BK=2048, threads=256, blocks=5),
          32768: dict(BN=32768, BK=4096, threads=512, blocks=3)}


if __name__ == "__main__":
    X = 10 * numpy.random.default_rng(0).standard_normal((50, 10000)).astype("float32")
    expected = numpy.exp(X - X.max(1, keepdims=True))
    expected /= expected.sum(1, keepdims=True)
    assert numpy.allclose(softmax("float32")(X), expected, atol=1e-7)
    print("softmax: 50 rows of 10000 as NumPy computes them")
