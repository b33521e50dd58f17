"""Values of the wrong type."""
import tilegen.language as T


def integer_division(A: T.Tensor[(64,), "float32"]):
    with T.Kernel(1) as bx:
        A[bx / 2] = 0  # error: TG0111 use //


def division_of_knobs(A: T.Tensor[(64,), "float32"], BM=32):
    with T.Kernel(BM / 16) as bx:  # error: TG0111 use //
        A[bx] = 0


def float_index(A: T.Tensor[(64,), "float32"]):
    with T.Kernel(1):
        A[A[0]] = 0  # error: TG0111 an integer is needed here


def float_modulo(A: T.Tensor[(64,), "float32"]):
    with T.Kernel(1) as bx:
        A[bx] = A[0] % A[1]  # error: TG0111 write T.fmod(a, b)


def exp_of_an_integer(A: T.Tensor[(64,), "float32"]):
    with T.Kernel(1) as bx:
        A[bx] = T.exp(bx)  # error: TG0111 T.exp needs a float


def float_condition(A: T.Tensor[(64,), "float32"]):
    with T.Kernel(1) as bx:
        if A[bx]:  # error: TG0111 compare it
            A[bx] = 0


def power_of_integers(A: T.Tensor[(64,), "float32"]):
    with T.Kernel(1) as bx:
        A[bx] = bx ** 3  # error: TG0111 '**' needs floats


def unknown_eviction_policy(A: T.Tensor[(64,), "float32"]):
    with T.Kernel(1):
        A_shared = T.alloc_shared((64,), "float32")
        T.copy(A, A_shared, eviction_policy="evict_never")  # error: TG0111 eviction_policy is 'evict_never'
