"""Shapes that differ."""
import tilegen.language as T


def copy_of_a_wider_tile(A: T.Tensor[(64, 64), "float32"]):
    with T.Kernel(1):
        x = T.alloc_shared((64, 32), "float32")
        T.copy(A, x)  # error: TG0101 A gives (64, 64), x takes (64, 32)


def copy_of_sizes(A: T.Tensor[("M", "N"), "float32"], B: T.Tensor[("N", "M"), "float32"]):
    with T.Kernel(1):
        T.copy(A, B)  # error: TG0101 A gives (M, N), B takes (N, M)


def copy_of_two_elements(A: T.Tensor[(64,), "float32"]):
    with T.Kernel(1) as bx:
        T.copy(A[bx], A[bx + 1])  # error: TG0101 no extent


def copy_of_too_many_dimensions(A: T.Tensor[(64,), "float32"]):
    with T.Kernel(1):
        x = T.alloc_shared((8, 8), "float32")
        T.copy(A[0], x)  # error: TG0101 does not fit a tensor of 1 dimension


def reduction(A: T.Tensor[(64, 32), "float32"]):
    with T.Kernel(1):
        x = T.alloc_fragment((64, 32), "float32")
        y = T.alloc_fragment((32,), "float32")
        T.copy(A, x)
        T.reduce_sum(x, y, dim=1)  # error: TG0101 over dimension 1 gives (64,), y is (32,)


def atomic(A: T.Tensor[(64,), "float32"]):
    with T.Kernel(1):
        x = T.alloc_shared((8, 8), "float32")
        T.atomic_add(A[0], x)  # error: TG0101 does not fit


def scan_into_another_shape(A: T.Tensor[(64, 32), "float32"]):
    with T.Kernel(1):
        x = T.alloc_fragment((64, 32), "float32")
        y = T.alloc_fragment((64, 16), "float32")
        T.copy(A, x)
        T.cumsum(x, y)  # error: TG0101 T.cumsum: x is (64, 32), y is (64, 16)


def reshape_to_another_size(A: T.Tensor[("M", 32), "float32"]):
    with T.Kernel(1):
        x = T.reshape(A, (64, 16))  # error: TG0101 T.reshape: A (M, 32) of float32 has not the size of (64, 16)


def view_as_wider_elements(A: T.Tensor[(64, 3), "float16"]):
    with T.Kernel(1):
        x = T.view(A, dtype="float32")  # error: TG0101 T.view: A (64, 3) of float16 has not the size of (64, 1)


def transpose_into_another_shape(A: T.Tensor[(64, 32), "float32"]):
    with T.Kernel(1):
        x = T.alloc_shared((64, 32), "float32")
        T.transpose(A, x)  # error: TG0101 T.transpose: A gives (32, 64), x takes (64, 32)
