"""Wrong arguments to operations."""
import tilegen.language as T


def missing_argument(A: T.Tensor[(64,), "float32"]):
    with T.Kernel(1):
        T.copy(A)  # error: TG0005 missing a required argument: 'dst'


def unknown_keyword(A: T.Tensor[(64,), "float32"]):
    with T.Kernel(1):
        x = T.alloc_shared((64,), "float32", align=16)  # error: TG0005 align
        T.copy(A, x)


def four_grid_extents(A: T.Tensor[(64,), "float32"]):
    with T.Kernel(1, 2, 3, 4):  # error: TG0005 1 to 3 grid extents
        T.clear(A)


def too_few_block_names(A: T.Tensor[(64,), "float32"]):
    with T.Kernel(1, 2) as bx:  # error: TG0005 write as (bx, by)
        A[bx] = 0


def wrong_number_of_loop_variables(A: T.Tensor[(64,), "float32"]):
    with T.Kernel(1):
        for i in T.Parallel(8, 8):  # error: TG0005 2 extents, but 1 variable
            A[i] = 0


def wrong_policy(A: T.Tensor[(64, 64), "float16"]):
    with T.Kernel(1):
        x = T.alloc_shared((64, 64), "float16")
        y = T.alloc_fragment((64, 64), "float32")
        T.copy(A, x)
        T.gemm(x, x, y, policy="rows")  # error: TG0005 GemmWarpPolicy


@T.macro
def double(tile):
    for i in T.Parallel(64):
        tile[i] = tile[i] * 2


def wrong_macro_argument(A: T.Tensor[(64,), "float32"]):
    with T.Kernel(1):
        double(A, 3)  # error: TG0005 double: too many positional arguments


def swizzle_of_an_unknown_order(A: T.Tensor[(64, 64), "float16"]):
    with T.Kernel(2, 2):
        T.use_swizzle(4, order="diagonal")  # error: TG0005 write "row" or "column"


def swizzle_of_one_extent(A: T.Tensor[(64, 64), "float16"]):
    with T.Kernel(2):
        T.use_swizzle(4)  # error: TG0005 a grid of two extents


def two_swizzles(A: T.Tensor[(64, 64), "float16"]):
    with T.Kernel(2, 2):
        T.use_swizzle(4)
        T.use_swizzle(8, order="column")  # error: TG0005 a second T.use_swizzle


def tile_shape_that_is_a_number(A: T.Tensor[(64, 64), "float16"]):
    with T.Kernel(1, threads=32):
        x = T.alloc_shared((64, 64), "float16")
        y = T.alloc_fragment((64, 64), "float32")
        T.gemm_warp(x, x, y, tile_shape=64)  # error: TG0005 a pair (rows, columns)


def group_of_three_lanes(A: T.Tensor[(64,), "float32"]):
    with T.Kernel(1, threads=32):
        A[0] = T.shfl_xor(A[1], 1, width=3)  # error: TG0005 width is a power of two up to 32


def a_sum_that_propagates(A: T.Tensor[(64,), "float32"]):
    with T.Kernel(1):
        tile = T.alloc_fragment((64,), "float32")
        total = T.alloc_fragment((1,), "float32")
        T.copy(A, tile)
        T.reduce(tile, total, "sum", nan_propagate=True)  # error: TG0005 nan_propagate is about maxima and minima
