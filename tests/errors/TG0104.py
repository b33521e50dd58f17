"""Sizes of a gemm that do not fit."""
import tilegen.language as T


def inner_sizes(A: T.Tensor[(128, 64), "float16"], BK=32):
    with T.Kernel(1):
        A_shared = T.alloc_shared((128, BK), "float16")
        B_shared = T.alloc_shared((64, 128), "float16")
        C_local = T.alloc_fragment((128, 128), "float32")
        T.gemm(A_shared, B_shared, C_local)  # error: TG0104 B_shared needs 32 rows; it was allocated at TG0104.py:8


def inner_sizes_transposed(A: T.Tensor[(128, 64), "float16"]):
    with T.Kernel(1):
        A_shared = T.alloc_shared((128, 32), "float16")
        B_shared = T.alloc_shared((128, 64), "float16")
        C_local = T.alloc_fragment((128, 128), "float32")
        T.gemm(A_shared, B_shared, C_local, transpose_B=True)  # error: TG0104 B_shared needs 32 columns


def rows_of_the_result(A: T.Tensor[(128, 64), "float16"]):
    with T.Kernel(1):
        A_shared = T.alloc_shared((128, 32), "float16")
        B_shared = T.alloc_shared((32, 64), "float16")
        C_local = T.alloc_fragment((64, 64), "float32")
        T.gemm(A_shared, B_shared, C_local)  # error: TG0104 C_local needs 128 rows


def columns_of_the_result(A: T.Tensor[(128, 64), "float16"]):
    with T.Kernel(1):
        A_shared = T.alloc_shared((128, 32), "float16")
        B_shared = T.alloc_shared((32, 64), "float16")
        C_local = T.alloc_fragment((128, 128), "float32")
        T.gemm(A_shared, B_shared, C_local)  # error: TG0104 C_local needs 64 columns
