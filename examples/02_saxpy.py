"""y = alpha * x + y: a size known only at launch, a scalar argument, an update in place."""

import numpy

import tilegen
import tilegen.language as T


@tilegen.jit
def saxpy(alpha: T.float32, x: T.Tensor[("n",), "float32"], y: T.Tensor[("n",), "float32"],
          BN=T.by_target(4096, cpu=16384)):
    with T.Kernel(T.ceildiv(n, BN), threads=256) as bx:
        x_local = T.alloc_fragment((BN,), "float32")
        y_local = T.alloc_fragment((BN,), "float32")
        T.copy(x[bx * BN], x_local)
        T.copy(y[bx * BN], y_local)
        for i in T.Parallel(BN):
            y_local[i] = alpha * x_local[i] + y_local[i]
        T.copy(y_local, y[bx * BN])


if __name__ == "__main__":
    x, y = numpy.random.default_rng(0).random((2, 100_003), "float32")
    expected = 1.5 * x + y
    saxpy(1.5, x, y)
    assert numpy.allclose(y, expected)
    print("saxpy: 100003 elements as NumPy computes them")
