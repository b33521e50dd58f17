"""The NumPy meaning of expressions and math functions, on IR written by hand."""

import math

import numpy as np
import pytest
from irbuild import (I, PLACE, buffer, call, expr, kernel, load, op, outputs, parallel, refused, store,
                     whole, zeros)
from tilegen import ir
from tilegen.dtypes import (DTYPES, bfloat16, bool_, float8_e4m3, float8_e5m2, float16, float32, float64,
                            int8, int32, int64, uint8, uint32)
from tilegen.interpret import MATH


def value_of(node, dtype=None):
    """The value of one expression, through a store to a global tensor."""
    out = buffer("out", (1,), dtype or node.dtype)
    return outputs(kernel([out], store(out, 0, node)), np.zeros(1, out.dtype.numpy))[0]


# ---- Expressions ---------------------------------------------------------------------------------
@pytest.mark.parametrize("name, a, b, result", [
    ("+", 3, 4, 7), ("-", 3, 4, -1), ("*", 3, -4, -12), ("min", 3, -4, -4), ("max", 3, -4, 3),
    ("//", -7, 2, -4), ("%", -7, 2, 1), ("//", 7, -2, -4), ("%", 7, -2, -1),
    ("trunc//", -7, 2, -3), ("trunc%", -7, 2, -1), ("trunc//", 7, -2, -3), ("trunc%", 7, -2, 1),
    ("trunc//", 8, 2, 4), ("/", -7, 2, -3),
    ("&", 12, 10, 8), ("|", 12, 10, 14), ("^", 12, 10, 6), ("<<", 3, 4, 48), (">>", -16, 2, -4),
    ("+", 2 ** 31 - 1, 1, -2 ** 31), ("*", 2 ** 16, 2 ** 16, 0),
])
def test_integer_operators(name, a, b, result):
    assert value_of(op(name, a, b)) == result


@pytest.mark.parametrize("name, result", [
    ("<", [True, False, False]), ("<=", [True, True, False]), (">", [False, False, True]),
    (">=", [False, True, True]), ("==", [False, True, False]), ("!=", [True, False, True])])
def test_comparisons(name, result):
    assert [value_of(op(name, a, 2)) for a in (1, 2, 3)] == result


def test_a_comparison_of_mixed_types_meets_in_the_wider_one():
    assert value_of(op("<", 1, 1.5)) and not value_of(op("<", ir.const(-1, int32), ir.const(1, uint32)))


def test_logical_operators():
    for a in (True, False):
        for b in (True, False):
            assert value_of(op("and", a, b)) == (a and b) and value_of(op("or", a, b)) == (a or b)
        assert value_of(ir.UnOp("not", expr(a), bool_)) == (not a)


def test_unary_operators():
    assert value_of(ir.UnOp("-", expr(5))) == -5 and value_of(ir.UnOp("~", expr(5))) == -6
    assert value_of(ir.UnOp("not", expr(0), bool_)) and value_of(ir.UnOp("not", expr(7), bool_)) == 0


def test_declared_integer_width_wraps():
    assert value_of(op("+", ir.const(127, int8), ir.const(1, int8), int8)) == -128
    assert value_of(op("*", ir.const(200, uint8), ir.const(2, uint8), uint8)) == 144
    assert value_of(op("+", ir.const(127, int8), ir.const(1, int8))) == 128        # promoted to int32


def test_float_division():
    assert value_of(op("/", 7.0, 2.0)) == 3.5 and value_of(op("/", -1.0, 4.0)) == -0.25


def test_float_division_by_zero_is_infinite():
    assert value_of(op("/", 1.0, 0.0)) == math.inf and math.isnan(value_of(op("/", 0.0, 0.0)))


def test_integer_division_by_zero_is_an_error():
    for name in ("//", "%", "trunc//", "trunc%"):
        node = ir.BinOp(name, expr(1), op("-", 1, 1), loc=PLACE)
        out = buffer("out", (1,), int32)
        error = refused("TG0113", kernel([out], store(out, 0, node)), zeros(1, dtype="int32"))
        assert error.loc is PLACE


