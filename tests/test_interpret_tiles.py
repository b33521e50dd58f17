"""The NumPy meaning of the tile operations but T.Parallel, on IR written by hand."""

import ml_dtypes
import numpy as np
import pytest
from irbuild import (I, PLACE, buffer, expr, floats, kernel, op, outputs, parallel, refused, region, serial,
                     when, whole, zeros)
from tilegen import ir
from tilegen.dtypes import bfloat16, float16, float32, int8, int32, int64


# ---- Tile operations -----------------------------------------------------------------------------
def test_copy_converts_and_fills_what_is_outside_with_zero():
    source, out = buffer("source", (5, 7)), buffer("out", (8, 8), float16)
    tile = buffer("tile", (8, 8), bfloat16, "shared")
    values = floats(5, 7)
    program = kernel([source, out], ir.Alloc(tile), ir.Copy(region(source, (-1, 2), (8, 8)), whole(tile)),
                     ir.Copy(whole(tile), whole(out)))
    result = outputs(program, values, np.full((8, 8), 9, "float16"))[1]
    expected = np.zeros((8, 8), ml_dtypes.bfloat16)
    expected[1:6, :5] = values[:, 2:]
    np.testing.assert_array_equal(result, expected.astype("float16"))


def test_copy_drops_what_is_written_outside():
    out, tile = buffer("out", (5, 7)), buffer("tile", (4, 4), scope="fragment")
    program = kernel([out], ir.Alloc(tile), ir.Fill(whole(tile), expr(3.0)),
                     ir.Copy(whole(tile), region(out, (3, -2), (4, 4))))
    expected = zeros(5, 7)
    expected[3:, :2] = 3
    np.testing.assert_array_equal(outputs(program, zeros(5, 7)), expected)


def test_copy_completely_outside():
    source, tile = buffer("source", (4,)), buffer("tile", (4,), scope="shared")
    program = kernel([source], ir.Alloc(tile), ir.Copy(region(source, 9, 4), whole(tile)),
                     ir.Copy(whole(tile), region(source, -4, 4)), ir.Copy(whole(tile), region(source, 1, 4)))
    assert outputs(program, np.ones(4, "float32")).tolist() == [1, 0, 0, 0]


def test_copy_drops_extents_of_one():
    source, out = buffer("source", (3, 4)), buffer("out", (4, 1))
    program = kernel([source, out], ir.Copy(region(source, (1, 0), (1, 4)), whole(out)))
    result = outputs(program, floats(3, 4), zeros(4, 1))
    np.testing.assert_array_equal(result[1][:, 0], result[0][1])
    wrong = kernel([source, out], ir.Copy(region(source, (0, 0), (2, 2)), whole(out)))
    assert "(2, 2) and (4, 1)" in refused("TG0101", wrong, floats(3, 4), zeros(4, 1)).message


def test_copy_within_a_buffer_reads_first():
    out = buffer("out", (6,))
    program = kernel([out], ir.Copy(region(out, 0, 5), region(out, 1, 5)))
    assert outputs(program, np.arange(6, dtype="float32")).tolist() == [0, 0, 1, 2, 3, 4]


def test_regions_of_chip_memory_are_checked():
    tile, out = buffer("tile", (4, 4), scope="shared"), buffer("out", (4, 4))
    box = ir.Region(tile, (expr(2), expr(0)), (expr(4), expr(4)), loc=PLACE)
    for statement in (ir.Copy(box, whole(out)), ir.Copy(whole(out), box), ir.Fill(box, expr(0.0))):
        error = refused("TG0105", kernel([out], ir.Alloc(tile), statement), floats(4, 4))
        assert error.loc is PLACE and "tile[5, 0]" in error.message


@pytest.mark.parametrize("transpose_a", [False, True])
@pytest.mark.parametrize("transpose_b", [False, True])
@pytest.mark.parametrize("clear", [False, True])
def test_gemm(transpose_a, transpose_b, clear):
    a, b = floats(5, 3), floats(3, 4, seed=1)
    arrays = (a.T.copy() if transpose_a else a, b.T.copy() if transpose_b else b, np.ones((5, 4), "float32"))
    x, y, z = (buffer(n, v.shape) for n, v in zip("xyz", arrays))
    program = kernel([x, y, z], ir.Gemm(whole(x), whole(y), whole(z), transpose_a, transpose_b, clear))
    np.testing.assert_allclose(outputs(program, *arrays)[2], a @ b + (not clear), rtol=1e-6)


def test_gemm_accumulates_in_the_type_of_c():
    a, b, c = buffer("a", (1, 64), float16), buffer("b", (64, 1), float16), buffer("c", (1, 1))
    program = kernel([a, b, c], ir.Gemm(whole(a), whole(b), whole(c), clear=True))
    result = outputs(program, np.full((1, 64), 300, "float16"), np.full((64, 1), 300, "float16"),
                     zeros(1, 1))
    assert result[2][0, 0] == 64 * 90000                     # beyond float16
    half = buffer("c", (1, 1), float16)
    program = kernel([a, b, half], ir.Gemm(whole(a), whole(b), whole(half), clear=True))
    assert outputs(program, np.full((1, 64), 1, "float16"), np.full((64, 1), 1 / 3, "float16"),
                   zeros(1, 1, dtype="float16"))[2][0, 0] == np.float16(64 * np.float32(np.float16(1 / 3)))


