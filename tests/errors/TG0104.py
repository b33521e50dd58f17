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


def warps_that_cover_too_little(A: T.Tensor[(128, 64), "float16"]):
    with T.Kernel(1, threads=256):
        A_shared = T.alloc_shared((128, 32), "float16")
        B_shared = T.alloc_shared((32, 256), "float16")
        C_local = T.alloc_fragment((32, 64), "float32")
        T.gemm_warp(A_shared, B_shared, C_local, (32, 64))  # error: TG0104 4 x 4 warps would: change threads=


def warps_of_half_a_tile(A: T.Tensor[(128, 64), "float16"]):
    with T.Kernel(1, threads=128):
        A_shared = T.alloc_shared((72, 32), "float16")
        B_shared = T.alloc_shared((32, 64), "float16")
        C_local = T.alloc_fragment((32, 32), "float32")
        T.gemm_warp(A_shared, B_shared, C_local, (32, 32))  # error: TG0104 which do not cover 72 x 64


def threads_that_are_no_whole_warps(A: T.Tensor[(128, 64), "float16"]):
    with T.Kernel(1, threads=48):
        A_shared = T.alloc_shared((32, 32), "float16")
        B_shared = T.alloc_shared((32, 32), "float16")
        C_local = T.alloc_fragment((32, 32), "float32")
        T.gemm_warp(A_shared, B_shared, C_local, tile_shape=(32, 32))  # error: TG0104 48 threads are 1.5 warps


def accumulator_of_another_shape(A: T.Tensor[(128, 64), "float16"]):
    with T.Kernel(1, threads=128):
        A_shared = T.alloc_shared((64, 32), "float16")
        B_shared = T.alloc_shared((32, 64), "float16")
        C_local = T.alloc_fragment((64, 64), "float32")
        T.gemm_warp(A_shared, B_shared, C_local, tile_shape=(32, 32))  # error: TG0104 C_local needs the shape (32, 32)


def two_grids_of_warps(A: T.Tensor[(128, 64), "float16"]):
    with T.Kernel(1, threads=256):
        X = T.alloc_shared((128, 32), "float16")
        Y = T.alloc_shared((32, 64), "float16")
        C_local = T.alloc_fragment((32, 32), "float32")
        T.gemm_warp(X, Y, C_local, tile_shape=(32, 32), clear_accum=True)
        T.gemm_warp(Y, X, C_local, (32, 32), True, True)  # error: TG0104 2 x 4 warps here, but 4 x 2 warps elsewhere


def part_of_an_accumulator(A: T.Tensor[(128, 64), "float16"]):
    with T.Kernel(1, threads=32):
        A_shared = T.alloc_shared((32, 32), "float16")
        C_local = T.alloc_fragment((2, 32, 32), "float32")
        T.gemm_warp(A_shared, A_shared, C_local[0, :, :], tile_shape=(32, 32))  # error: TG0104 a whole fragment


def inner_sizes_of_warps(A: T.Tensor[(128, 64), "float16"]):
    with T.Kernel(1, threads=128):
        A_shared = T.alloc_shared((64, 32), "float16")
        B_shared = T.alloc_shared((16, 64), "float16")
        C_local = T.alloc_fragment((32, 32), "float32")
        T.gemm_warp(A_shared, B_shared, C_local, (32, 32))  # error: TG0104 T.gemm_warp: the inner sizes differ
