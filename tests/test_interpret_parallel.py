"""T.Parallel in the interpreter: lanes, masks, private memory, and iterations that clash."""

import math

import numpy as np
import pytest
from irbuild import (BX, I, J, PLACE, buffer, expr, floats, kernel, load, op, outputs, parallel, refused,
                     serial, store, when, whole, zeros)
from tilegen import ir
from tilegen.dtypes import bool_, float32, int32


# ---- T.Parallel ----------------------------------------------------------------------------------
def test_parallel_with_transposed_shifted_and_broadcast_operands():
    a, row, out = buffer("a", (5, 4)), buffer("row", (4,)), buffer("out", (4, 6))
    value = op("+", load(a, J, I), op("*", load(row, I), load(row, 0)))
    x, y = floats(5, 4), floats(4)
    result = outputs(kernel([a, row, out], parallel((I, J), (4, 5), store(out, (I, op("+", 1, J)), value))),
                     x, y, zeros(4, 6))[2]
    np.testing.assert_allclose(result[:, 1:], x.T + (y * y[0])[:, None], rtol=1e-6)
    assert not result[:, 0].any()


ROW_INDICES = [I, op("+", I, 1), op("-", I, 1), op("+", 1, I), BX, op("+", BX, I), op("+", I, BX), expr(2)]
COLUMN_INDICES = [J, op("+", J, 2), op("-", J, 2), op("+", 2, J), BX, op("+", BX, J),
                  op("+", op("+", J, BX), -1)]
OTHER_INDICES = [op("+", I, J), op("-", I, J), op("-", 2, J), op("-", 3, I), op("*", I, 2), op("//", J, 2)]


@pytest.mark.parametrize("row", ROW_INDICES + COLUMN_INDICES + OTHER_INDICES)
def test_every_form_of_index_reads_what_a_serial_loop_reads(row):
    source, out = buffer("source", (4, 5)), buffer("out", (2, 3, 4))
    for column in ROW_INDICES + COLUMN_INDICES + OTHER_INDICES:
        body = store(out, (BX, I, J), load(source, row, column))
        lanes = kernel([source, out], parallel((I, J), (3, 4), body), grid=(2,))
        serially = kernel([source, out], serial(I, 0, 3, serial(J, 0, 4, body)), grid=(2,))
        found, expected = (outputs(p, floats(4, 5), zeros(2, 3, 4))[1] for p in (lanes, serially))
        np.testing.assert_array_equal(found, expected, str((row, column)))


@pytest.mark.parametrize("row", ROW_INDICES)
def test_every_form_of_index_writes_what_a_serial_loop_writes(row):
    out = buffer("out", (4, 5), int32)
    for column in COLUMN_INDICES:
        variables, extents = ((I, J), (3, 4)) if J in set(ir.walk(column)) else ((I,), (3,))
        if I not in set(ir.walk(row)):
            variables, extents = variables[1:], extents[1:]
        for indices in ((row, column), (column, row)):
            body = store(out, indices, sum_of(variables))
            for condition in (None, op("!=", sum_of(variables), 2)):
                inner = body if condition is None else when(condition, body)
                lanes, serially = (parallel(variables, extents, inner) if variables else inner), inner
                for variable, extent in reversed(list(zip(variables, extents))):
                    serially = serial(variable, 0, extent, serially)
                found, expected = (outputs(kernel([out], p, grid=(2,)), zeros(4, 5, dtype="int32"))
                                   for p in (lanes, serially))
                np.testing.assert_array_equal(found, expected, str(indices))


def sum_of(variables):
    """10 * i + j + 1, over the variables that there are."""
    total = expr(1)
    for variable in variables:
        total = op("+", op("*", total, 10), variable)
    return total


