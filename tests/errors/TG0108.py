"""Unknown dtypes."""
import tilegen.language as T


def of_a_parameter(A: T.Tensor[(64,), "float17"]):  # error: TG0108 'float17' is not a dtype
    with T.Kernel(1) as bx:
        A[bx] = 0


def of_a_tile(A: T.Tensor[(64,), "float32"]):
    with T.Kernel(1):
        x = T.alloc_shared((64,), "f33")  # error: TG0108 'f33' is not a dtype
        T.copy(A, x)


def of_a_cast(A: T.Tensor[(64,), "float32"]):
    with T.Kernel(1) as bx:
        A[bx] = T.cast(bx, 32)  # error: TG0108 is not a dtype
