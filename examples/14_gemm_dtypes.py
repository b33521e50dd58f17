"""C = A @ B.T in any element type and accumulator: one Python function writes a kernel for each pair."""

import numpy

import tilegen
import tilegen.language as T


@tilegen.jit
def gemm(dtype="int8", accum="int32", M=T.dynamic("M"), N=T.dynamic("N"), K=T.dynamic("K"),
         BM=64, BN=64, BK=64, stages=2):
    @T.prim_func
    def kernel(A: T.Tensor((M, K), dtype), B: T.Tensor((N, K), dtype), C: T.Tensor((M, N), accum)):
        with T.Kernel(T.ceildiv(N, BN), T.ceildiv(M, BM), threads=128) as (bx, by):
            A_shared = T.alloc_shared((BM, BK), dtype)
            B_shared = T.alloc_shared((BN, BK), dtype)          # rows along the depth: 8-bit types need no turning
            C_local = T.alloc_fragment((BM, BN), accum)
            T.clear(C_local)
            for ko in T.Pipelined(T.ceildiv(K, BK), num_stages=stages):
                T.copy(A[by * BM, ko * BK], A_shared)
                T.copy(B[bx * BN, ko * BK], B_shared)
                T.gemm(A_shared, B_shared, C_local, transpose_B=True)
            T.copy(C_local, C[by * BM, bx * BN])
    return kernel


if __name__ == "__main__":
    generator = numpy.random.default_rng(0)
    A, B = (generator.integers(-8, 8, shape) for shape in ((50, 70), (60, 70)))
    pairs = (("int8", "int32"), ("uint8", "int32"), ("float64", "float64"), ("float16", "float32"))
    for dtype, accum in pairs:
        a, b = A.astype(dtype), B.astype(dtype)
        assert numpy.array_equal(gemm(dtype, accum)(a, b), a.astype(accum) @ b.astype(accum).T)
    print("gemm: 50 x 70 times 70 x 60 in", len(pairs), "element types: exactly what NumPy computes")
