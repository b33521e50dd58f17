"""Y[n, j, i] = X[n, i, j]: swaps the last two of three dimensions, NCHW to NHWC and back, by tiles in shared memory."""

import numpy

import tilegen
import tilegen.language as T


@tilegen.jit
def permute(X: T.Tensor[("N", "R", "C"), "float32"], Y: T.Tensor[("N", "C", "R"), "float32"], BT=64):
    with T.Kernel(T.ceildiv(C, BT), T.ceildiv(R, BT), N, threads=256) as (bx, by, bz):
        tile = T.alloc_shared((BT, BT), "float32")
        T.copy(X[bz, by * BT, bx * BT], tile)
        for j, i in T.Parallel(BT, BT):
            Y[bz, bx * BT + j, by * BT + i] = tile[i, j]


def to_nhwc(image):
    """(N, H, W, C) from (N, C, H, W)."""
    n, c, h, w = image.shape
    return permute(image.reshape(n, c, h * w)).reshape(n, h, w, c)


def to_nchw(image):
    """(N, C, H, W) from (N, H, W, C)."""
    n, h, w, c = image.shape
    return permute(image.reshape(n, h * w, c)).reshape(n, c, h, w)


if __name__ == "__main__":
    image = numpy.random.default_rng(0).random((2, 20, 13, 30), "float32")
    assert (to_nhwc(image) == image.transpose(0, 2, 3, 1)).all()
    assert (to_nchw(to_nhwc(image)) == image).all()
    print("permute: 2 images of 20 channels and 13 x 30 pixels to NHWC and back")
