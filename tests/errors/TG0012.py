"""Slices with a step."""
import tilegen.language as T


def strided(A: T.Tensor[(64,), "float32"]):
    with T.Kernel(1):
        x = T.alloc_shared((32,), "float32")
        T.copy(A[0:64:2], x)  # error: TG0012 no step