def test_the_number_wins_against_nan_in_min_and_max():
    for name in ("min", "max"):
        assert value_of(op(name, math.nan, 1.0)) == value_of(op(name, 1.0, math.nan)) == 1.0
        assert math.isnan(value_of(op(name, math.nan, math.nan)))


@pytest.mark.parametrize("dtype", [float16, bfloat16])
def test_small_floats_round_once(dtype):
    one, tiny = ir.const(1.0, dtype), ir.const(2.0 ** -8 if dtype is bfloat16 else 2.0 ** -11, dtype)
    twice = op("+", op("+", one, tiny), tiny)
    assert value_of(twice, dtype) == 1 + 2 * tiny.value        # lost if rounded after each step
    assert value_of(op("+", one, tiny), dtype) == 1
    assert value_of(op("+", ir.Cast(op("+", one, tiny), dtype), tiny), dtype) == 1


@pytest.mark.parametrize("source, dtype, result", [
    (ir.const(2.9), int32, 2), (ir.const(-2.9), int32, -2), (ir.const(300), int8, 44),
    (ir.const(-1), uint8, 255),
    (ir.const(2.0), bool_, True), (ir.const(0.0), bool_, False), (ir.const(3), float16, 3.0),
    (ir.const(2 ** 24 + 1), float32, 2.0 ** 24), (ir.const(1 + 2.0 ** -8), bfloat16, 1.0),
    (ir.const(1 + 3 * 2.0 ** -8), bfloat16, 1 + 2.0 ** -6), (ir.const(70000.0), float16, math.inf),
    (ir.const(448.0), float8_e4m3, 448.0), (ir.const(1e6), float8_e5m2, math.inf),
    (ir.const(7), float8_e4m3, 7.0), (ir.const(2 ** 24 + 1), float64, 2.0 ** 24 + 1),
])
def test_casts(source, dtype, result):
    assert value_of(ir.Cast(source, dtype)) == dtype.numpy.type(result)


@pytest.mark.parametrize("source", DTYPES.values(), ids=str)
def test_casts_between_all_types_keep_small_numbers(source):
    for target in DTYPES.values():
        for number in (0, 1, 3):
            expected = bool(number) if bool_ in (source, target) else number
            value = ir.Const(bool(number) if source == bool_ else number, source)
            assert float(value_of(ir.Cast(value, target))) == float(expected), (source, target, number)


def test_float8_e4m3_overflow_is_nan():
    assert math.isnan(float(value_of(ir.Cast(ir.const(1000.0), float8_e4m3))))


def test_select_evaluates_only_the_chosen_side():
    tile, out = buffer("tile", (4,), scope="fragment"), buffer("out", (6,))
    guarded = ir.Select(op("<", I, 4), load(tile, I), expr(-1.0), float32)
    result = outputs(kernel([out], ir.Alloc(tile), ir.Fill(whole(tile), expr(2.0)),
                            parallel(I, 6, store(out, I, guarded))), zeros(6))
    assert result.tolist() == [2, 2, 2, 2, -1, -1]
    division = ir.Select(op("==", 0, 0), expr(5), op("//", 1, 0), int32)
    assert value_of(division) == 5


def test_and_or_stop_early():
    tile, out = buffer("tile", (4,), scope="shared"), buffer("out", (6,), bool_)
    for node, result in ((op("and", op("<", I, 4), op(">", load(tile, I), 1.0)), [True] * 4 + [False] * 2),
                         (op("or", op(">=", I, 4), op(">", load(tile, I), 1.0)), [True] * 6)):
        program = kernel([out], ir.Alloc(tile), ir.Fill(whole(tile), expr(2.0)),
                         parallel(I, 6, store(out, I, node)))
        assert outputs(program, zeros(6, dtype="bool")).tolist() == result
    assert value_of(op("and", op("<", 1, 0), op("==", op("//", 1, 0), 1))) == 0


