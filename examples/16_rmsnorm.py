"""Y = X / sqrt(mean(X * X) + eps) * weight: a block reads rows into shared memory once, and works on them in parts."""

import numpy

import tilegen
import tilegen.language as T


# A thread holds few values at a time, so that many rows are on their way to a multiprocessor at once. Rows are a
# multiple of 8 elements long, so that every access moves 16 bytes; multiple=1 is the kernel for others.
@tilegen.jit
def rmsnorm(dtype="bfloat16", M=T.dynamic("M"), N=T.dynamic("N"), BM=1, BN=8192, BK=4096, threads=256, blocks=5,
            multiple=8, eps=1e-6):
    @T.prim_func
    def kernel(X: T.Tensor((M, N), dtype), weight: T.Tensor((N,), dtype), Y: T.Tensor((M, N), dtype)):
        T.assume(N <= BN)
        T.assume(N % multiple == 0)
        with T.Kernel(T.ceildiv(M, BM), threads=threads) as by:
            T.annotate_min_blocks_per_sm(blocks)
            X_shared = T.alloc_shared((BM, BN), dtype)
            X_local = T.alloc_fragment((BM, BK), "float32")
            square = T.alloc_fragment((BM, BK), "float32")
            scale = T.alloc_fragment((BK,), "float32")
            mean = T.alloc_fragment((BM,), "float32")
            T.copy_async(X[by * BM, 0], X_shared)
            T.sync()
            T.clear(square)
            for k in T.serial(BN // BK):
                T.copy(X_shared[0, k * BK], X_local)
                for i, j in T.Parallel(BM, BK):
                    square[i, j] = square[i, j] + X_local[i, j] * X_local[i, j]
            T.reduce_sum(square, mean, dim=1)
            for i in T.Parallel(BM):
                mean[i] = T.rsqrt(mean[i] / N + eps)
            for k in T.serial(BN // BK):
                T.copy(X_shared[0, k * BK], X_local)
                T.copy(weight[k * BK], scale)
                for i, j in T.Parallel(BM, BK):
                    X_local[i, j] = X_local[i, j] * mean[i] * scale[j]
                T.copy(X_local, Y[by * BM, k * BK])
    return kernel


# The knobs for rows of up to so many elements of 16 bits, as measured on an H200.
WIDTHS = {1024: dict(BM=2, BN=1024, BK=512, threads=128, blocks=12),
          4096: dict(BN=4096, BK=2048, threads=128, blocks=10),
          8192: dict(BN=8192, BK=4096, threads=512, blocks=4),
          32768: dict(BN=32768, BK=8192, threads=512, blocks=3)}


if __name__ == "__main__":
    generator = numpy.random.default_rng(0)
    X, weight = (generator.random(shape, "float32") for shape in ((100, 3000), 3000))
    expected = X / numpy.sqrt((X * X).mean(1, keepdims=True) + 1e-6) * weight
    assert numpy.allclose(rmsnorm("float32")(X, weight), expected, atol=1e-5)
    print("rmsnorm: 100 rows of 3000 as NumPy computes them")
