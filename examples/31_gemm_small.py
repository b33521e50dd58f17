"""C = A @ W.T for few rows of A, weights on the left: C.T = W @ A.T, bound by reading the weights."""

import math

import numpy

import tilegen
import tilegen.language as T


def knobs(arch, M):
    """For sm_90a as many columns of C.T as there are rows, up to 64, and all of the shared memory for stages."""
    if arch != "sm_90a":
        return {}
    BM = min(64, max(8, 2 ** math.ceil(math.log2(max(M, 1)))))
    BK = 256 if BM <= 16 else 128
    return dict(BM=BM, BK=BK, stages=216 * 1024 // (2 * BK * (BM + 64)))


# Nobody reads the weights twice, where one tile has all rows of A: the L2 cache gives them up first.
@tilegen.jit(knobs=knobs)
def gemm_small(A: T.Tensor[("M", "K"), "float16"], W: T.Tensor[("N", "K"), "float16"],
               C: T.Tensor[("M", "N"), "float16"], BM=16, BN=T.by_target(64, cpu=128),
               BK=T.by_target(64, cpu=256, sm_90a=256), stages=T.by_target(4, sm_90a=5), threads=128):
    with T.Kernel(T.ceildiv(N, BN), T.ceildiv(M, BM), threads=threads) as (bx, by):
        W_shared = T.alloc_shared((BN, BK), "float16")
        A_shared = T.alloc_shared((BM, BK), "float16")
        C_local = T.alloc_fragment((BN, BM), "float32")
        T.clear(C_local)
        for ko in T.Pipelined(T.ceildiv(K, BK), num_stages=stages):
            T.copy(W[bx * BN, ko * BK], W_shared, eviction_policy="evict_first")
            T.copy(A[by * BM, ko * BK], A_shared)
            T.gemm(W_shared, A_shared, C_local, transpose_B=True)
        for i, j in T.Parallel(BN, BM):
            C[by * BM + j, bx * BN + i] = C_local[i, j]


if __name__ == "__main__":
    generator = numpy.random.default_rng(0)
    A, W = (generator.standard_normal(shape).astype("float16") for shape in ((5, 504), (200, 504)))
    assert numpy.allclose(gemm_small(A, W), A.astype("float32") @ W.astype("float32").T, rtol=1e-2, atol=5e-2)
    print("gemm_small: 5 x 504 times 504 x 200 as NumPy multiplies them")
