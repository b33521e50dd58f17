"""Names that C++ has already."""
import tilegen.language as T

register = 3


def parameter(int: T.Tensor[(64,), "float32"]):  # error: TG0013 a parameter cannot be called int
    with T.Kernel(1) as bx:
        int[bx] = 0


def knob(A: T.Tensor[(64,), "float32"], double=2):  # error: TG0013 choose another name, such as double_
    with T.Kernel(1) as bx:
        A[bx] = double


def size(A: T.Tensor[("new",), "float32"]):  # error: TG0013 a size cannot be called new
    with T.Kernel(1) as bx:
        A[bx] = 0


def number_of_the_module(A: T.Tensor[(64,), "float32"]):
    with T.Kernel(1) as bx:
        A[bx] = register  # error: TG0013 a knob cannot be called register
