"""Sizes that are not positive."""
import tilegen.language as T


def empty_tile(A: T.Tensor[("N",), "float32"], BM=32):
    with T.Kernel(1):
        x = T.alloc_shared((BM - 32, 4), "float32")  # error: TG0110 is not positive
        T.copy(A, x)


def empty_slice(A: T.Tensor[(64,), "float32"]):
    with T.Kernel(1):
        x = T.alloc_shared((16,), "float32")
        T.copy(A[32:16], x)  # error: TG0110 the slice has the extent -16


def no_threads(A: T.Tensor[(64,), "float32"]):
    with T.Kernel(1, threads=0) as bx:  # error: TG0110 threads
        A[bx] = 0


def panel_of_nothing(A: T.Tensor[(64, 64), "float16"]):
    with T.Kernel(2, 2):
        T.use_swizzle(0)  # error: TG0110 panel_size is not positive


def no_blocks_on_an_sm(A: T.Tensor[(64, 64), "float16"]):
    with T.Kernel(2, 2):
        T.annotate_min_blocks_per_sm(0)  # error: TG0110 n is not positive