# ---- Math functions ------------------------------------------------------------------------------
def _reference(name):
    special = {"asin": math.asin, "acos": math.acos, "atan": math.atan, "exp10": lambda x: 10 ** x,
               "rsqrt": lambda x: x ** -0.5, "sigmoid": lambda x: 1 / (1 + math.exp(-x)),
               "round": lambda x: math.copysign(math.floor(abs(x) + 0.5), x),
               "nearbyint": lambda x: float(round(x)),
               "abs": abs, "ceildiv": lambda a, b: -(-a // b),
               "popcount": lambda x: bin(x & (2 ** 32 - 1)).count("1"),
               "philox": lambda *_: 0x6627E8D5,
               "clz": lambda x: 32 - (x & (2 ** 32 - 1)).bit_length()}
    return special.get(name) or getattr(math, name)


_UNIT = (0.25, 0.5, 0.9)                                 # inside every domain below
_SPECIAL = (math.nan, math.inf, 1.0)
_POINTS = {name: _UNIT for name in MATH} | {
    "acosh": (1.0, 1.5, 9.0), "floor": (-1.5, 2.5, 3.0), "ceil": (-1.5, 2.5, 3.0), "trunc": (-1.5, 2.5, -0.2),
    "round": (-1.5, 2.5, 0.5, -0.5, 0.49999997, 3.4), "nearbyint": (-1.5, 2.5, 0.5, 3.4),
    "abs": (-2.5, 0.0, 3.0), "isnan": _SPECIAL, "isinf": _SPECIAL, "isfinite": _SPECIAL,
    "erf": (-3.0, -0.5, 0.0, 0.1, 2.0), "sin": (-3.0, 0.0, 100.0), "exp": (-80.0, 0.0, 1.0, 80.0),
    "atan2": ((1.0, -2.0), (-1.0, 2.0)), "copysign": ((2.0, -0.0), (-2.0, 1.0)),
    "pow": ((2.0, 0.5), (0.5, -3.0), (9.0, 0.0)), "fmod": ((7.5, 2.0), (-7.5, 2.0)), "hypot": ((3.0, 4.0),),
    "ceildiv": ((7, 2), (8, 2), (-7, 2), (0, 3)), "popcount": (0, 1, 255, -1), "clz": (0, 1, -1, 1 << 30),
    "philox": ((0, 0, 0),)}


@pytest.mark.parametrize("name", sorted(MATH))
@pytest.mark.parametrize("dtype", [float32, float64])
def test_math_functions(name, dtype):
    for point in _POINTS[name]:
        values = point if isinstance(point, tuple) else (point,)
        own = int32 if isinstance(values[0], int) else dtype
        values = [own.numpy.type(v).item() for v in values]
        result = value_of(call(name, *(ir.const(v, own) for v in values),
                               dtype=bool_ if name.startswith("is") else None))
        tolerance = 1e-14 if dtype is float64 else 1e-6
        assert result == pytest.approx(_reference(name)(*values), nan_ok=True, rel=tolerance), (name, values)


def test_bit_functions_use_the_width_of_their_argument():
    assert value_of(call("clz", ir.const(1, int64), dtype=int32)) == 63
    assert value_of(call("popcount", ir.const(-1, int64), dtype=int32)) == 64
    assert value_of(call("clz", ir.const(1, uint8), dtype=int32)) == 7


def test_infinity():
    assert value_of(ir.UnOp("-", ir.Call("infinity", (), float16), float16)) == -math.inf


def test_pow_of_integers():
    assert value_of(call("pow", 3, 4)) == 81 and value_of(call("pow", 2, -1)) == 0


def test_math_of_half_precision_is_computed_in_float32():
    x = ir.const(0.1, float16)
    product = op("*", call("exp", x, dtype=float16), ir.const(1024.0, float16))
    assert value_of(product, float32) == np.float32(np.exp(np.float32(np.float16(0.1)))) * np.float32(1024)


def test_unknown_functions_are_refused():
    out = buffer("out", (1,))
    unknown = ir.Call("shfl_xor", (expr(1.0),), float32, loc=PLACE)
    error = refused("TG0204", kernel([out], store(out, 0, unknown)), zeros(1))
    assert error.loc is PLACE and "shfl_xor" in error.message
