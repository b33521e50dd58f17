"""C[b] = A[b] @ B[b]^T for every b: a third grid dimension, and a transposed operand."""

import numpy

import tilegen
import tilegen.language as T


@tilegen.jit
def batched_matmul(A: T.Tensor[("batch", "M", "K"), "float32"], B: T.Tensor[("batch", "N", "K"), "float32"],
                   C: T.Tensor[("batch", "M", "N"), "float32"],
                   BM=T.by_target(64, cpu=240), BN=T.by_target(64, cpu=256), BK=T.by_target(32, cpu=256)):
    with T.Kernel(T.ceildiv(N, BN), T.ceildiv(M, BM), batch, threads=128) as (bx, by, bz):
        A_shared = T.alloc_shared((BM, BK), "float32")
        B_shared = T.alloc_shared((BN, BK), "float32")
        C_local = T.alloc_fragment((BM, BN), "float32")
        T.clear(C_local)
        for ko in T.Pipelined(T.ceildiv(K, BK), num_stages=2):
            T.copy(A[bz, by * BM, ko * BK], A_shared)
            T.copy(B[bz, bx * BN, ko * BK], B_shared)
            T.gemm(A_shared, B_shared, C_local, transpose_B=True)
        T.copy(C_local, C[bz, by * BM, bx * BN])


if __name__ == "__main__":
    generator = numpy.random.default_rng(0)
    A, B = generator.random((3, 200, 100), "float32"), generator.random((3, 150, 100), "float32")
    assert numpy.allclose(batched_matmul(A, B), A @ B.transpose(0, 2, 1), rtol=1e-4)
    print("batched_matmul: 3 x 200 x 100 times 3 x 150 x 100 transposed as NumPy multiplies them")
