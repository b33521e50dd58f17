"""Bad annotations."""
import tilegen.language as T


def number_as_type(A: T.Tensor[("N",), "float32"], B: 3):  # error: TG0010 the annotation of B
    with T.Kernel(1) as bx:
        A[bx] = 0


def text_that_is_no_name(A: T.Tensor[("N+",), "float32"]):  # error: TG0010 is not a name
    with T.Kernel(1) as bx:
        A[bx] = 0


def no_dimensions(A: T.Tensor((), "float32")):  # error: TG0010 has no dimensions
    with T.Kernel(1):
        T.clear(A)


def unknown_access(A: T.Tensor((64,), "float32", access="readonly")):  # error: TG0010 access is
    with T.Kernel(1) as bx:
        A[bx] = 0


def declared_twice(A):
    N = T.const("N")
    A: T.Tensor((N,), "float32")
    B: T.Tensor((N,), "float32")  # error: TG0010 B is no parameter
    with T.Kernel(1) as bx:
        A[bx] = 0
