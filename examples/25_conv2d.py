"""Y = X convolved with F, NHWC, with stride, padding and dilation: a product whose left operand is gathered."""

import numpy

import tilegen
import tilegen.language as T


@tilegen.jit
def conv2d(N=T.dynamic("N"), H=T.dynamic("H"), W=T.dynamic("W"), C=T.dynamic("C"), K=T.dynamic("K"), R=3, S=3,
           stride=1, pad=1, dilation=1, BM=128, BN=64, BK=32, stages=3):
    OH, OW = ((size + 2 * pad - dilation * (taps - 1) - 1) // stride + 1 for size, taps in ((H, R), (W, S)))

    @T.prim_func
    def kernel(X: T.Tensor((N, H, W, C), "float16"), F: T.Tensor((R, S, C, K), "float16"),
               Y: T.Tensor((N, OH, OW, K), "float16")):
        with T.Kernel(T.ceildiv(K, BN), T.ceildiv(N * OH * OW, BM), threads=128) as (bx, by):
            X_shared = T.alloc_shared((BM, BK), "float16")
            F_shared = T.alloc_shared((BK, BN), "float16")
            Y_local = T.alloc_fragment((BM, BN), "float32")
            T.clear(Y_local)
            parts = T.ceildiv(C, BK)
            for ko in T.Pipelined(R * S * parts, num_stages=stages):
                for i, j in T.Parallel(BM, BK):
                    pixel, tap, c = by * BM + i, ko // parts, ko % parts * BK + j
                    y = pixel // OW % OH * stride - pad + tap // S * dilation
                    x = pixel % OW * stride - pad + tap % S * dilation
                    image = pixel // (OH * OW)
                    X_shared[i, j] = X[image, y, x, c]
                T.copy(F[ko // parts // S, ko // parts % S, ko % parts * BK, bx * BN], F_shared)
                T.gemm(X_shared, F_shared, Y_local)
            for i, j in T.Parallel(BM, BN):
                pixel = by * BM + i
                image, y, x = pixel // (OH * OW), pixel // OW % OH, pixel % OW
                Y[image, y, x, bx * BN + j] = Y_local[i, j]
    return kernel


if __name__ == "__main__":
    generator = numpy.random.default_rng(0)
    X, F = (generator.standard_normal(shape).astype("float16") for shape in ((2, 15, 13, 20), (3, 3, 20, 40)))
    wide = numpy.pad(X.astype("float32"), ((0, 0), (1, 1), (1, 1), (0, 0)))
    taps = ((wide[:, r:r + 15:2, s:s + 13:2] @ F[r, s].astype("float32")) for r in range(3) for s in range(3))
    assert numpy.allclose(conv2d(stride=2)(X, F), sum(taps), rtol=2e-3, atol=2e-2)
    print("conv2d: 3 x 3 taps over 2 x 15 x 13 pixels of 20 channels, every other one, as NumPy sums them")
