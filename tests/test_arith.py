"""Value, range and folding of expressions, checked by enumerating small values."""

import itertools
import math

import pytest
from irbuild import call, expr, op
from tilegen import arith, ir
from tilegen.dtypes import bool_, float32, int32, int64

X, Y = ir.Var("x"), ir.Var("y")
VALUES = range(-4, 5)
ENVIRONMENTS = [{"x": x, "y": y} for x in VALUES for y in VALUES]
ARITHMETIC = ["+", "-", "*", "//", "%", "trunc//", "trunc%", "min", "max"]
BITS = ["&", "|", "^"]
COMPARISONS = ["==", "!=", "<", "<=", ">", ">="]
LEAVES = [X, Y, *map(expr, (-3, -1, 0, 1, 2, 4))]

EXACT = {"+": lambda a, b: a + b, "-": lambda a, b: a - b, "*": lambda a, b: a * b,
         "//": lambda a, b: math.floor(a / b), "%": lambda a, b: a - b * math.floor(a / b),
         "trunc//": lambda a, b: math.trunc(a / b), "trunc%": lambda a, b: a - b * math.trunc(a / b),
         "min": min, "max": max, "&": lambda a, b: a & b, "|": lambda a, b: a | b, "^": lambda a, b: a ^ b,
         "==": lambda a, b: a == b, "!=": lambda a, b: a != b, "<": lambda a, b: a < b,
         "<=": lambda a, b: a <= b, ">": lambda a, b: a > b, ">=": lambda a, b: a >= b}


def exact(node, env):
    """The value by an independent walk; None where a divisor is zero."""
    match node:
        case ir.Const(value=value):
            return value
        case ir.Var(name=name):
            return env[name]
        case ir.Call(args=(a, b)):
            a, b = exact(a, env), exact(b, env)
            return None if a is None or not b else math.ceil(a / b)
        case ir.Select(condition=condition, a=a, b=b):
            chosen = exact(condition, env)
            return None if chosen is None else exact(a if chosen else b, env)
        case ir.UnOp(op=name, a=a):
            a = exact(a, env)
            return None if a is None else -a if name == "-" else not a if name == "not" else ~a
    a, b = exact(node.a, env), exact(node.b, env)
    if node.op in ("and", "or"):
        return None if None in (a, b) else bool(a and b) if node.op == "and" else bool(a or b)
    if None in (a, b) or node.op in ("//", "%", "trunc//", "trunc%") and b == 0:
        return None
    return EXACT[node.op](a, b)


def pairs(name, leaves=LEAVES):
    return [op(name, a, b) for a, b in itertools.product(leaves, leaves)]


def nested(outer, inner):
    small = [X, Y, expr(-3), expr(0), expr(1), expr(4)]
    for node in pairs(inner, small):
        for leaf in small:
            yield op(outer, node, leaf)
            yield op(outer, leaf, node)


def check_fold(node, environments=ENVIRONMENTS):
    folded = arith.fold(node)
    assert folded.dtype == node.dtype, (node, folded)
    for env in environments:
        expected = exact(node, env)
        if expected is not None:
            assert exact(folded, env) == expected, (node, folded, env)


# ---- evaluate ------------------------------------------------------------------------------------
@pytest.mark.parametrize("name", ARITHMETIC + BITS + COMPARISONS)
def test_evaluate_gives_the_value(name):
    for node in pairs(name):
        for env in ENVIRONMENTS:
            assert arith.evaluate(node, env) == exact(node, env), (node, env)


def test_evaluate_other_nodes():
    test = op("<", X, Y)
    for env in ENVIRONMENTS:
        x, y = env["x"], env["y"]
        negative = op("<", X, 0)
        for node in (call("ceildiv", X, Y), ir.UnOp("-", X), ir.UnOp("~", X), ir.UnOp("not", test, bool_),
                     ir.Select(test, X, Y, int32), op("and", test, negative), op("or", test, negative)):
            assert arith.evaluate(node, env) == exact(node, env), (node, env)
        assert arith.evaluate(ir.Cast(op("*", X, 0.5), int32), env) == math.trunc(x * 0.5)
        assert arith.evaluate(op("<<", X, 2), env) == x * 4 and arith.evaluate(op(">>", Y, 1), env) == y // 2


def test_evaluate_needs_every_name():
    assert arith.evaluate(op("+", X, Y), {"x": 1}) is None
    assert arith.evaluate(ir.Load(ir.Buffer("a", (expr(4),), int32, "shared"), (X,)), {"x": 1}) is None
    assert arith.evaluate(expr(3)) == 3


