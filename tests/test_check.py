"""The rule by which results are compared with their reference."""

from pathlib import Path

import ml_dtypes
import numpy
import pytest

from tilegen import dtypes, kernel_files
from tilegen.check import compare, tolerance

GEMM = kernel_files.find(str(Path(__file__).resolve().parent.parent / "examples" / "06_gemm.py"))
generator = numpy.random.default_rng(0)


def rtol(depth):
    kernel = GEMM.specialised("cuda").kernel
    return tolerance(kernel, dtypes.float32, {k.name: k.value for k in kernel.knobs} | {"K": depth})


def test_longer_sums_may_differ_more():
    assert rtol(64) < rtol(4096) < 8.1 * rtol(64)
    assert 1e-5 < rtol(1024) < 1e-4


def test_integers_are_exact():
    assert tolerance(GEMM.specialised("cuda").kernel, dtypes.int32, {}) == 0
    a = numpy.arange(12, dtype="int32").reshape(3, 4)
    assert compare("C", a, a.copy(), 0).ok
    b = a.copy()
    b[1, 2] += 1
    found = compare("C", b, a, 0)
    assert (found.ok, found.wrong, found.first, found.got, found.expected, found.error) == (False, 1, (1, 2), 7, 6, 1.0)
    assert "the first at [1, 2]: 7 instead of 6" in str(found)


@pytest.mark.parametrize("depth", [64, 1024])
def test_another_order_passes_and_a_lost_term_or_small_type_does_not(depth):
    A, B = (generator.uniform(-1, 1, shape).astype("float32") for shape in ((80, depth), (depth, 90)))
    exact = (A.astype("float64") @ B.astype("float64")).astype("float32")
    assert compare("C", A @ B, exact, rtol(depth)).ok
    assert not compare("C", A[:, :-1] @ B[:-1], exact, rtol(depth)).ok
    assert not compare("C", A.astype("float16").astype("float32") @ B, exact, rtol(depth)).ok


def test_elements_that_cancel_are_measured_by_the_rest():
    e = numpy.array([1.0, 1.0, 1e-9], "float32")
    assert compare("C", e + numpy.float32(1e-6), e, 1e-5).ok
    assert not compare("C", e + numpy.float32(1e-4), e, 1e-5).ok


@pytest.mark.parametrize("got, expected, ok", [
    (numpy.nan, numpy.nan, True), (numpy.nan, 1.0, False), (1.0, numpy.nan, False), (numpy.inf, numpy.inf, True),
    (-numpy.inf, numpy.inf, False), (3e38, numpy.inf, False), (0.0, -0.0, True)])
def test_special_values(got, expected, ok):
    a, b = numpy.array([got, 2.0], "float32"), numpy.array([expected, 2.0], "float32")
    assert compare("C", a, b, 1e-5).ok is ok


def test_small_types_and_empty_arrays():
    a = numpy.array([1.0, 2.0], ml_dtypes.bfloat16)
    assert compare("C", a, a, 1.6e-2).ok
    empty = numpy.zeros((0, 4), "float32")
    assert compare("C", empty, empty, 1e-5).ok