def test_parallel_with_the_same_variable_twice():
    a, out = buffer("a", (4, 4)), buffer("out", (4, 4))
    program = kernel([a, out], parallel(I, 4, store(out, (I, op("-", 3, I)), load(a, I, I))))
    x = floats(4, 4)
    np.testing.assert_array_equal(outputs(program, x, zeros(4, 4))[1], np.diag(np.diag(x))[:, ::-1])


def test_parallel_swaps_through_a_transposed_view():
    a = buffer("a", (4, 4))
    tile = buffer("tile", (4, 4), scope="shared")
    program = kernel([a], ir.Alloc(tile), parallel((I, J), (4, 4), store(tile, (J, I), load(a, I, J))),
                     parallel((I, J), (4, 4), store(a, (I, J), load(tile, I, J))))
    x = floats(4, 4)
    np.testing.assert_array_equal(outputs(program, x.copy()), x.T)


def test_parallel_under_a_condition():
    out = buffer("out", (6, 6), int32)
    body = when(op("<", I, J), store(out, (I, J), 1), otherwise=[when(op("==", I, J), store(out, (I, J), 2))])
    result = outputs(kernel([out], parallel((I, J), (6, 6), body)), zeros(6, 6, dtype="int32"))
    np.testing.assert_array_equal(result, np.triu(np.ones((6, 6)), 1) + 2 * np.eye(6))


def test_a_condition_is_taken_before_the_body_changes_it():
    flag = buffer("flag", (4,), bool_)
    body = when(load(flag, I), store(flag, I, ir.const(False)), store(flag, I, ir.const(True)),
                otherwise=[store(flag, I, ir.const(True))])
    program = kernel([flag], parallel(I, 4, body))
    assert outputs(program, np.array([1, 0, 1, 0], "bool")).tolist() == [True] * 4


def test_parallel_with_serial_loops_inside():
    a, out = buffer("a", (5, 7)), buffer("out", (5,))
    total = buffer("total", (), scope="var")
    added = store(total, (), op("+", load(total), load(a, I, J)))
    body = ir.Alloc(total, expr(0.0)), serial(J, 0, 7, added), store(out, I, load(total))
    x = floats(5, 7)
    np.testing.assert_allclose(outputs(kernel([a, out], parallel(I, 5, *body)), x, zeros(5))[1],
                               x.sum(1), rtol=1e-5)


def test_loops_of_different_lengths_in_one_parallel():
    out = buffer("out", (5,), int32)
    count = op("+", load(out, I), 1)
    program = kernel([out], parallel(I, 5, serial(J, 0, I, store(out, I, count))))
    assert outputs(program, zeros(5, dtype="int32")).tolist() == [0, 1, 2, 3, 4]
    added = store(out, I, op("+", load(out, I), J))
    backwards = kernel([out], parallel(I, 5, serial(J, I, -1, added, step=-2)))
    assert outputs(backwards, zeros(5, dtype="int32")).tolist() == [0, 1, 2, 4, 6]


def test_break_and_continue_of_single_iterations():
    out = buffer("out", (4,), int32)
    body = serial(J, 0, 10, when(op("==", op("%", J, 2), 1), ir.Continue()),
                  when(op(">", J, op("*", I, 2)), ir.Break()), store(out, I, op("+", load(out, I), J)))
    expected = [sum(j for j in range(10) if j % 2 == 0 and j <= 2 * i) for i in range(4)]
    assert outputs(kernel([out], parallel(I, 4, body)), zeros(4, dtype="int32")).tolist() == expected
    assert outputs(kernel([out], serial(I, 0, 4, body)), zeros(4, dtype="int32")).tolist() == expected


def test_while_loops_of_single_iterations():
    out, x = buffer("out", (5,), int32), buffer("x", (), int32, "var")
    body = (ir.Alloc(x, I), ir.While(op(">", load(x), 1), (
        store(out, I, op("+", load(out, I), 1)), when(op("==", load(x), 3), ir.Break()),
        store(x, (), op("-", load(x), 1)))))
    for loops in (parallel(I, 5, *body), serial(I, 0, 5, *body)):
        assert outputs(kernel([out], loops), zeros(5, dtype="int32")).tolist() == [0, 0, 1, 1, 2]


