"""C = A @ B in float16 on the tensor cores: the kernel of 06_gemm.py with other dtypes and deeper stages."""

import numpy

import tilegen
import tilegen.language as T


@tilegen.jit
def matmul(A: T.Tensor[("M", "K"), "float16"], B: T.Tensor[("K", "N"), "float16"],
           C: T.Tensor[("M", "N"), "float16"],
           BM=T.by_target(256, cpu=480, sm_90a=128), BN=T.by_target(128, cpu=1024, sm_90a=256),
           BK=T.by_target(32, cpu=256, sm_90a=64), stages=4):
    with T.Kernel(T.ceildiv(N, BN), T.ceildiv(M, BM), threads=256) as (bx, by):
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
