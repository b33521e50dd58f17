"""C = A @ B with the hardware in hand: asynchronous copies, one barrier a step, one tile for each warp."""

import numpy

import tilegen
import tilegen.language as T


@tilegen.jit
def matmul(M=T.dynamic("M"), N=T.dynamic("N"), K=T.dynamic("K"), block_M=128, block_N=128, block_K=32, stages=3,
           warp_tile=(32, 64)):
    @T.prim_func
    def kernel(A: T.Tensor((M, K), "float16"), B: T.Tensor((K, N), "float16"), C: T.Tensor((M, N), "float32")):
        with T.Kernel(T.ceildiv(N, block_N), T.ceildiv(M, block_M), threads=256) as (bx, by):
            A_shared = T.alloc_shared((block_M, block_K), "float16")
            B_shared = T.alloc_shared((block_K, block_N + 4), "float16")      # padding keeps the banks apart
            C_local = T.alloc_fragment(warp_tile, "float32")                  # 8 warps of 32 x 64 cover 128 x 128
            T.use_swizzle(8)
            T.clear(C_local)
            for ko in T.Pipelined(T.ceildiv(K, block_K), num_stages=stages):
                T.copy_async(A[by * block_M, ko * block_K], A_shared)
                T.copy_async(B[ko * block_K, bx * block_N], B_shared)
                T.sync()
                for ki in range(0, block_K, 16):
                    T.gemm_warp(A_shared[:, ki:ki + 16], B_shared[ki:ki + 16, :], C_local, tile_shape=warp_tile)
            T.copy(C_local, C[by * block_M, bx * block_N])
    return kernel


if __name__ == "__main__":
    generator = numpy.random.default_rng(0)
    A, B = (generator.standard_normal(shape).astype("float16") for shape in ((500, 300), (300, 400)))
    assert numpy.allclose(matmul()(A, B), A.astype("float32") @ B.astype("float32"), rtol=1e-3, atol=1e-2)
    print("matmul: 500 x 300 times 300 x 400 in float16 as NumPy multiplies them")
