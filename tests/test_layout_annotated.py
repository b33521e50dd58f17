"""T.annotate_layout: tiles lie as kernels ask, on every target; what cannot be says so with both maps."""

import re

import pytest
import tilegen.language as T
from layout_annotated import CASES
from operation_cases import TARGETS, Case, differences
from tilegen.errors import TilegenError


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("case", CASES, ids=lambda c: c.name)
def test_a_layout_changes_no_result(case, target):
    made = case.specialised(target)
    for sizes in case.sizes:
        assert not differences(made, sizes, case.rtol), made.source


def planned(function, target="cuda"):
    return Case(function.__name__, function).specialised(target).planned


def source(name):
    return next(c for c in CASES if c.name == name).specialised("cuda").source


def test_a_swizzle_keeps_ldmatrix_and_needs_no_padding():
    text = source("swizzled_operands")
    assert "ldmatrix_x4(" in text and "ldmatrix_x4_transposed(" in text and "_PAD" not in text
    assert "copy_async<A_VEC>(&a_at(s.a[stage], row, col)" in text
    assert re.search(r"T& b_at\(T \(&tile\)\[BK\]\[64\], int i, int j\)\n\{\n.*\[i \* 64 \+ \(j \^ i % 8 \* 8\)\];", text)


def test_what_lies_by_columns_is_not_read_by_vectors():
    assert "return reinterpret_cast<T*>(tile)[j * 32 + i];" in source("columns_first")
    assert "A_VEC" not in source("columns_first")


def test_a_knob_that_a_layout_was_checked_with_is_held():
    assert re.search(r'static_assert\(BK == 32, *\s*"the layout of a was checked for this number"\)',
                     source("swizzled_operands"))


def test_a_fragment_is_spread_as_asked():
    layout = planned(next(c.function for c in CASES if c.name == "fragment_by_columns")).plan.layouts["x"]
    for (thread, _), (i, j) in layout.table().items():
        assert thread == j // 4 % 2 * 32 + i


def test_copies_are_where_they_were_asked_for():
    layout = planned(next(c.function for c in CASES if c.name == "fragment_with_copies")).plan.layouts["x"]
    holders: dict = {}
    for (thread, _), element in layout.table().items():
        holders.setdefault(element, set()).add(thread)
    assert all(held == {i // 2 % 32, i // 2 % 32 + 32} for (i,), held in holders.items())


def product(A: T.Tensor[(32, 32), "float16"], C: T.Tensor[(32, 32), "float32"]):
    with T.Kernel(1, threads=32) as _:
        a = T.alloc_shared((32, 32), "float16")
        c = T.alloc_fragment((32, 32), "float32")
        T.annotate_layout({c: T.Fragment((32, 32), lambda i, j: (j, i))})
        T.copy(A, a)
        T.clear(c)
        T.gemm(a, a, c)
        T.copy(c, C)


def diagonal(A: T.Tensor[(32, 32), "float32"], C: T.Tensor[(32, 32), "float32"]):
    with T.Kernel(1, threads=32) as _:
        x = T.alloc_fragment((32, 32), "float32")
        T.annotate_layout({x: T.Fragment((32, 32), lambda i, j: ((i + j) % 32, i))})
        T.copy(A, x)
        T.copy(x, C)


@pytest.mark.parametrize("function, forced", [(product, "T.gemm(a, a, c)"), (diagonal, "x = T.alloc_fragment(")])
def test_a_conflict_shows_both_maps_and_both_lines(function, forced):
    with pytest.raises(TilegenError) as caught:
        planned(function)
    error = caught.value
    assert error.code == "TG0203" and "T.annotate_layout({" in error.loc.text()
    asked, other = error.notes
    assert forced in other.loc.text() and "T.annotate_layout({" in asked.loc.text()
    text = str(error)
    assert len(re.findall(r"^ {11}( *\d+){8} \.\.\.$", text, re.M)) == 16 and forced in text


def test_registers_of_one_thread_are_told_apart():
    def kernel(A: T.Tensor[(32, 4), "float32"]):
        with T.Kernel(1, threads=32) as _:
            x = T.alloc_fragment((32, 4), "float32")
            T.annotate_layout({x: T.Fragment((32, 4), lambda i, j: (i, j // 2))})
            T.copy(A, x)
            T.copy(x, A)

    with pytest.raises(TilegenError, match=r"x\[0, 0\] and x\[0, 1\] both get register 0 of thread 0"):
        planned(kernel)
