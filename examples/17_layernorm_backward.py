"""Gradients of layernorm: dX, and what is added to dweight and, below it, dbias, from the mean and rstd of each row."""

import numpy

import tilegen
import tilegen.language as T


# dY and X are read once: each block takes every BLOCKS-th row, and adds its sums for dweight and dbias at the end. Rows
# are a multiple of 8 elements long, so that every access moves 16 bytes; multiple=1 is the kernel for others.
@tilegen.jit
def layernorm_backward(dtype="bfloat16", M=T.dynamic("M"), N=T.dynamic("N"), BN=8192, threads=512, BLOCKS=132,
                       blocks=1, stages=2, multiple=8):
    @T.prim_func
    def kernel(dY: T.Tensor((M, N), dtype), X: T.Tensor((M, N), dtype), weight: T.Tensor((N,), dtype),
               mean: T.Tensor((M,), "float32"), rstd: T.Tensor((M,), "float32"), dX: T.Tensor((M, N), dtype),
               dparams: T.Tensor((2, N), "float32")):
        T.assume(N <= BN)
        T.assume(N % multiple == 0)
        with T.Kernel(BLOCKS, threads=threads) as b:
            T.annotate_min_blocks_per_sm(blocks)
            X_shared = T.alloc_shared((1, BN), dtype)
            dY_shared = T.alloc_shared((1, BN), dtype)
            weight_shared = T.alloc_shared((1, BN), dtype)
            X_local = T.alloc_fragment((1, BN), "float32")
            dY_local = T.alloc_fragment((1, BN), "float32")
            weight_local = T.alloc_fragment((1, BN), "float32")
            weight_sum = T.alloc_fragment((1, BN), "float32")
            bias_sum = T.alloc_fragment((1, BN), "float32")
            along_x = T.alloc_fragment((1,), "float32")
            along_one = T.alloc_fragment((1,), "float32")
            T.copy(weight[0:BN], weight_shared[0, 0:BN])
            T.clear(weight_sum)
            T.clear(bias_sum)
            for k in T.Pipelined(T.ceildiv(M - b, BLOCKS), num_stages=stages):
                T.copy(X[b + k * BLOCKS, 0], X_shared)
                T.copy(dY[b + k * BLOCKS, 0], dY_shared)
                row = b + k * BLOCKS
                T.copy(X_shared, X_local)
                T.copy(dY_shared, dY_local)
                T.copy(weight_shared, weight_local)
                for i, j in T.Parallel(1, BN):
                    X_local[i, j] = (X_local[i, j] - mean[row]) * rstd[row]
                    weight_sum[i, j] = weight_sum[i, j] + dY_local[i, j] * X_local[i, j]
                    bias_sum[i, j] = bias_sum[i, j] + dY_local[i, j]
                    weight_local[i, j] = weight_local[i, j] * dY_local[i, j]
                    dY_local[i, j] = weight_local[i, j] * X_local[i, j]
                T.reduce_sum(dY_local, along_x, dim=1)
                T.reduce_sum(weight_local, along_one, dim=1)
                for i, j in T.Parallel(1, BN):
                    X_local[i, j] = (weight_local[i, j] - (along_one[i] + X_local[i, j] * along_x[i]) / N) * rstd[row]
                T.copy(X_local, dX[row, 0])
            T.atomic_add(dparams[0:1, 0:BN], weight_sum)
            T.atomic_add(dparams[1:2, 0:BN], bias_sum)
    return kernel


# Knobs for rows of up to so many elements of 16 bits, on an H200; docs/performance.md says what was measured.
WIDTHS = {1024: dict(BN=1024, threads=128, BLOCKS=528, blocks=4, stages=4), 8192: dict(BN=8192, stages=4)}


if __name__ == "__main__":
    dY, X, (weight, *_) = numpy.random.default_rng(0).standard_normal((3, 100, 3000)).astype("float32")
    mean, rstd, dparams = X.mean(1), 1 / numpy.sqrt(X.var(1) + 1e-5), numpy.zeros((2, 3000), "float32")
    normal, scaled = (X - mean[:, None]) * rstd[:, None], dY * weight
    centred = scaled - scaled.mean(1, keepdims=True) - normal * (scaled * normal).mean(1, keepdims=True)
    dX = layernorm_backward("float32")(dY, X, weight, mean, rstd, dparams=dparams)
    assert numpy.allclose(dX, centred * rstd[:, None], atol=1e-4) and \
        numpy.allclose(dparams, [(dY * normal).sum(0), dY.sum(0)], atol=1e-3)
    print("layernorm_backward: 100 rows of 3000 as NumPy computes them")
