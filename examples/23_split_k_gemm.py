"""C += A @ B where several blocks share the depth of one tile of C: for products with few tiles and a long depth."""

import numpy

import tilegen
import tilegen.language as T


@tilegen.jit
def split_k_gemm(A: T.Tensor[("M", "K"), "float16"], B: T.Tensor[("K", "N"), "float16"],
                 C: T.Tensor[("M", "N"), "float32"], BM=64, BN=64, BK=32, SPLIT=8, stages=3):
    with T.Kernel(T.ceildiv(N, BN), T.ceildiv(M, BM), SPLIT, threads=128) as (bx, by, bz):
        A_shared = T.alloc_shared((BM, BK), "float16")
        B_shared = T.alloc_shared((BK, BN), "float16")
        C_local = T.alloc_fragment((BM, BN), "float32")
        T.clear(C_local)
        steps = T.ceildiv(K, BK * SPLIT)                   # of each block; beyond K there are zeros
        for ko in T.Pipelined(steps, num_stages=stages):
            T.copy(A[by * BM, (bz * steps + ko) * BK], A_shared)
            T.copy(B[(bz * steps + ko) * BK, bx * BN], B_shared)
            T.gemm(A_shared, B_shared, C_local)
        T.atomic_add(C[by * BM:by * BM + BM, bx * BN:bx * BN + BN], C_local)


if __name__ == "__main__":
    generator = numpy.random.default_rng(0)
    A, B = (generator.standard_normal(shape).astype("float16") for shape in ((70, 3000), (3000, 90)))
    C = numpy.zeros((70, 90), "float32")
    split_k_gemm(A, B, C)
    assert numpy.allclose(C, A.astype("float32") @ B.astype("float32"), rtol=1e-3, atol=2e-2)
    print("split_k_gemm: 70 x 3000 times 3000 x 90, the depth shared by 8 blocks, as NumPy multiplies them")