def test_evaluate_does_not_divide_by_zero():
    for name in ("//", "%", "/", "trunc//", "trunc%"):
        assert arith.evaluate(op(name, 1, 0)) is None
    assert arith.evaluate(call("ceildiv", 1, 0)) is None


# ---- bounds --------------------------------------------------------------------------------------
RANGES = [(low, high) for low in (-4, -2, 0, 1, 3) for high in (-3, 0, 2, 3, 4) if low <= high]


def values_in(node, ranges):
    names = sorted(ranges)
    boxes = [range(ranges[n][0], ranges[n][1] + 1) for n in names]
    values = [exact(node, dict(zip(names, point))) for point in itertools.product(*boxes)]
    return [v for v in values if v is not None]


@pytest.mark.parametrize("name", ARITHMETIC + BITS + COMPARISONS)
def test_bounds_hold_for_every_value(name):
    for x, y in itertools.product(RANGES, RANGES):
        ranges = {"x": x, "y": y}
        low, high = arith.bounds(op(name, X, Y), ranges)
        for value in values_in(op(name, X, Y), ranges):
            assert low <= value <= high, (name, ranges, (low, high), value)


def test_bounds_of_other_nodes_hold():
    choice = ir.Select(op("<", X, 0), Y, op("+", X, 1), int32)
    for x, y in itertools.product(RANGES, RANGES):
        ranges = {"x": x, "y": y}
        for node in (call("ceildiv", X, Y), ir.UnOp("-", X), ir.UnOp("~", X), choice,
                     op("+", op("*", X, 4), op("%", Y, 4)), op("and", op("<", X, 1), op("<", Y, 1))):
            low, high = arith.bounds(node, ranges)
            assert all(low <= v <= high for v in values_in(node, ranges)), (node, ranges, (low, high))


@pytest.mark.parametrize("name", ["+", "-", "*", "min", "max"])
def test_bounds_are_reached(name):
    for x, y in itertools.product(RANGES, RANGES):
        ranges = {"x": x, "y": y}
        values = values_in(op(name, X, Y), ranges)
        assert arith.bounds(op(name, X, Y), ranges) == (min(values), max(values)), (name, ranges)


@pytest.mark.parametrize("divisor", [1, 2, 3, 8])
def test_bounds_of_divisions_by_constants_are_reached(divisor):
    for low, high in RANGES:
        for node in (op("//", X, divisor), call("ceildiv", X, divisor)):
            values = values_in(node, {"x": (low, high)})
            assert arith.bounds(node, {"x": (low, high)}) == (min(values), max(values)), (node, low, high)


def test_bounds_of_a_remainder_that_does_nothing():
    assert arith.bounds(op("%", X, 8), {"x": (2, 7)}) == (2, 7)
    assert arith.bounds(op("%", X, 8), {"x": (2, 8)}) == (0, 7)


def test_bounds_without_a_range():
    size, loop = ir.Var("M", kind="size"), ir.Var("i", kind="loop")
    assert arith.bounds(size) == (0, math.inf) and arith.bounds(loop) == (-math.inf, math.inf)
    assert arith.bounds(op("+", size, 1)) == (1, math.inf)
    assert arith.bounds(op("*", size, 0)) == (0, 0)
    assert arith.bounds(op("-", 3, size)) == (-math.inf, 3)
    assert arith.bounds(op("min", size, 4)) == (0, 4)
    assert arith.bounds(op("//", size, 4)) == (0, math.inf)
    assert arith.bounds(op("%", size, 4)) == (0, 3)
    assert arith.bounds(call("ceildiv", size, 4)) == (0, math.inf)
    assert arith.bounds(op("%", loop, 4)) == (0, 3)
    for node in (op("//", loop, size), op("%", loop, size), op("//", 5, size), call("ceildiv", 5, size)):
        low, high = arith.bounds(node)
        for env in ({"M": m, "i": i} for m in (1, 2, 7) for i in (-9, 0, 9)):
            assert low <= exact(node, env) <= high, (node, env)


# ---- fold ----------------------------------------------------------------------------------------
@pytest.mark.parametrize("name", ARITHMETIC + BITS + COMPARISONS)
def test_fold_keeps_the_value(name):
    for node in pairs(name):
        check_fold(node)


@pytest.mark.parametrize("outer", ARITHMETIC)
@pytest.mark.parametrize("inner", ARITHMETIC)
def test_fold_keeps_the_value_of_two_operators(outer, inner):
    for node in nested(outer, inner):
        check_fold(node, ENVIRONMENTS[::4])


