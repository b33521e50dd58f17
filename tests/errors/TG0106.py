"""Wrong numbers of indices."""
import tilegen.language as T


def too_many(A: T.Tensor[(64,), "float32"]):
    with T.Kernel(1) as bx:
        A[bx, 0] = 0  # error: TG0106 A has 1 dimension (64,), but 2 indices are given


def too_few(A: T.Tensor[(64, 64), "float32"]):
    with T.Kernel(1) as bx:
        A[bx] = A[0, 0]  # error: TG0106 A has 2 dimensions


def too_few_in_arithmetic(A: T.Tensor[(64, 64), "float32"]):
    with T.Kernel(1) as bx:
        A[bx, 0] = A[bx] + 1  # error: TG0106 but 1 indices are given


def no_such_dimension(A: T.Tensor[(64, 64), "float32"]):
    with T.Kernel(1):
        x = T.alloc_fragment((64, 64), "float32")
        y = T.alloc_fragment((64,), "float32")
        T.copy(A, x)
        T.reduce_sum(x, y, dim=2)  # error: TG0106 there is no dimension 2


def gemm_of_vectors(A: T.Tensor[(64,), "float16"]):
    with T.Kernel(1):
        x = T.alloc_shared((64,), "float16")
        y = T.alloc_fragment((64, 64), "float32")
        T.gemm(x, x, y)  # error: TG0106 x is no matrix
