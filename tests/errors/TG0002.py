"""Unknown names."""
import math

import tilegen.language as T


def misspelt(A: T.Tensor[("N",), "float32"], block=32):
    with T.Kernel(1) as bx:
        A[bx * blok] = 1  # error: TG0002 did you mean block?


def unknown_attribute(A: T.Tensor[("N",), "float32"]):
    with T.Kernel(1) as bx:
        A[bx] = math.sqroot(2.0)  # error: TG0002 did you mean sqrt?


def unknown_property(A: T.Tensor[("N",), "float32"]):
    with T.Kernel(1) as bx:
        A[bx] = A.size  # error: TG0002 has no size