@pytest.mark.parametrize("dtype", [int8, int32])
def test_gemm_of_integers_wraps_in_int32(dtype):
    top = np.iinfo(dtype.numpy).max
    a, b, c = buffer("a", (1, 4), dtype), buffer("b", (4, 1), dtype), buffer("c", (1, 1), int32)
    program = kernel([a, b, c], ir.Gemm(whole(a), whole(b), whole(c)))
    start = 2 ** 31 - 1
    result = outputs(program, np.full((1, 4), top, dtype.numpy), np.full((4, 1), top, dtype.numpy),
                     np.full((1, 1), start, "int32"))[2][0, 0]
    assert result == (4 * top * top + start + 2 ** 31) % 2 ** 32 - 2 ** 31


def test_gemm_of_a_slice_of_a_stack():
    a, b, c = buffer("a", (2, 4, 3)), buffer("b", (3, 1, 5)), buffer("c", (4, 5))
    program = kernel([a, b, c], ir.Gemm(region(a, (1, 0, 0), (1, 4, 3)), whole(b), whole(c), clear=True))
    x, y = floats(2, 4, 3), floats(3, 1, 5)
    np.testing.assert_allclose(outputs(program, x, y, zeros(4, 5))[2], x[1] @ y[:, 0], rtol=1e-6)
    one = region(a, (1, 2, 0), (1, 1, 3)), whole(b), region(c, (3, 0), (1, 5))
    row = kernel([a, b, c], ir.Gemm(*one, clear=True))
    np.testing.assert_allclose(outputs(row, x, y, zeros(4, 5))[2][3], x[1, 2] @ y[:, 0], rtol=1e-6)


def test_gemm_refuses_sizes_that_do_not_fit():
    a, b, c = buffer("a", (4, 3)), buffer("b", (4, 5)), buffer("c", (4, 5))
    program = kernel([a, b, c], ir.Gemm(whole(a), whole(b), whole(c)))
    refused("TG0104", program, floats(4, 3), floats(4, 5), floats(4, 5))


_ROWS = {"sum": lambda x: x.sum(1), "max": lambda x: x.max(1), "min": lambda x: x.min(1),
         "absmax": lambda x: abs(x).max(1), "abssum": lambda x: abs(x).sum(1)}
_COMBINED = {"sum": np.add, "max": np.maximum, "min": np.minimum, "absmax": np.maximum, "abssum": np.add}


@pytest.mark.parametrize("name", sorted(_ROWS))
@pytest.mark.parametrize("clear", [True, False])
@pytest.mark.parametrize("dim", [0, 1, -1])
def test_reduce(name, clear, dim):
    values = floats(6, 9) if dim else floats(9, 6)
    old = floats(6, seed=2)
    source, target = buffer("source", values.shape), buffer("target", (6,))
    program = kernel([source, target], ir.Reduce(name, whole(source), whole(target), dim, clear))
    expected = _ROWS[name](values if dim else values.T)
    expected = expected if clear else _COMBINED[name](old, expected)
    np.testing.assert_allclose(outputs(program, values, old.copy())[1], expected, rtol=1e-5)


def test_reduce_accumulates_in_the_type_of_the_result():
    source, target = buffer("source", (1, 300), float16), buffer("target", (1, 1))
    program = kernel([source, target], ir.Reduce("sum", whole(source), whole(target), 1))
    assert outputs(program, np.full((1, 300), 1000, "float16"), zeros(1, 1))[1][0, 0] == 300000
    source, target = buffer("source", (1, 4), int8), buffer("target", (1,), int32)
    program = kernel([source, target], ir.Reduce("absmax", whole(source), whole(target), 1))
    assert outputs(program, np.array([[-128, 1, 2, 3]], "int8"), zeros(1, dtype="int32"))[1][0] == 128


def test_reduce_refuses_another_shape():
    source, target = buffer("source", (4, 3)), buffer("target", (3,))
    program = kernel([source, target], ir.Reduce("sum", whole(source), whole(target), 1))
    refused("TG0101", program, floats(4, 3), floats(3))


@pytest.mark.parametrize("dtype", [int32, float32, float16, bfloat16, int64])
def test_atomics_reach_one_element_from_many_iterations(dtype):
    for name, result in (("add", [12, 15, 18, 100]), ("max", [100, 100, 100, 100]), ("min", [0, 1, 2, 100])):
        out = buffer("out", (4,), dtype)
        atomic = ir.Atomic(name, out, (op("%", I, 3),), ir.Cast(I, dtype))
        start = np.array([0, 0, 0, 100] if name == "add" else [100] * 4, dtype.numpy)
        assert outputs(kernel([out], parallel(I, 9, atomic)), start.copy()).astype(int).tolist() == (
            [9, 12, 15, 100] if name == "add" else result)
        assert outputs(kernel([out], serial(I, 0, 9, atomic)), start.copy()).astype(int).tolist() == (
            [9, 12, 15, 100] if name == "add" else result)


def test_atomics_outside_of_a_global_tensor_are_dropped():
    out = buffer("out", (2,), int32)
    program = kernel([out], parallel(I, 4, when(op("!=", I, 0), ir.Atomic("add", out, (I,), expr(5)))))
    assert outputs(program, zeros(2, dtype="int32")).tolist() == [0, 5]
