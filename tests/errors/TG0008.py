"""Assignments that kernels do not have."""
import tilegen.language as T


def chained(A: T.Tensor[(64,), "float32"]):
    with T.Kernel(1):
        a = b = 1  # error: TG0008 one line for each name
        A[a] = b


def loop_variable(A: T.Tensor[(64,), "float32"]):
    with T.Kernel(1):
        for i in range(8):
            i = i + 1  # error: TG0008 the variable of a loop
            A[i] = 0


def tile_in_a_branch(A: T.Tensor[(64,), "float32"]):
    with T.Kernel(2) as bx:
        x = T.alloc_shared((64,), "float32")
        y = T.alloc_shared((64,), "float32")
        z = x
        if bx == 0:
            z = y  # error: TG0008 use two names
        T.copy(A, z)


def sum_in_parallel(A: T.Tensor[(64,), "float32"]):
    with T.Kernel(1):
        total = 0.0
        for i in T.Parallel(64):
            total += A[i]  # error: TG0008 T.reduce_sum
        A[0] = total


def wrong_count(A: T.Tensor[(64,), "float32"]):
    with T.Kernel(1):
        a, b = A.shape  # error: TG0008 2 names cannot be set
        A[a] = b


def attribute(A: T.Tensor[(64,), "float32"]):
    with T.Kernel(1):
        A.name = 1  # error: TG0008 an assignment to A.name


def last_of_parallel(A: T.Tensor[(64,), "float32"]):
    with T.Kernel(2) as bx:
        for i in T.Parallel(64):
            if i > 3:
                x = A[i]  # error: TG0008 T.reduce_sum
        if bx > 1:
            x = 0.0
            A[0] = x
        A[1] = x
