"""Operands that fit; the refusals are in tests/errors/TG0101.py to TG0106.py."""

import itertools

import pytest
import tilegen.language as T
from tilegen.errors import TilegenError
from tilegen.frontend import parse
from tilegen.passes.check_shapes import check_shapes


def code_of(function, **values):
    """The code of the error, or an empty string."""
    kernel = parse(function, values=values)
    try:
        assert check_shapes(kernel) is kernel
    except TilegenError as error:
        return error.code
    return ""


@pytest.mark.parametrize("transpose_a, transpose_b", list(itertools.product([False, True], repeat=2)))
@pytest.mark.parametrize("m, n, k", [(16, 32, 64), (8, 8, 8)])
def test_sizes_of_a_gemm(transpose_a, transpose_b, m, n, k):
    shape_a, shape_b = (k, m) if transpose_a else (m, k), (n, k) if transpose_b else (k, n)

    def kernel(A: T.Tensor[(64,), "float32"], wrong=0):
        with T.Kernel(1):
            a = T.alloc_shared(shape_a, "float16")
            b = T.alloc_fragment(shape_b, "float16")
            c = T.alloc_fragment((m + wrong, n), "float32")
            T.gemm(a, b, c, transpose_a, transpose_b)

    assert code_of(kernel) == "" and code_of(kernel, wrong=8) == "TG0104"


ACCUMULATORS = {
    "float64": ("float64",),
    "float32": ("float32", "float64"),
    "float16": ("float16", "float32", "float64"),
    "bfloat16": ("float16", "float32", "float64"),
    "float8_e4m3": ("float16", "float32", "float64"),
    "int8": ("int32", "int64"),
}


@pytest.mark.parametrize("operand", ACCUMULATORS)
@pytest.mark.parametrize("accumulator", ["float16", "float32", "float64", "int8", "int32", "int64", "bool"])
def test_accumulators(operand, accumulator):
    def kernel(A: T.Tensor[(64,), "float32"]):
        with T.Kernel(1):
            a = T.alloc_shared((16, 16), operand)
            c = T.alloc_fragment((16, 16), accumulator)
            T.gemm(a, a, c)

    assert (code_of(kernel) == "") == (accumulator in ACCUMULATORS[operand])


def test_both_kinds_of_tiny_floats_multiply():
    def kernel(A: T.Tensor[(64,), "float32"]):
        with T.Kernel(1):
            a, b = T.alloc_shared((16, 16), "float8_e4m3"), T.alloc_shared((16, 16), "float8_e5m2")
            c = T.alloc_fragment((16, 16), "float32")
            T.gemm(a, b, c)

    assert code_of(kernel) == ""


def test_extents_are_compared_as_numbers_and_sizes_by_form():
    def kernel(A: T.Tensor[("M", "N"), "float32"], B: T.Tensor[("N", "M"), "float32"], BM=32, BN=16):
        with T.Kernel(1) as bx:
            x = T.alloc_shared((BM, 16), "float32")
            y = T.alloc_shared((1, 2 * BN, 1, BN), "float32")
            T.copy(x, y)
            T.copy(A[0:M - 1, 1:N], A[1:M, 0:N - 1])
            T.copy(A[bx * BN:bx * BN + BN, 0:16], x[BN:, :])

    assert code_of(kernel) == ""
    assert code_of(kernel, BM=64) == "TG0101" and code_of(kernel, BN=8) == "TG0101"


def test_branches_that_the_knobs_exclude_are_not_checked():
    def kernel(A: T.Tensor[(64, 64), "float32"], columns=32):
        with T.Kernel(1):
            x = T.alloc_shared((64, 32), "float32")
            if columns == 32:
                T.copy(A[:, 0:32], x)
            else:
                T.copy(A[:, 0:64], x)

    assert code_of(kernel) == "" and code_of(kernel, columns=64) == "TG0101"


def test_shapes_of_reductions():
    def kernel(A: T.Tensor[(64,), "float32"], rows=4):
        with T.Kernel(1):
            x = T.alloc_fragment((4, 8), "float32")
            row = T.alloc_fragment((rows,), "float32")
            kept = T.alloc_fragment((rows, 1), "float32")
            one = T.alloc_fragment((1,), "float32")
            T.reduce_sum(x, row, dim=1)
            T.reduce_sum(x, kept, dim=1)
            T.reduce_max(row, one)
            T.reduce_min(x[0, :], one)

    assert code_of(kernel) == "" and code_of(kernel, rows=8) == "TG0101"
