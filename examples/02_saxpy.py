"""y = alpha * x + y for a vector of any length: a size known only at launch, a scalar argument, an update in place."""

import tilegen
import tilegen.language as T


@tilegen.jit
def saxpy(alpha: T.float32, x: T.Tensor[("n",), "float32"], y: T.Tensor[("n",), "float32"], BN=T.by_target(4096, cpu=16384)):
    with T.Kernel(T.ceildiv(n, BN), threads=256) as bx:
        x_local = T.alloc_fragment((BN,), "float32")
        y_local = T.alloc_fragment((BN,), "float32")
        T.copy(x[bx * BN], x_local)
        T.copy(y[bx * BN], y_local)
        for i in T.Parallel(BN):
            y_local[i] = alpha * x_local[i] + y_local[i]
        T.copy(y_local, y[bx * BN])
