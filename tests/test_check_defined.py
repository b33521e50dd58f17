"""Tiles and variables that are read before they have a value; the refusals are in tests/errors/TG0112.py."""

import pytest
import tilegen.language as T
from tilegen.errors import TilegenError
from tilegen.frontend import parse
from tilegen.passes.check_defined import check_defined


def is_defined(function):
    kernel = parse(function)
    try:
        assert check_defined(kernel) is kernel
    except TilegenError as error:
        assert error.code == "TG0112" and error.loc
        return False
    return True


def test_a_write_anywhere_in_the_loop_counts():
    def kernel(A: T.Tensor[(64, 64), "float16"]):
        with T.Kernel(1):
            x = T.alloc_shared((64, 64), "float16")
            y = T.alloc_fragment((64, 64), "float32")
            for k in range(4):
                if k == 0:
                    T.clear(y)
                else:
                    T.gemm(x, x, y)
                T.copy(A, x)

    assert is_defined(kernel)


def test_a_write_in_a_branch_counts_afterwards_only():
    def after(A: T.Tensor[(64,), "float32"]):
        with T.Kernel(2) as bx:
            x = T.alloc_shared((64,), "float32")
            if bx == 0:
                T.copy(A, x)
            T.copy(x, A)

    def before(A: T.Tensor[(64,), "float32"]):
        with T.Kernel(2) as bx:
            x = T.alloc_shared((64,), "float32")
            if bx == 0:
                T.copy(x, A)
            else:
                T.copy(A, x)

    assert is_defined(after) and not is_defined(before)


@pytest.mark.parametrize("clear", [True, False])
def test_operations_that_clear_need_no_value(clear):
    def kernel(A: T.Tensor[(64, 64), "float16"]):
        with T.Kernel(1):
            x = T.alloc_shared((64, 64), "float16")
            y = T.alloc_fragment((64, 64), "float32")
            z = T.alloc_fragment((64,), "float32")
            T.copy(A, x)
            T.gemm(x, x, y, clear_accum=clear)
            T.reduce_sum(y, z, clear=clear)

    assert is_defined(kernel) == clear


def test_updates_in_parallel_loops():
    def kernel(A: T.Tensor[(64,), "float32"]):
        with T.Kernel(1):
            x = T.alloc_fragment((64,), "float32")
            for i in T.Parallel(64):
                x[i] += A[i]

    def variable(A: T.Tensor[(64,), "float32"]):
        with T.Kernel(1):
            x = T.alloc_var("float32")
            x += A[0]
            A[0] = x

    assert not is_defined(kernel) and not is_defined(variable)
