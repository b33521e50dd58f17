"""Unknown operations."""
import tilegen.language as T


def misspelt(A: T.Tensor[(64,), "float32"]):
    with T.Kernel(1):
        x = T.aloc_shared((64,), "float32")  # error: TG0007 did you mean T.alloc_shared?
        T.copy(A, x)


def wrong_case(A: T.Tensor[(64,), "float32"]):
    with T.Kernel(1):
        for i in T.parallel(64):  # error: TG0007 did you mean T.Parallel?
            A[i] = 0


def nothing_like_it(A: T.Tensor[(64,), "float32"]):
    with T.Kernel(1):
        T.quizzical(10)  # error: TG0007 lists the operations
        A[0] = 1


def kernel_with_roles(A: T.Tensor[("M",), "float32"]):
    with T.Kernel(1):
        full = T.alloc_barrier(128)  # error: TG0007 a warpgroup of their own
