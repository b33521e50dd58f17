"""Values of the wrong kind."""
import tilegen.language as T


def tile_arithmetic(A: T.Tensor[(64,), "float32"]):
    with T.Kernel(1):
        x = T.alloc_fragment((64,), "float32")
        T.copy(A, x)
        y = x + 1  # error: TG0004 T.Parallel
        T.copy(y, A)


def tile_product(A: T.Tensor[(64, 64), "float32"]):
    with T.Kernel(1):
        x = T.alloc_shared((64, 64), "float32")
        y = x @ x  # error: TG0004 write T.gemm(A, B, C)
        T.copy(y, A)


def store_of_a_tile(A: T.Tensor[(64,), "float32"]):
    with T.Kernel(1) as bx:
        x = T.alloc_shared((64,), "float32")
        A[bx] = x  # error: TG0004 is not a single value


def copy_of_a_number(A: T.Tensor[(64,), "float32"]):
    with T.Kernel(1):
        T.copy(3, A)  # error: TG0004 has to be a tile


def call_of_a_number(A: T.Tensor[(64,), "float32"]):
    with T.Kernel(1) as bx:
        A[bx] = bx(1)  # error: TG0004 cannot be called


def index_of_a_scalar(A: T.Tensor[(64,), "float32"]):
    with T.Kernel(1) as bx:
        A[bx] = bx[0]  # error: TG0004 has no elements


def text_as_number(A: T.Tensor[(64,), "float32"]):
    with T.Kernel(1) as bx:
        A[bx] = "one"  # error: TG0004 the text 'one'


def wrong_knob(A: T.Tensor[(64,), "float32"], block=32):  # error: TG0004 cannot be 1.5
    with T.Kernel(1) as bx:
        A[bx * block] = 1


VALUES = {"wrong_knob": {"block": 1.5}}
