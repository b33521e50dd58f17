"""Kernels without T.Kernel."""
import tilegen.language as T


def without(A: T.Tensor[(64,), "float32"]):  # error: TG0009 has no T.Kernel
    """Nothing is launched."""


def factory_without_kernel(M=64):  # error: TG0009 returns NoneType
    @T.prim_func
    def kernel(A: T.Tensor((M,), "float32")):
        with T.Kernel(1) as bx:
            A[bx] = 0
