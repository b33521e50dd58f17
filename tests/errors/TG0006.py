"""Operations in places where they cannot be."""
import tilegen.language as T


def alloc_before_kernel(A: T.Tensor[(64,), "float32"]):
    x = T.alloc_shared((64,), "float32")  # error: TG0006 outside of T.Kernel
    with T.Kernel(1):
        T.copy(A, x)


def kernel_in_kernel(A: T.Tensor[(64,), "float32"]):
    with T.Kernel(1) as bx:
        with T.Kernel(2) as by:  # error: TG0006 T.Kernel inside of T.Kernel
            A[bx + by] = 0


def loop_before_kernel(A: T.Tensor[(64,), "float32"]):
    for i in range(4):  # error: TG0006 outside of T.Kernel
        A[i] = 0
    with T.Kernel(1):
        T.clear(A)


def output_in_kernel(A: T.Tensor[(64,), "float32"]):
    with T.Kernel(1):
        C = T.empty((64,), "float32")  # error: TG0006 before T.Kernel
        T.copy(A, C)


def swizzle_in_a_loop(A: T.Tensor[(64, 64), "float16"]):
    with T.Kernel(2, 2) as (bx, by):
        for i in range(4):
            T.use_swizzle(4)  # error: TG0006 about the whole launch
