"""C = A @ B: tiles in shared memory, an accumulator in registers."""

import numpy

import tilegen
import tilegen.language as T


@tilegen.jit
def matmul(A: T.Tensor[("M", "K"), "float32"], B: T.Tensor[("K", "N"), "float32"],
           C: T.Tensor[("M", "N"), "float32"],
           BM=T.by_target(128, cpu=480), BN=T.by_target(128, cpu=1024), BK=T.by_target(32, cpu=256)):
    with T.Kernel(T.ceildiv(N, BN), T.ceildiv(M, BM), threads=256) as (bx, by):
        A_shared = T.alloc_shared((BM, BK), "float32")
        B_shared = T.alloc_shared((BK, BN), "float32")
        C_local = T.alloc_fragment((BM, BN), "float32")
        T.clear(C_local)
        for ko in T.Pipelined(T.ceildiv(K, BK), num_stages=2):
            T.copy(A[by * BM, ko * BK], A_shared)
            T.copy(B[ko * BK, bx * BN], B_shared)
            T.gemm(A_shared, B_shared, C_local)
        T.copy(C_local, C[by * BM, bx * BN])


if __name__ == "__main__":
    generator = numpy.random.default_rng(0)
    A, B = generator.random((500, 300), "float32"), generator.random((300, 400), "float32")
    assert numpy.allclose(matmul(A, B), A @ B, rtol=1e-4)
    print("matmul: 500 x 300 times 300 x 400 as NumPy multiplies them")
