"""C = A @ B in float16 on the tensor cores: the kernel of 06_gemm.py with other dtypes and deeper stages."""

import math

import numpy

import tilegen
import tilegen.language as T


# For sm_90a: rows and columns of a tile, stages, threads, and the rate beside that of the first where all SMs work.
TILES = ((128, 256, 4, 256, 1.0), (128, 192, 5, 256, 1.0), (64, 128, 8, 128, 0.8))


def knobs(arch, M, N):
    """The tiles with which the 132 SMs of an H100 or H200 are through first."""
    def time(tile):
        BM, BN, *_, rate = tile
        turns = math.ceil(math.ceil(M / BM) * math.ceil(N / BN) / 132)
        return turns * BM * BN / rate
    if arch != "sm_90a":
        return {}
    BM, BN, stages, threads, _ = min(TILES, key=time)
    return dict(BM=BM, BN=BN, stages=stages, threads=threads)


@tilegen.jit(knobs=knobs)
def matmul(A: T.Tensor[("M", "K"), "float16"], B: T.Tensor[("K", "N"), "float16"],
           C: T.Tensor[("M", "N"), "float16"],
           BM=T.by_target(256, cpu=480, sm_90a=128, sm_120=128), BN=T.by_target(128, cpu=1024, sm_90a=256),
           BK=T.by_target(32, cpu=256, sm_90a=64, sm_120=64), stages=T.by_target(4, sm_120=3), threads=256):
    with T.Kernel(T.ceildiv(N, BN), T.ceildiv(M, BM), threads=threads) as (bx, by):
        A_shared = T.alloc_shared((BM, BK), "float16")
        B_shared = T.alloc_shared((BK, BN), "float16")
        C_local = T.alloc_fragment((BM, BN), "float32")
        T.clear(C_local)
        for ko in T.Pipelined(T.ceildiv(K, BK), num_stages=stages):
            T.copy(A[by * BM, ko * BK], A_shared)
            T.copy(B[ko * BK, bx * BN], B_shared)
            T.gemm(A_shared, B_shared, C_local)
        T.copy(C_local, C[by * BM, bx * BN])


if __name__ == "__main__":
    generator = numpy.random.default_rng(0)
    A, B = (generator.standard_normal(shape).astype("float16") for shape in ((500, 300), (300, 400)))
    assert numpy.allclose(matmul(A, B), A.astype("float32") @ B.astype("float32"), rtol=1e-2, atol=5e-2)
    print("matmul: 500 x 300 times 300 x 400 in float16 as NumPy multiplies them")
