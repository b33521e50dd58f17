"""Memory, plain statements and launching in the interpreter, on IR written by hand."""

import math

import numpy as np
import pytest
from irbuild import (BX, BY, I, J, K, PLACE, buffer, call, expr, floats, kernel, load, op, outputs, parallel,
                     refused, serial, store, when, whole, zeros)
from tilegen import ir
from tilegen.dtypes import bool_, float32, int32
from tilegen.errors import TilegenError
from tilegen.interpret import run


# ---- Loads and stores ----------------------------------------------------------------------------
def test_outside_of_a_global_tensor_reads_are_zero_and_writes_are_dropped():
    source, out = buffer("source", (4,)), buffer("out", (4,))
    moved = parallel(I, 8, store(out, op("-", I, 2), op("+", load(source, op("-", I, 4)), 1.0)))
    one_by_one = serial(I, 0, 8, store(out, op("-", I, 2), op("+", load(source, op("-", I, 4)), 1.0)))
    read = load(source, op("*", op("-", I, 4), 1))
    gathered = parallel(I, 8, store(out, op("*", op("-", I, 2), 1), op("+", read, 1.0)))
    for body in (moved, one_by_one, gathered):
        result = outputs(kernel([source, out], body), np.arange(4, dtype="float32") + 5, zeros(4))
        assert result[1].tolist() == [1, 1, 6, 7]


@pytest.mark.parametrize("n", [0, 1, 2])
def test_gathers_from_small_tensors(n):
    source, out = buffer("source", (n,)), buffer("out", (4,))
    program = kernel([source, out], parallel(I, 4, store(out, I, load(source, op("*", op("-", I, 1), 1)))))
    result = outputs(program, np.arange(n, dtype="float32") + 5, zeros(4))[1]
    assert result.tolist() == {0: [0, 0, 0, 0], 1: [0, 5, 0, 0], 2: [0, 5, 6, 0]}[n]


@pytest.mark.parametrize("scope", ["shared", "fragment", "local"])
@pytest.mark.parametrize("index", [op("+", I, 1), op("*", op("+", I, 1), 1), op("-", I, 1)])
def test_outside_of_chip_memory_is_an_error(scope, index):
    tile, out = buffer("tile", (4,), scope=scope), buffer("out", (4,))
    read = ir.Load(tile, (index,), loc=PLACE)
    for loops in (lambda *body: parallel(I, 4, *body), lambda *body: serial(I, 0, 4, *body)):
        error = refused("TG0105", kernel([out], ir.Alloc(tile), loops(store(out, I, read))), zeros(4))
        assert error.loc is PLACE and ("tile[4]" in error.message or "tile[-1]" in error.message)
        write = ir.Store(tile, (index,), expr(0.0), loc=PLACE)
        assert refused("TG0105", kernel([out], ir.Alloc(tile), loops(write)), zeros(4)).loc is PLACE


def test_the_error_names_the_block():
    tile, out = buffer("tile", (4,), scope="shared"), buffer("out", (4,))
    program = kernel([out], ir.Alloc(tile), store(tile, op("+", BX, op("*", BY, 3)), 0.0), grid=(2, 3))
    message = refused("TG0105", program, zeros(4)).message
    assert "tile[4]" in message and "block (1, 1)" in message


def test_fresh_memory_is_poisoned():
    out = buffer("out", (2,))
    for scope in ("shared", "fragment", "local", "var"):
        tile = buffer("tile", () if scope == "var" else (2,), scope=scope)
        program = kernel([out], ir.Alloc(tile), store(out, 0, load(tile, *([] if scope == "var" else [1]))))
        assert math.isnan(outputs(program, zeros(2))[0])
    numbers, whole_numbers = buffer("numbers", (2,), int32), buffer("tile", (2,), int32, "fragment")
    program = kernel([numbers], ir.Alloc(whole_numbers), store(numbers, 0, load(whole_numbers, 1)))
    assert outputs(program, zeros(2, dtype="int32"))[0] == 0x7b7b7b7b


def test_an_allocation_in_a_loop_is_fresh_in_every_iteration():
    tile, out = buffer("tile", (1,), scope="shared"), buffer("out", (2,))
    body = serial(I, 0, 2, ir.Alloc(tile), when(op("==", I, 0), store(tile, 0, 3.0)),
                  store(out, I, load(tile, 0)))
    result = outputs(kernel([out], body), zeros(2))
    assert result[0] == 3 and math.isnan(result[1])