def test_fold_keeps_the_value_of_three_sums():
    small = [X, Y, expr(-1), expr(3)]
    for names in itertools.product("+-", repeat=3):
        for a, b, c, d in itertools.product(small, repeat=4):
            check_fold(op(names[2], op(names[1], op(names[0], a, b), c), d))
            check_fold(op(names[1], op(names[0], a, b), op(names[2], c, d)))


def test_fold_keeps_the_value_of_other_nodes():
    conditions = [op("<", X, Y), ir.const(True), ir.const(False)]
    for a, b in itertools.product(conditions, repeat=2):
        for node in (op("and", a, b), op("or", a, b), ir.UnOp("not", a, bool_), ir.Select(a, X, Y, int32)):
            check_fold(node)
    for a, b in itertools.product(LEAVES, repeat=2):
        check_fold(call("ceildiv", a, b))
    for a in LEAVES:
        check_fold(ir.UnOp("-", a))
        check_fold(ir.UnOp("~", a))


def test_fold_keeps_the_dtype_of_mixed_widths():
    wide = ir.Var("x", int64)
    for name in ARITHMETIC:
        for constant in (0, 1, 2):
            check_fold(op(name, wide, constant))
            check_fold(op(name, constant, wide))
            check_fold(op(name, Y, ir.const(constant, int64)))
            check_fold(op(name, ir.const(constant, int64), Y))


def test_fold_does_not_touch_floats():
    x = ir.Var("x", float32)
    for name in ("+", "-", "*", "/", "min", "max"):
        for a, b in ((x, expr(0.0)), (expr(0.0), x), (x, x), (x, expr(1.0)), (expr(1.0), x)):
            node = op(name, a, b)
            assert arith.fold(node) == node, node         # x * 0 is NaN for NaN, -0 + 0 is not -0


@pytest.mark.parametrize("node, result", [
    (op("+", X, 0), X), (op("+", 0, X), X), (op("-", X, 0), X), (op("*", X, 1), X), (op("*", 1, X), X),
    (op("*", X, 0), expr(0)), (op("//", X, 1), X), (op("%", X, 1), expr(0)), (op("-", X, X), expr(0)),
    (op("+", X, op("-", Y, X)), Y), (op("-", op("+", X, Y), X), Y), (op("-", op("+", X, Y), Y), X),
    (op("+", op("+", X, 3), 4), op("+", X, 7)), (op("-", op("+", X, 3), 3), X),
    (call("ceildiv", 32, 8), expr(4)), (call("ceildiv", X, 1), X), (op("*", op("+", 2, 3), X), op("*", 5, X)),
    (ir.Cast(X, int32), X), (ir.Select(op("<", 1, 2), X, Y, int32), X),
    (op("and", op("<", 1, 2), op("<", X, Y)), op("<", X, Y)),
    (op("or", op("<", X, Y), op("<", 1, 2)), expr(True)),
])
def test_fold_shortens(node, result):
    assert arith.fold(node) == result


def test_fold_keeps_names_of_knobs():
    block = ir.Var("BK", kind="knob")
    node = op("//", ir.Var("K", kind="knob"), block)
    assert arith.fold(node) is node


def test_fold_reaches_inside_of_statements():
    buffer = ir.Buffer("a", (expr(4),), int32, "shared")
    folded = arith.fold(ir.Store(buffer, (op("+", X, 0),), op("*", 2, 3)))
    assert folded == ir.Store(buffer, (X,), expr(6))


# ---- Builders ------------------------------------------------------------------------------------
def test_builders_fold():
    assert arith.add(X, 0) is X and arith.subtract(X, X) == expr(0) and arith.multiply(X, 1) is X
    assert arith.divide(expr(7), 2) == expr(3) and arith.modulo(expr(7), 4) == expr(3)
    assert arith.ceildiv(expr(7), 2) == expr(4) and arith.less(X, 3) == op("<", X, 3)
    assert arith.product([X, expr(1), Y]) == op("*", X, Y) and arith.product([]) == expr(1)
    assert arith.both(None, X) is X and arith.both(X, None) is X and arith.both(None, None) is None
    assert arith.both(op("<", X, 1), op("<", Y, 1)) == op("and", op("<", X, 1), op("<", Y, 1))


def test_names():
    assert arith.names(op("+", X, call("ceildiv", Y, 4))) == {"x", "y"} and arith.names(expr(3)) == set()
