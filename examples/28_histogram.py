"""counts[v] += how often v occurs in X: each block counts in shared memory and adds its counts at the end."""

import numpy

import tilegen
import tilegen.language as T


@tilegen.jit
def histogram(X: T.Tensor[("n",), "uint8"], counts: T.Tensor[("BINS",), "int32"], BINS=256, BN=4096, BLOCKS=264):
    with T.Kernel(BLOCKS, threads=256) as bx:
        own = T.alloc_shared((BINS,), "int32")
        T.clear(own)
        for k in T.serial(T.ceildiv(n, BN * BLOCKS)):
            for i in T.Parallel(BN):
                e = (k * BLOCKS + bx) * BN + i
                if e < n:
                    T.atomic_add(own[X[e]], 1)
        for v in T.Parallel(BINS):
            T.atomic_add(counts[v], own[v])


if __name__ == "__main__":
    X, counts = numpy.random.default_rng(0).integers(0, 256, 100000, "uint8"), numpy.zeros(256, "int32")
    histogram(X, counts)
    assert (counts == numpy.bincount(X, minlength=256)).all()
    print("histogram: 100000 bytes counted as NumPy counts them")