def test_a_buffer_has_to_be_allocated_first():
    tile, out = buffer("tile", (1,), scope="shared"), buffer("out", (2,))
    refused("TG0112", kernel([out], store(tile, 0, 1.0)), zeros(2))
    refused("TG0112", kernel([out], store(out, 0, ir.Var("x", float32))), zeros(2))


def test_a_var_starts_with_its_initial_value():
    count, out = buffer("count", (), int32, "var"), buffer("out", (1,), int32)
    program = kernel([out], ir.Alloc(count, expr(40)), store(count, (), op("+", load(count), 2)),
                     store(out, 0, load(count)))
    assert outputs(program, zeros(1, dtype="int32"))[0] == 42


def test_let_keeps_its_value_when_the_buffer_changes():
    out = buffer("out", (4,))
    x = ir.Var("x", float32)
    for loops in (lambda *body: parallel(I, 4, *body), lambda *body: serial(I, 0, 4, *body)):
        body = ir.Let(x, load(out, I)), store(out, I, 0.0), store(out, I, op("+", x, 1.0))
        program = kernel([out], loops(*body))
        assert outputs(program, np.arange(4, dtype="float32")).tolist() == [1, 2, 3, 4]


# ---- Plain statements ----------------------------------------------------------------------------
@pytest.mark.parametrize("kind", ["serial", "unrolled", "vectorized", "pipelined", "persistent"])
def test_for_loops_are_serial_in_meaning(kind):
    out = buffer("out", (8,), int32)
    body = store(out, op("+", K, 1), op("+", load(out, K), K))
    program = kernel([out], serial(K, 0, 7, body, kind=kind))
    assert outputs(program, zeros(8, dtype="int32")).tolist() == [0, 0, 1, 3, 6, 10, 15, 21]


def test_loop_steps():
    out = buffer("out", (8,), int32)
    for start, stop, step in ((1, 8, 3), (7, 0, -2), (3, 3, 1), (5, 2, 1)):
        program = kernel([out], serial(K, start, stop, store(out, K, 1), step=step))
        result = outputs(program, zeros(8, dtype="int32"))
        assert np.flatnonzero(result).tolist() == sorted(range(start, stop, step))
    zero = ir.For("serial", K, expr(0), expr(4), ir.Const(0, loc=PLACE), ())
    assert refused("TG0111", kernel([out], zero), zeros(8, dtype="int32")).loc is PLACE


def test_break_leaves_only_the_inner_loop():
    out = buffer("out", (3, 3), int32)
    inner = serial(J, 0, 3, when(op(">", J, I), ir.Break()), store(out, (I, J), 1))
    result = outputs(kernel([out], serial(I, 0, 3, inner)), zeros(3, 3, dtype="int32"))
    np.testing.assert_array_equal(result, np.tril(np.ones((3, 3))))


def test_blocks_see_their_indices():
    out = buffer("out", (2, 3), int32)
    program = kernel([out], store(out, (BY, BX), op("+", BX, op("*", 10, BY))), grid=(3, 2))
    assert outputs(program, zeros(2, 3, dtype="int32")).tolist() == [[0, 1, 2], [10, 11, 12]]


def test_print(capsys):
    tile, out = buffer("tile", (2,), scope="fragment"), buffer("out", (1,))
    x = ir.Var("x", float32)
    run(kernel([out], ir.Alloc(tile), ir.Fill(whole(tile), expr(1.5)), ir.Let(x, expr(0.5)),
               ir.Print("x is {}, {}", (x, whole(tile))), ir.Print("no values"),
               parallel(I, 3, when(op("!=", I, 1), ir.Print("i = {}", (I,))))), {"out": zeros(1)})
    assert capsys.readouterr().out == "x is 0.5, [1.5 1.5]\nno values\ni = 0\ni = 2\n"


def test_device_assert():
    out = buffer("out", (1,))
    small = op("<", I, 2)
    good = kernel([out], parallel(I, 4, when(small, ir.Assert(small))), ir.Assert(op("<", 1, 2)))
    outputs(good, zeros(1))
    bad = kernel([out], parallel(I, 4, ir.Assert(op("<", I, 2), "i is small", loc=PLACE)))
    error = refused("TG0414", bad, zeros(1))
    assert error.loc is PLACE and "i is small" in error.message and "(2,)" in error.message


