"""Accesses outside of a tile."""
import tilegen.language as T


def off_by_one(A: T.Tensor[(1000, 8), "float32"]):
    with T.Kernel(1):
        x = T.alloc_shared((1000, 8), "float32")
        T.copy(A, x)
        for i, j in T.Parallel(8, 8):
            A[i, j] = x[i * 128 + 128, j]  # error: TG0105 when i = 7, row 1024 of 1000


def column(A: T.Tensor[(64, 8), "float32"]):
    with T.Kernel(1):
        x = T.alloc_fragment((64, 8), "float32")
        for i, j in T.Parallel(64, 8):
            x[i, j + 1] = 0  # error: TG0105 when j = 7, column 8 of 8


def negative(A: T.Tensor[(64,), "float32"]):
    with T.Kernel(1):
        x = T.alloc_shared((64,), "float32")
        T.copy(A, x)
        for i in range(1, 8):
            A[i] = x[i - 2]  # error: TG0105 when i = 1, element -1 of 64


def copy_beyond_the_end(A: T.Tensor[(64,), "float32"]):
    with T.Kernel(1):
        x = T.alloc_shared((64,), "float32")
        for k in range(4):
            T.copy(A[k * 16:k * 16 + 32], x[k * 16:k * 16 + 32])  # error: TG0105 when k = 3, element 79 of 64


def modulo(A: T.Tensor[(64,), "float32"]):
    with T.Kernel(1):
        x = T.alloc_local((6,), "float32")
        for i in range(16):
            slot = i % 7
            x[slot] = A[i]  # error: TG0105 when i = 6, element 6 of 6
