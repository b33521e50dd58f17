"""Python constructs that kernels do not have."""
import tilegen.language as T

BLOCKS = [1, 2, 3]


def scale_in_python(x):
    return x * 2


def try_statement(A: T.Tensor[("N",), "float32"]):
    with T.Kernel(1) as bx:
        try:  # error: TG0001 try cannot be used
            A[bx] = 1
        finally:
            pass


def inner_function(A: T.Tensor[("N",), "float32"]):
    with T.Kernel(1) as bx:
        def double(x):  # error: TG0001 an inner function
            return 2 * x
        A[bx] = double(1)


def python_print(A: T.Tensor[("N",), "float32"]):
    with T.Kernel(1) as bx:
        print(A[bx])  # error: TG0001 use T.print


def loop_over_list(A: T.Tensor[("N",), "float32"]):
    with T.Kernel(1):
        for i in BLOCKS:  # error: TG0001 loop over range
            A[i] = 1


def loop_with_enumerate(A: T.Tensor[("N",), "float32"]):
    with T.Kernel(1):
        for i, block in enumerate(BLOCKS):  # error: TG0001 enumerate() cannot be used
            A[i] = block


def loop_with_zip(A: T.Tensor[("N",), "float32"]):
    with T.Kernel(1):
        for i, j in zip(BLOCKS, BLOCKS):  # error: TG0001 zip() cannot be used
            A[i] = j


def loop_else(A: T.Tensor[("N",), "float32"]):
    with T.Kernel(1):
        for i in range(4):
            A[i] = 1
        else:
            A[0] = 2  # error: TG0001 else after a loop


def comprehension(A: T.Tensor[("N",), "float32"]):
    with T.Kernel(1):
        values = [i * 2 for i in range(4)]  # error: TG0001 a list comprehension
        A[0] = values[0]


def a_lambda(A: T.Tensor[("N",), "float32"]):
    with T.Kernel(1):
        double = lambda x: 2 * x  # error: TG0001 T.macro
        A[0] = double(1)


def walrus(A: T.Tensor[("N",), "float32"]):
    with T.Kernel(1):
        A[0] = (x := 1) + 2  # error: TG0001 assign the name on a line of its own


def assert_statement(A: T.Tensor[("N",), "float32"]):
    with T.Kernel(1):
        assert A[0] > 0  # error: TG0001 use T.device_assert


def python_function(A: T.Tensor[("N",), "float32"]):
    with T.Kernel(1):
        A[0] = scale_in_python(A[1])  # error: TG0001 put @T.macro on scale_in_python


def early_return(A: T.Tensor[("N",), "float32"]):
    with T.Kernel(1) as bx:
        if bx > 0:
            return  # error: TG0001 return in the middle of a kernel
        A[bx] = 1


def expression_without_effect(A: T.Tensor[("N",), "float32"]):
    with T.Kernel(1) as bx:
        A[bx] + 1  # error: TG0001 this expression does nothing


def other_context(A: T.Tensor[("N",), "float32"]):
    with T.Kernel(1) as bx:
        with A:  # error: TG0001 only T.Kernel
            A[bx] = 1


def many_parameters(*tensors):  # error: TG0001 write the parameters out
    with T.Kernel(1) as bx:
        T.print(bx)


def match_statement(A: T.Tensor[("N",), "float32"]):
    with T.Kernel(1) as bx:
        match bx:  # error: TG0001 use if and elif
            case 0:
                A[bx] = 1


@T.macro
def endless(x):
    endless(x)


def recursive_macro(A: T.Tensor[("N",), "float32"]):
    with T.Kernel(1) as bx:
        endless(bx)  # error: TG0001 calls itself
