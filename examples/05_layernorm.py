"""Y = (X - mean) / sqrt(variance + eps) * weight + bias: one block for a row, or for a few, which it reads once."""

import numpy

import tilegen
import tilegen.language as T


# Rows are a multiple of 8 elements long, so that every access moves 16 bytes; multiple=1 is the kernel for others.
@tilegen.jit
def layernorm(dtype="float32", M=T.dynamic("M"), N=T.dynamic("N"), BM=1, BN=8192, threads=512, blocks=2, multiple=8,
              eps=1e-5):
    @T.prim_func
    def kernel(X: T.Tensor((M, N), dtype), weight: T.Tensor((N,), dtype), bias: T.Tensor((N,), dtype),
               Y: T.Tensor((M, N), dtype)):
        T.assume(N <= BN)
        T.assume(N % multiple == 0)
        with T.Kernel(T.ceildiv(M, BM), threads=threads) as by:
            T.annotate_min_blocks_per_sm(blocks)
            X_local = T.alloc_fragment((BM, BN), "float32")
            square = T.alloc_fragment((BM, BN), "float32")
            scale = T.alloc_fragment((BN,), "float32")
            shift = T.alloc_fragment((BN,), "float32")
            mean = T.alloc_fragment((BM,), "float32")
            variance = T.alloc_fragment((BM,), "float32")
            T.copy(X[by * BM, 0], X_local)
            T.reduce_sum(X_local, mean, dim=1)
            for i, j in T.Parallel(BM, BN):
                X_local[i, j] = X_local[i, j] - mean[i] / N
            if N < BN:
                for i, j in T.Parallel(BM, BN):
                    X_local[i, j] = T.if_then_else(j < N, X_local[i, j], 0.0)
            for i, j in T.Parallel(BM, BN):
                square[i, j] = X_local[i, j] * X_local[i, j]
            T.reduce_sum(square, variance, dim=1)
            for i in T.Parallel(BM):
                variance[i] = T.rsqrt(variance[i] / N + eps)
            T.copy(weight[0], scale)
            T.copy(bias[0], shift)
            for i, j in T.Parallel(BM, BN):
                X_local[i, j] = X_local[i, j] * variance[i] * scale[j] + shift[j]
            T.copy(X_local, Y[by * BM, 0])
    return kernel


# The knobs for rows of up to so many elements of 16 bits, as measured on an H200.
WIDTHS = {1024: dict(BM=2, BN=1024, threads=128, blocks=12),
          4096: dict(BN=4096, threads=128, blocks=8),
          8192: dict(BN=8192, threads=256, blocks=4)}


if __name__ == "__main__":
    generator = numpy.random.default_rng(0)
    X, weight, bias = (generator.random(shape, "float32") for shape in ((100, 3000), 3000, 3000))
    expected = (X - X.mean(1, keepdims=True)) / numpy.sqrt(X.var(1, keepdims=True) + 1e-5) * weight + bias
    assert numpy.allclose(layernorm()(X, weight, bias), expected, atol=1e-5)
    print("layernorm: 100 rows of 3000 as NumPy computes them")
