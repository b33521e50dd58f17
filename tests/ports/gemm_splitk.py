"""A product whose depth is split over blocks, which add their parts atomically."""

import tilegen
import tilegen.language as T


@tilegen.jit
def matmul(M, N, K, block_M, block_N, block_K, split_k, dtype="float16", accum_dtype="float32", out_dtype="float32"):
    splitK = K // split_k

    @T.prim_func
    def main(
        A: T.Tensor((M, K), dtype),
        B: T.Tensor((N, K), dtype),
        C: T.Tensor((M, N), out_dtype),
    ):
        with T.Kernel(T.ceildiv(N, block_N), T.ceildiv(M, block_M), split_k, threads=128) as (bx, by, bz):
            A_shared = T.alloc_shared((block_M, block_K), dtype)
            B_shared = T.alloc_shared((block_N, block_K), dtype)
            C_shared = T.alloc_shared((block_M, block_N), out_dtype)
            C_local = T.alloc_fragment((block_M, block_N), accum_dtype)
            T.clear(C_local)
            for ko in T.Pipelined(T.ceildiv(splitK, block_K), num_stages=0):
                T.copy(A[by * block_M, bz * splitK + ko * block_K], A_shared)
                T.copy(B[bx * block_N, bz * splitK + ko * block_K], B_shared)
                T.gemm(A_shared, B_shared, C_local, transpose_B=True)
            T.copy(C_local, C_shared)
            T.atomic_add(C[by * block_M, bx * block_N], C_shared)

    return main


def cases(generator):
    A, B = (generator.standard_normal(shape).astype("float16") for shape in ((64, 256), (96, 256)))
    C = generator.standard_normal((64, 96)).astype("float32")
    yield matmul(64, 96, 256, 32, 32, 32, 4), (A, B, C), C + A.astype("float32") @ B.astype("float32").T
