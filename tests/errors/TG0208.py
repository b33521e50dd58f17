"""Fragments in ways that their layout cannot serve."""
import tilegen.language as T


def scan_of_a_part(A: T.Tensor[(8, 32), "float32"]):
    with T.Kernel(1):
        x = T.alloc_fragment((8, 32), "float32")
        T.copy(A, x)
        T.cumsum(x[:, 0:16])  # error: TG0208 T.cumsum takes a fragment as a whole
