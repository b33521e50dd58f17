"""Macros: inlined with their own names, their arguments evaluated once, and a chain of places in errors."""

import numpy as np
import pytest
import tilegen.language as T
from tilegen import ir
from tilegen.errors import TilegenError
from tilegen.frontend import parse
from tilegen.interpret import run
from tilegen.printer import show

SCALE = 2.5


@T.macro
def load(src, dst, scale=1.0):
    T.copy(src, dst)
    for i, j in T.Parallel(dst.shape[0], dst.shape[1]):
        dst[i, j] = dst[i, j] * scale * SCALE


@T.macro
def total(tile, rows):
    result = 0
    for r in range(rows):
        result += tile[r, 0]
    return result


@T.macro
def halved(x):
    x = x // 2
    return x


@T.macro
def pair(a, b):
    return b, a


@T.macro
def raise_one(cell, by):
    cell[0] = cell[0] + by


@T.macro
def zeroed(A, i):
    A[i] = 0
    return A[i + 1]


@T.macro
def launched(A, blocks):
    with T.Kernel(blocks, threads=32) as bx:
        A[bx] = 1


@T.macro
def outer(A):
    inner(A)


@T.macro
def inner(A):
    A[0, 0, 0] = 1


def body(function, **values):
    return "\n".join(show(statement) for statement in parse(function, values=values).body).splitlines()


def test_an_element_that_goes_to_a_tile_operation_is_a_place():
    def kernel(A: T.Tensor[("M", "K"), "float16"], BM=32):
        with T.Kernel(4) as bx:
            s = T.alloc_shared((BM, 16), "float16")
            load(A[bx * BM, 0], s, scale=3.0)

    assert body(kernel) == ['s = T.alloc_shared((BM, 16), "float16")',
                            "T.copy(A[bx * BM:bx * BM + BM, :16], s)",
                            "for i, j in T.Parallel(BM, 16):",
                            "    s[i, j] = s[i, j] * 3.0 * SCALE"]
    assert [k.name for k in parse(kernel).knobs] == ["BM", "SCALE"]


def test_names_of_two_calls_are_apart():
    def kernel(A: T.Tensor[("M", 4), "float32"]):
        result = 7
        with T.Kernel(1):
            A[0, 1] = total(A, 2) + total(A, 3) + result

    array = np.arange(12, dtype="float32").reshape(3, 4)
    run(parse(kernel), {"A": array})
    assert array[0, 1] == (0 + 4) + (0 + 4 + 8) + 7


def test_a_parameter_may_be_assigned():
    def kernel(A: T.Tensor[(4,), "int32"]):
        with T.Kernel(1):
            n = 9
            A[0] = halved(n)
            A[1] = n
            A[2] = halved(halved(n + 4))

    array = np.zeros(4, "int32")
    run(parse(kernel), {"A": array})
    assert array.tolist() == [4, 9, 3, 0]


def test_arguments_are_evaluated_once():
    def kernel(A: T.Tensor[(4,), "int32"]):
        with T.Kernel(1):
            x, y = pair(A[0] + 1, A[1])
            A[0] = 100
            A[2], A[3] = x, y

    array = np.array([5, 6, 0, 0], "int32")
    run(parse(kernel), {"A": array})
    assert array.tolist() == [100, 6, 6, 6]


def test_a_declared_variable_is_passed_by_reference():
    def kernel(A: T.Tensor[(4,), "int32"]):
        with T.Kernel(1):
            cell = T.alloc_var("int32", init=1)
            raise_one(cell, 5)
            raise_one(cell, cell)
            A[0] = cell

    array = np.zeros(4, "int32")
    run(parse(kernel), {"A": array})
    assert array[0] == 12


def test_a_macro_may_launch_the_kernel():
    def kernel(A: T.Tensor[("N",), "float32"]):
        launched(A, N)

    parsed = parse(kernel)
    assert show(parsed.grid[0]) == "N" and parsed.threads == (ir.Const(32),)


def test_macros_of_a_factory_use_its_names():
    def factory(rows, columns=8):
        area = rows * columns

        @T.macro
        def mark(A, value):
            rows = 2
            A[0] = rows * area + value

        @T.prim_func
        def kernel(A: T.Tensor((rows,), "int32")):
            with T.Kernel(1):
                mark(A, value=rows)
        return kernel

    parsed = parse(factory(4))
    assert [(k.name, k.value) for k in parsed.knobs] == [("rows", 4), ("columns", 8), ("area", 32)]
    assert [show(s) for s in parsed.body] == ["rows_2: int32 = 2", "A[0] = rows_2 * area + rows"]


def test_the_place_of_an_error_names_all_calls():
    def kernel(A: T.Tensor[("N",), "float32"]):
        with T.Kernel(1):
            outer(A)

    with pytest.raises(TilegenError) as caught:
        parse(kernel)
    lines = []
    place = caught.value.loc
    while place:
        lines.append(place.text().strip())
        place = place.call_site
    assert lines == ["A[0, 0, 0] = 1", "inner(A)", "outer(A)"]
    assert str(caught.value).count("in the macro called at") == 2


def test_a_macro_that_writes_memory_stands_alone():
    def whole(A: T.Tensor[(4,), "float32"]):
        with T.Kernel(1):
            x = zeroed(A, 0)
            A[2] = x

    def inside(A: T.Tensor[(4,), "float32"]):
        with T.Kernel(1):
            A[2] = A[0] + zeroed(A, 0)

    array = np.arange(4, dtype="float32") + 1
    run(parse(whole), {"A": array})
    assert array.tolist() == [0, 2, 2, 4]
    with pytest.raises(TilegenError, match="changes memory in the middle of an expression"):
        parse(inside)


def test_a_condition_of_while_has_no_statements():
    def kernel(A: T.Tensor[(4, 4), "float32"]):
        with T.Kernel(1):
            while total(A, 2) > 0:
                A[0, 0] -= 1

    with pytest.raises(TilegenError, match="in the condition of a loop"):
        parse(kernel)


def test_python_does_not_call_macros_and_kernels():
    for function in (load, T.prim_func(lambda: None)):
        with pytest.raises(TilegenError) as caught:
            function(1)
        assert caught.value.code == "TG0006"