def test_what_only_a_device_has_is_refused():
    out = buffer("out", (1,))
    thread = ir.Var("tx", int32, "thread", loc=PLACE)
    error = refused("TG0204", kernel([out], store(out, thread, 0.0)), zeros(1))
    assert error.loc is PLACE and "T.Parallel" in error.hint
    assert refused("TG0204", kernel([out], ir.Raw("asm;", loc=PLACE)), zeros(1)).loc is PLACE


def test_sync_and_plans_change_nothing():
    out = buffer("out", (1,))
    program = kernel([out], ir.Sync("why", plan="a plan"), ir.Fill(whole(out), expr(2.0), plan="another"))
    assert outputs(program, zeros(1))[0] == 2


# ---- Launching -----------------------------------------------------------------------------------
SIZE = ir.Var("M", int32, "size")


def dynamic():
    a, b = buffer("a", (SIZE,)), buffer("b", (op("*", SIZE, 2),))
    body = parallel(I, 4, store(b, op("+", op("*", BX, 4), I), load(a, op("+", op("*", BX, 4), I))))
    return kernel([a, b], body, grid=(call("ceildiv", SIZE, 4),), sizes=(SIZE,))


@pytest.mark.parametrize("n", [0, 1, 4, 7])
def test_sizes_follow_from_the_arrays(n):
    x = floats(n)
    result = outputs(dynamic(), x, np.full(2 * n, 9, "float32"))[1]
    np.testing.assert_array_equal(result[:n], x)
    assert all(v == (0 if k < -(-n // 4) * 4 else 9) for k, v in enumerate(result.tolist()) if k >= n)


def test_sizes_can_be_given():
    out = buffer("out", (1,), int32)
    program = kernel([out], store(out, 0, SIZE), sizes=(SIZE,))
    array = zeros(1, dtype="int32")
    run(program, {"out": array}, {"M": 42})
    assert array[0] == 42
    assert "M" in refused("TG0401", program, array).message
    with pytest.raises(TilegenError, match="no size N"):
        run(program, {"out": array}, {"M": 1, "N": 2})


def test_scalars_and_knobs():
    out, scale = buffer("out", (2,)), ir.Var("scale", float32, "scalar")
    block = ir.Var("BLOCK", int32, "knob")
    program = kernel([out], parallel(I, block, store(out, I, scale)), scalars=(scale,),
                     knobs=(ir.Knob("BLOCK", 2),))
    assert outputs(program, zeros(2), scale=0.1).tolist() == [np.float32(0.1)] * 2


def test_required_conditions():
    condition = ir.BinOp("==", op("%", SIZE, 2), expr(0), bool_, loc=PLACE)
    out = buffer("out", (SIZE,))
    program = kernel([out], ir.Fill(whole(out), expr(1.0)), sizes=(SIZE,), requires=(condition,))
    assert outputs(program, zeros(2)).all()
    assert refused("TG0409", program, zeros(3)).loc is PLACE


@pytest.mark.parametrize("code, arrays, more", [
    ("TG0401", (floats(2),), {}), ("TG0401", (floats(2), floats(4)), {"c": 1}),
    ("TG0402", (floats(2).astype("float64"), floats(4)), {}), ("TG0403", (floats(2, 1), floats(4)), {}),
    ("TG0403", (floats(2), floats(5)), {}), ("TG0407", ([1.0, 2.0], floats(4)), {}),
])
def test_wrong_arguments(code, arrays, more):
    with pytest.raises(TilegenError) as caught:
        run(dynamic(), dict(zip("ab", arrays)) | more)
    assert caught.value.code == code


def test_a_read_only_output_is_refused():
    array = zeros(4)
    array.flags.writeable = False
    refused("TG0410", dynamic(), floats(2), array)


def test_strided_arrays_are_written_through():
    base = zeros(4, 2)
    outputs(dynamic(), floats(2), base[:, 1])
    assert base[:2, 1].all() and not base[:, 0].any()


def test_the_arguments_that_are_only_read_stay_as_they_were():
    x = floats(7)
    before = x.copy()
    outputs(dynamic(), x, zeros(14))
    np.testing.assert_array_equal(x, before)