def test_nested_parallel_loops():
    a, out = buffer("a", (3,)), buffer("out", (3, 4))
    row = ir.Var("row", float32)
    inner = parallel(J, 4, store(out, (I, J), op("+", row, ir.Cast(J, float32))))
    program = kernel([a, out], parallel(I, 3, ir.Let(row, op("*", load(a, I), 2.0)), inner))
    x = floats(3)
    expected = x[:, None] * 2 + np.arange(4, dtype="float32")
    np.testing.assert_array_equal(outputs(program, x, zeros(3, 4))[1], expected)


def test_local_buffers_belong_to_one_iteration():
    out, local = buffer("out", (4,)), buffer("local", (2,), scope="local")
    half = op("+", load(local, op("%", I, 2)), load(local, 0))
    inside = parallel(I, 4, ir.Alloc(local),
                      serial(J, 0, 2, store(local, J, ir.Cast(op("+", I, J), float32))), store(out, I, half))
    outside = (ir.Alloc(local), parallel(I, 4, *inside.body[1:]))
    for body in ((inside,), outside):
        assert outputs(kernel([out], *body), zeros(4)).tolist() == [0, 3, 4, 7]


def test_local_buffers_in_nested_parallel_loops():
    x, out = buffer("x", (), int32, "var"), buffer("out", (3, 4), int32)
    inner = parallel(J, 4, store(x, (), op("+", load(x), J)), store(out, (I, J), load(x)))
    program = kernel([out], parallel(I, 3, ir.Alloc(x, op("*", I, 10)), inner))
    expected = [[10 * i + j for j in range(4)] for i in range(3)]
    assert outputs(program, zeros(3, 4, dtype="int32")).tolist() == expected


def test_local_memory_written_in_parallel_has_no_value_after_it():
    out, x = buffer("out", (1,)), buffer("x", (), scope="var")
    program = kernel([out], ir.Alloc(x, expr(1.0)), parallel(I, 4, store(x, (), 2.0)), store(out, 0, load(x)))
    assert math.isnan(outputs(program, zeros(1))[0])
    program = kernel([out], ir.Alloc(x, expr(1.0)), parallel(I, 1, store(out, 0, load(x))))
    assert outputs(program, zeros(1))[0] == 1


def test_iterations_that_write_different_values_are_refused():
    out = buffer("out", (4,))
    clash = ir.Store(out, (op("//", I, 2),), ir.Cast(I, float32), loc=PLACE)
    error = refused("TG0114", kernel([out], parallel(I, 4, clash)), zeros(4))
    assert error.loc is PLACE and "out[0]" in error.message
    row = store(out, I, op("+", load(out, I), ir.Cast(J, float32)))
    refused("TG0114", kernel([out], parallel((I, J), (4, 3), row)), zeros(4))
    undefined = ir.Select(op("==", I, 0), expr(1.0), expr(math.nan), float32)
    refused("TG0114", kernel([out], parallel(I, 4, store(out, op("//", I, 2), undefined))), zeros(4))
    outputs(kernel([out], parallel(I, 4, store(out, op("//", I, 2), math.nan))), zeros(4))
    same = store(out, op("//", I, 2), 5.0)
    assert outputs(kernel([out], parallel(I, 4, same)), zeros(4)).tolist() == [5, 5, 0, 0]


def test_parallel_over_nothing():
    out = buffer("out", (4,))
    assert not outputs(kernel([out], parallel((I, J), (4, 0), store(out, I, 1.0))), zeros(4)).any()


def test_tile_operations_inside_of_parallel_are_refused():
    out = buffer("out", (4,))
    refused("TG0006", kernel([out], parallel(I, 4, ir.Fill(whole(out), expr(0.0), loc=PLACE))), zeros(4))
