"""Y = (X - mean) / sqrt(variance + eps) * weight + bias: one block per row, which it reads once."""

import numpy

import tilegen
import tilegen.language as T


@tilegen.jit
def layernorm(X: T.Tensor[("M", "N"), "float32"], weight: T.Tensor[("N",), "float32"],
              bias: T.Tensor[("N",), "float32"], Y: T.Tensor[("M", "N"), "float32"],
              BN=8192, threads=512, eps=1e-5):
    T.assume(N <= BN)
    with T.Kernel(M, threads=threads) as row:
        scale = T.alloc_fragment((BN,), "float32")
        shift = T.alloc_fragment((BN,), "float32")
        X_local = T.alloc_fragment((1, BN), "float32")
        square = T.alloc_fragment((1, BN), "float32")
        mean = T.alloc_fragment((1,), "float32")
        variance = T.alloc_fragment((1,), "float32")
        T.copy(X[row, 0], X_local)
        T.reduce_sum(X_local, mean, dim=1)
        for i, j in T.Parallel(1, BN):
            X_local[i, j] = T.if_then_else(j < N, X_local[i, j] - mean[i] / N, 0.0)
            square[i, j] = X_local[i, j] * X_local[i, j]
        T.reduce_sum(square, variance, dim=1)
        for i in T.Parallel(1):
            variance[i] = T.rsqrt(variance[i] / N + eps)
        T.copy(weight[0], scale)
        T.copy(bias[0], shift)
        for i, j in T.Parallel(1, BN):
            X_local[i, j] = X_local[i, j] * variance[i] * scale[j] + shift[j]
        T.copy(X_local, Y[row, 0])


if __name__ == "__main__":
    generator = numpy.random.default_rng(0)
    X, weight, bias = (generator.random(shape, "float32") for shape in ((100, 3000), 3000, 3000))
    expected = (X - X.mean(1, keepdims=True)) / numpy.sqrt(X.var(1, keepdims=True) + 1e-5) * weight + bias
    assert numpy.allclose(layernorm(X, weight, bias), expected, atol=1e-5)
    print("layernorm: 100 rows of 3000 as NumPy computes them")
