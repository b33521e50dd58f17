"""Writes to inputs that are read only."""
import tilegen.language as T


def store(A: T.Tensor((64,), "float32", access="read")):
    with T.Kernel(1) as bx:
        A[bx] = 0  # error: TG0107 A is declared read only


def copy(A: T.Tensor((64,), "float32", access="read")):
    with T.Kernel(1):
        x = T.alloc_shared((64,), "float32")
        T.copy(A, x)
        T.copy(x, A)  # error: TG0107 A is declared read only
