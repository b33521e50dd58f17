"""Tensors with strides: parts of larger ones, transposed ones, in every kind of access."""

from operation_cases import case

import tilegen.language as T

M, N, K = T.dynamic("M"), T.dynamic("N"), T.dynamic("K")


@case({"M": 50, "N": 70, "lda": 80, "ldb": 71}, {"M": 32, "N": 64, "lda": 64, "ldb": 96}, {"M": 1, "N": 1, "lda": 9, "ldb": 1},
      dtype=("float16", "float32", "int8"))
def rows_with_gaps(dtype):
    """Through shared memory and through registers, by copies and by elements."""

    @T.prim_func
    def kernel(A: T.StridedTensor((M, N), ("lda", 1), dtype), B: T.StridedTensor((M, N), ("ldb", 1), dtype),
               C: T.Tensor((M, N), dtype)):
        with T.Kernel(T.ceildiv(N, 64), T.ceildiv(M, 32), threads=64) as (bx, by):
            tile = T.alloc_shared((32, 64), dtype)
            own = T.alloc_fragment((32, 64), dtype)
            T.copy(A[by * 32, bx * 64], tile)
            T.copy(A[by * 32, bx * 64], own)
            for i, j in T.Parallel(32, 64):
                own[i, j] = own[i, j] + tile[i, 63 - j]
            T.copy(own, B[by * 32, bx * 64])
            for i, j in T.Parallel(32, 64):
                C[by * 32 + i, bx * 64 + j] = A[by * 32 + i, bx * 64 + j] + tile[i, j]

    return kernel


@case({"M": 20, "N": 30, "s": 1, "t": 21}, {"M": 20, "N": 30, "s": 70, "t": 2})
def every_stride(A: T.StridedTensor[("M", "N"), ("s", "t"), "float32"], B: T.StridedTensor[("N", "M"), ("2 * t", "s"), "float32"],
                 R: T.Tensor[("M",), "float32"]):
    """Neither dimension follows the other: transposed, or every second element."""
    with T.Kernel(T.ceildiv(M, 16), threads=64) as by:
        tile = T.alloc_fragment((16, 32), "float32")
        rows = T.alloc_fragment((16,), "float32")
        T.copy(A[by * 16, 0], tile)
        T.reduce_sum(tile, rows, dim=1)
        T.copy(rows, R[by * 16])
        for i, j in T.Parallel(16, 32):
            B[j, by * 16 + i] = tile[i, j] * 2.0


@case({"M": 70, "N": 40, "K": 90, "lda": 100, "ldb": 48, "ldc": 64}, {"M": 32, "N": 32, "K": 32, "lda": 32, "ldb": 32, "ldc": 32},
      turned=(False, True))
def product_of_parts(turned):
    """Operands of a pipelined product, the left one perhaps in columns; its result goes into a part of a matrix."""
    strides = (1, "lda") if turned else ("lda", 1)

    @T.prim_func
    def kernel(A: T.StridedTensor((M, K), strides, "float16"), B: T.StridedTensor((K, N), ("ldb", 1), "float16"),
               C: T.StridedTensor((M, N), ("ldc", 1), "float32")):
        with T.Kernel(T.ceildiv(N, 32), T.ceildiv(M, 32), threads=128) as (bx, by):
            A_shared = T.alloc_shared((32, 32), "float16")
            B_shared = T.alloc_shared((32, 32), "float16")
            total = T.alloc_fragment((32, 32), "float32")
            T.clear(total)
            for k in T.Pipelined(T.ceildiv(K, 32), num_stages=2):
                T.copy(A[by * 32, k * 32], A_shared)
                T.copy(B[k * 32, bx * 32], B_shared)
                T.gemm(A_shared, B_shared, total)
            T.copy(total, C[by * 32, bx * 32])

    return kernel


@case({"M": 6, "N": 40})
def fixed_strides(A: T.StridedTensor[(2, "M", "N"), (1024, 64, 1), "float32"], B: T.StridedTensor[("M",), (3,), "int32"]):
    """Numbers as strides, a batch, and atomic updates."""
    with T.Kernel(M, 2, threads=32) as (m, z):
        tile = T.alloc_fragment((64,), "float32")
        T.copy(A[z, m, 0], tile)
        for j in T.Parallel(64):
            if j < N and tile[j] > 0.0:
                T.atomic_add(B[m], 1)
