"""Values that are missing."""
import tilegen.language as T


def factory(M, N=64):  # error: TG0501 -D M=1024
    @T.prim_func
    def kernel(A: T.Tensor((M, N), "float32")):
        with T.Kernel(1) as bx:
            A[bx, 0] = 0
    return kernel


def undeclared(A, n):  # error: TG0501 the parameter n has no value and no type
    N = T.const("N")
    A: T.Tensor((N,), "float32")
    with T.Kernel(1) as bx:
        A[bx] = 0


def used_before_it_is_declared(A):
    N = T.const("N")
    with T.Kernel(N) as bx:
        A[bx] = 0  # error: TG0501 the parameter A has no value and no type
