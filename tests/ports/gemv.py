"""A matrix times a vector: blocks of rows, the vector in steps."""

import tilegen
import tilegen.language as T


@tilegen.jit(out=[-1])
def gemv(N, K, block_N, block_K, dtype="float16", accum_dtype="float32"):
    @T.prim_func
    def main(A: T.Tensor((K,), dtype), B: T.Tensor((N, K), dtype), C: T.Tensor((N,), dtype)):
        with T.Kernel(T.ceildiv(N, block_N), threads=128) as bn:
            A_local = T.alloc_fragment((block_K,), dtype)
            B_local = T.alloc_fragment((block_N, block_K), dtype)
            product = T.alloc_fragment((block_N, block_K), accum_dtype)
            C_reg = T.alloc_fragment((block_N,), accum_dtype)
            T.clear(C_reg)
            for bk in T.serial(T.ceildiv(K, block_K)):
                T.copy(A[bk * block_K], A_local)
                T.copy(B[bn * block_N, bk * block_K], B_local)
                for i, j in T.Parallel(block_N, block_K):
                    product[i, j] = A_local[j].astype(accum_dtype) * B_local[i, j].astype(accum_dtype)
                T.reduce_sum(product, C_reg, dim=1, clear=False)
            T.copy(C_reg, C[bn * block_N])

    return main


def cases(generator):
    A, B = (generator.standard_normal(shape).astype("float16") for shape in ((300,), (70, 300)))
    yield gemv(70, 300, 16, 128), (A, B), B.astype("float32") @ A.astype("float32")
