"""Arithmetic on IR expressions: value, range, and the few rewrites that keep emitted indices short.

Nothing here proves anything about symbols: knobs are numbers, sizes are ranges, and what cannot be
decided that way is guarded in the emitted code.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Mapping
from dataclasses import replace

from tilegen import ir
from tilegen.dtypes import DType, bool_, float32, int32, promote
from tilegen.errors import Loc

Number = int | float | bool
Range = tuple[float, float]              # inclusive; -inf and inf where unbounded
UNBOUNDED: Range = (-math.inf, math.inf)

_COMPARISONS = {"==": operator.eq, "!=": operator.ne, "<": operator.lt, "<=": operator.le,
                ">": operator.gt, ">=": operator.ge}


def _floordiv(a: Number, b: Number) -> Number:
    return a // b


def _truncdiv(a: int, b: int) -> int:
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


_OPERATIONS = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv, "//": _floordiv,
    "%": operator.mod, "min": min, "max": max, "&": operator.and_, "|": operator.or_, "^": operator.xor,
    "<<": operator.lshift, ">>": operator.rshift, "and": lambda a, b: bool(a and b),
    "or": lambda a, b: bool(a or b), "trunc//": _truncdiv, "trunc%": lambda a, b: a - b * _truncdiv(a, b),
    **_COMPARISONS,
}


def evaluate(expr: ir.Expr, env: Mapping[str, Number] = {}) -> Number | None:
    """The value of a scalar expression, or None where it depends on a name that `env` lacks."""
    match expr:
        case ir.Const():
            return expr.value
        case ir.Var():
            return env.get(expr.name)
        case ir.BinOp():
            a, b = evaluate(expr.a, env), evaluate(expr.b, env)
            if a is None or b is None or (expr.op in ("//", "%", "/", "trunc//", "trunc%") and b == 0):
                return None
            return _OPERATIONS[expr.op](a, b)
        case ir.UnOp():
            a = evaluate(expr.a, env)
            return None if a is None else {"-": operator.neg, "not": operator.not_, "~": operator.invert}[expr.op](a)
        case ir.Call(name="ceildiv"):
            a, b = (evaluate(x, env) for x in expr.args)
            return None if a is None or not b else -(-a // b)
        case ir.Select():
            condition = evaluate(expr.condition, env)
            return None if condition is None else evaluate(expr.a if condition else expr.b, env)
        case ir.Cast():
            a = evaluate(expr.a, env)
            return a if a is None or expr.dtype.is_float else int(a)
    return None


# ---- Ranges --------------------------------------------------------------------------------------
def bounds(expr: ir.Expr, env: Mapping[str, Range] = {}) -> Range:
    """The least and greatest value of an integer expression; `env` gives the ranges of names."""
    match expr:
        case ir.Const():
            return (expr.value, expr.value)
        case ir.Var():
            return env.get(expr.name, (0, math.inf) if expr.kind in _NATURAL else UNBOUNDED)
        case ir.BinOp():
            return _bounds_of(expr.op, bounds(expr.a, env), bounds(expr.b, env))
        case ir.UnOp(op="-"):
            low, high = bounds(expr.a, env)
            return (-high, -low)
        case ir.Call(name="ceildiv"):
            (low, high), (b_low, b_high) = (bounds(x, env) for x in expr.args)
            if b_low <= 0:
                return UNBOUNDED
            return (_ceil(low, b_high if low >= 0 else b_low), _ceil(high, b_low if high >= 0 else b_high))
        case ir.Call(name=name) if name.startswith("device:"):       # a coordinate of a tile
            return (0, math.inf)
        case ir.Select():
            (a, b), (c, d) = bounds(expr.a, env), bounds(expr.b, env)
            return (min(a, c), max(b, d))
    return UNBOUNDED


_NATURAL = ("size", "block", "thread", "knob")


def _ceil(a: float, b: float) -> float:
    if math.isinf(a):
        return a
    return 0 if math.isinf(b) and a <= 0 else 1 if math.isinf(b) else -(-a // b)


def _bounds_of(op: str, a: Range, b: Range) -> Range:
    if op == "+":
        return (a[0] + b[0], a[1] + b[1])
    if op == "-":
        return (a[0] - b[1], a[1] - b[0])
    if op == "*":
        products = [_times(x, y) for x in a for y in b]
        return (min(products), max(products))
    if op in ("//", "%", "trunc//", "trunc%") and b[0] == 0 and b[1] > 0:
        b = (1, b[1])                                       # nothing is divided by zero
    if op in ("//", "trunc//") and b[0] > 0:
        divide = _floor if op == "//" else _truncate
        return (divide(a[0], b[0] if a[0] < 0 else b[1]), divide(a[1], b[0] if a[1] >= 0 else b[1]))
    if op in ("%", "trunc%") and b[0] > 0 and (op == "%" or a[0] >= 0):
        return a if 0 <= a[0] and a[1] < b[0] else (0, min(b[1] - 1, a[1] if a[0] >= 0 else math.inf))
    if op == "min":
        return (min(a[0], b[0]), min(a[1], b[1]))
    if op == "max":
        return (max(a[0], b[0]), max(a[1], b[1]))
    if op in _COMPARISONS or op in ("and", "or"):
        return (0, 1)
    if op == "&" and max(a[0], b[0]) >= 0:                       # bits of a number that is not negative
        return (0, min(high for low, high in (a, b) if low >= 0))
    return UNBOUNDED


def _times(x: float, y: float) -> float:
    return 0 if x == 0 or y == 0 else x * y


def _floor(a: float, b: float) -> float:
    if math.isinf(a):
        return a
    return (0 if a >= 0 else -1) if math.isinf(b) else a // b


def _truncate(a: float, b: float) -> float:
    return _floor(a, b) if a >= 0 else -_floor(-a, b)


def multiple_of(expr: ir.Expr, env, steps: dict[str, int] = {}) -> int:
    """A number that divides the expression for all values of its unknown names (0 for zero itself).
    `steps[name]` divides every value of a name."""
    value = evaluate(expr, env)
    if value is not None:
        return value
    match expr:
        case ir.BinOp(op="+" | "-", a=a, b=b):
            return math.gcd(multiple_of(a, env, steps), multiple_of(b, env, steps))
        case ir.BinOp(op="*", a=a, b=b):
            return multiple_of(a, env, steps) * multiple_of(b, env, steps)
        case ir.BinOp(op="//", a=a, b=b):
            whole, part = multiple_of(a, env, steps), evaluate(b, env)
            return whole // part if part and whole % part == 0 else 1
        case ir.Var(name=name):
            return steps.get(name, 1)
    return 1


# ---- Builders that fold --------------------------------------------------------------------------
def binary(op: str, a: ir.Expr, b: ir.Expr, loc: Loc | None = None) -> ir.Expr:
    """`a op b` with its dtype, folded."""
    compared = op in _COMPARISONS or op in ("and", "or")
    dtype: DType = bool_ if compared else promote(a.dtype, b.dtype)
    return fold_one(ir.BinOp(op, a, b, dtype, loc=loc))


def add(a: ir.Expr, b: ir.Expr | int) -> ir.Expr:
    return binary("+", a, _expr(b))


def subtract(a: ir.Expr, b: ir.Expr | int) -> ir.Expr:
    return binary("-", a, _expr(b))


def multiply(a: ir.Expr, b: ir.Expr | int) -> ir.Expr:
    return binary("*", a, _expr(b))


def divide(a: ir.Expr, b: ir.Expr | int) -> ir.Expr:
    """Floor division."""
    return binary("//", a, _expr(b))


def modulo(a: ir.Expr, b: ir.Expr | int) -> ir.Expr:
    return binary("%", a, _expr(b))


def ceildiv(a: ir.Expr, b: ir.Expr | int) -> ir.Expr:
    return fold_one(ir.Call("ceildiv", (a, _expr(b)), a.dtype))


def less(a: ir.Expr, b: ir.Expr | int) -> ir.Expr:
    return binary("<", a, _expr(b))


def both(a: ir.Expr | None, b: ir.Expr | None) -> ir.Expr | None:
    """`a and b`, where None stands for a condition that always holds."""
    return b if a is None else a if b is None else binary("and", a, b)


def product(factors) -> ir.Expr:
    result: ir.Expr = ir.Const(1)
    for factor in factors:
        result = multiply(result, factor)
    return result


def _expr(value: ir.Expr | int) -> ir.Expr:
    return value if isinstance(value, ir.Expr) else ir.Const(value)


# ---- Folding -------------------------------------------------------------------------------------
def fold(node):
    """`node` (or a tuple of nodes) with constants folded and neutral elements dropped; knobs and sizes
    keep their names."""
    return ir.rewrite(node, lambda n: fold_one(n) if isinstance(n, ir.Expr) else None)


def fold_one(expr: ir.Expr) -> ir.Expr:
    """The rules, applied to one node whose parts are folded already."""
    match expr:
        case ir.BinOp(a=ir.Const(value=x), b=ir.Const(value=y)) if not (expr.op == "/" and expr.dtype.is_integer):
            value = evaluate(expr)
            if value is not None:
                return ir.Const(value, expr.dtype, loc=expr.loc)
        case ir.UnOp(op="-", a=ir.Const(value=x)):
            return ir.Const(-x, expr.dtype, loc=expr.loc)
        case ir.UnOp(op="not", a=ir.Const(value=x)):
            return ir.Const(not x, bool_, loc=expr.loc)
        case ir.Call(name="ceildiv", args=(ir.Const(), ir.Const())):
            return ir.Const(evaluate(expr), expr.dtype, loc=expr.loc)
        case ir.Call(name="ceildiv", args=(a, ir.Const(value=1))):
            return a
        case ir.Select(condition=ir.Const(value=c)):
            return expr.a if c else expr.b
        case ir.Cast(a=a) if a.dtype == expr.dtype:
            return a
    if not isinstance(expr, ir.BinOp) or not expr.dtype.is_integer:
        return _logic(expr)
    short = _neutral(expr)
    return short if short.dtype == expr.dtype else expr      # a narrower operand would change the arithmetic


def _neutral(e: ir.BinOp) -> ir.Expr:
    a, b = e.a, e.b
    x = a.value if isinstance(a, ir.Const) else None
    y = b.value if isinstance(b, ir.Const) else None
    match e.op, x, y:
        case "+", 0, _:
            return b
        case ("+" | "-" | "<<" | ">>"), _, 0:
            return a
        case "*", 1, _:
            return b
        case ("*" | "//" | "trunc//"), _, 1:
            return a
        case "*", 0, _:
            return a
        case "*", _, 0:
            return b
        case ("%" | "trunc%"), _, 1:
            return ir.Const(0, e.dtype)
        case ("//" | "%"), 0, _:
            return a
    if e.op == "-" and a == b:
        return ir.Const(0, e.dtype)
    if e.op == "+" and isinstance(b, ir.BinOp) and b.op == "-" and b.b == a:       # x + (y - x) = y
        return b.a
    if e.op == "-" and isinstance(a, ir.BinOp) and a.op == "+" and b in (a.a, a.b):  # (x + y) - x = y
        return a.b if b == a.a else a.a
    if y is not None and e.op in ("+", "-") and isinstance(a, ir.BinOp) and a.op in ("+", "-") \
            and isinstance(a.b, ir.Const):
        total = (a.b.value if a.op == "+" else -a.b.value) + (y if e.op == "+" else -y)
        return _neutral(replace(a, op="+" if total >= 0 else "-", b=ir.Const(abs(total), a.b.dtype)))
    return e


def _logic(e: ir.Expr) -> ir.Expr:
    match e:
        case ir.BinOp(op="and", a=ir.Const(value=x), b=b):
            return b if x else ir.Const(False, bool_)
        case ir.BinOp(op="and", a=a, b=ir.Const(value=y)):
            return a if y else ir.Const(False, bool_)
        case ir.BinOp(op="or", a=ir.Const(value=x), b=b):
            return ir.Const(True, bool_) if x else b
        case ir.BinOp(op="or", a=a, b=ir.Const(value=y)):
            return ir.Const(True, bool_) if y else a
    return e


def assignable(value: ir.Expr, dtype: DType) -> ir.Expr:
    """`value` as C++ can assign it to a `dtype`: one small float becomes another through float."""
    meet = value.dtype.is_small_float and dtype.is_small_float and value.dtype != dtype
    return ir.Cast(value, float32) if meet else value


def names(node) -> set[str]:
    """The names of all variables inside."""
    return {n.name for n in ir.walk(node) if isinstance(n, ir.Var)}


def integer(value: int) -> ir.Const:
    return ir.Const(value, int32)
