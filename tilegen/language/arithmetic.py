"""The typing rules of scalar arithmetic: what `a + b`, `a < b` and their kin build."""

from __future__ import annotations

import math
import operator
from typing import Any

from tilegen import ir
from tilegen.dtypes import DType, bool_, promote
from tilegen.errors import TilegenError
from tilegen.language.builder import current
from tilegen.language.sizes import Size
from tilegen.language.text import describe
from tilegen.language.values import as_condition, as_expr, is_number, is_scalar, literal

COMPARISONS = {"==": operator.eq, "!=": operator.ne, "<": operator.lt, "<=": operator.le,
               ">": operator.gt, ">=": operator.ge}
_NUMBERS = {"+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv,
            "//": operator.floordiv, "%": operator.mod, "**": operator.pow, "&": operator.and_,
            "|": operator.or_, "^": operator.xor, "<<": operator.lshift, ">>": operator.rshift,
            "min": min, "max": max, **COMPARISONS}
_INTEGER_ONLY = ("//", "%", "&", "|", "^", "<<", ">>", "trunc//", "trunc%")


def binary(op: str, a: Any, b: Any) -> Any:
    """`a op b`: a number where both are numbers, else an expression. Literals take the type of the
    other operand; small floats are computed in float32.

    Raises TG0004 for operands that are no scalars, TG0111 for types that the operator does not take.
    """
    if is_number(a) and is_number(b):
        return _of_numbers(op, a, b)
    for operand in (a, b):
        if not is_scalar(operand):
            raise TilegenError("TG0004", f"'{op}' does not take {describe(operand)}", current().loc,
                               _advice(op))
    x, y = _pair(a, b)
    if op == "**":
        return power(x, y)
    if op in COMPARISONS:
        return ir.BinOp(op, x, y, bool_)
    dtype = promote(x.dtype, y.dtype)
    if op == "/" and not dtype.is_float:
        raise TilegenError("TG0111", f"'/' between integers ({x.dtype} and {y.dtype})", current().loc,
                           "use // for the whole quotient, or T.cast one side to float32")
    if op in _INTEGER_ONLY and dtype.is_float:
        raise TilegenError("TG0111", f"'{op}' needs integers, not {x.dtype} and {y.dtype}", current().loc,
                           {"//": "write T.floor(a / b)", "%": "write T.fmod(a, b)"}.get(op, ""))
    if op in ("//", "%", "trunc//", "trunc%") and isinstance(y, ir.Const) and y.value == 0:
        raise TilegenError("TG0113", f"'{op}' by zero", current().loc, "divide by something else")
    if dtype == bool_ and op in ("&", "|", "^"):
        return ir.BinOp({"&": "and", "|": "or", "^": "!="}[op], x, y, bool_)
    return ir.BinOp(op, x, y, dtype)


def _advice(op: str) -> str:
    if op == "@":
        return "write T.gemm(A, B, C)"
    return "elementwise work on tiles goes into a T.Parallel loop"


def _of_numbers(op: str, a, b):
    try:
        if op == "trunc//":
            return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)
        if op == "trunc%":
            return a - b * _of_numbers("trunc//", a, b)
        return _NUMBERS[op](a, b)
    except ZeroDivisionError:
        raise TilegenError("TG0004", f"{a} {op} {b} divides by zero", current().loc) from None
    except TypeError as error:
        raise TilegenError("TG0111", str(error), current().loc) from error


def _pair(a: Any, b: Any) -> tuple[ir.Expr, ir.Expr]:
    """Both operands as expressions; a literal, and a float knob, take the type of the other one."""
    if is_number(a):
        y = as_expr(b)
        return literal(a, y.dtype), y
    if is_number(b):
        x = as_expr(a)
        return x, literal(b, x.dtype)
    x, y = as_expr(a), as_expr(b)
    return _narrowed(x, y.dtype), _narrowed(y, x.dtype)


def _narrowed(x: ir.Expr, other: DType) -> ir.Expr:
    is_float_knob = isinstance(x, ir.Var) and x.kind == "knob" and x.dtype.is_float
    if is_float_knob and other.is_float and x.dtype != other.compute:
        return ir.Cast(x, other.compute)
    return x


def power(x: ir.Expr, y: ir.Expr) -> ir.Expr:
    """`x ** y`; a square of a name or an element is a product."""
    if isinstance(y, ir.Const) and y.value == 2 and isinstance(x, (ir.Var, ir.Load)):
        return binary("*", x, x)
    dtype = promote(x.dtype, y.dtype)
    if not dtype.is_float:
        raise TilegenError("TG0111", f"'**' needs floats, not {x.dtype} and {y.dtype}", current().loc,
                           "write the product, or 1 << n for a power of two")
    return ir.Call("pow", (x, y), dtype)


def negate(a: Any) -> Any:
    """-a: a number, or an expression of the compute dtype."""
    if is_number(a):
        return -a
    _require_scalar("-", a)
    x = as_expr(a)
    return ir.UnOp("-", x, x.dtype.compute)


def invert(a: Any) -> Any:
    """`~a` of an integer, `not a` of a bool."""
    if is_number(a):
        return ~a if not isinstance(a, bool) else not a
    _require_scalar("~", a)
    x = as_expr(a)
    if x.dtype == bool_:
        return ir.UnOp("not", x, bool_)
    if not x.dtype.is_integer:
        raise TilegenError("TG0111", f"'~' needs an integer, not {describe(x)}", current().loc)
    return ir.UnOp("~", x, x.dtype.compute)


def _require_scalar(op: str, a: Any) -> None:
    if not is_scalar(a):
        raise TilegenError("TG0004", f"'{op}' does not take {describe(a)}", current().loc, _advice(op))


def logical(op: str, a: Any, b: Any) -> Any:
    """`a and b`, `a or b`; folded where one side is a Python truth value."""
    for known, other in ((a, b), (b, a)):
        if isinstance(known, bool):
            return other if known == (op == "and") else known
    return ir.BinOp(op, as_condition(a), as_condition(b), bool_)


def select(condition: Any, a: Any, b: Any) -> Any:
    """`a if condition else b`, decided now where the condition is a Python value."""
    if not is_scalar(condition) or isinstance(condition, (bool, int, float)):
        return a if condition else b
    test = as_condition(condition)
    if is_number(a) and is_number(b):
        like = promote(as_expr(a).dtype, as_expr(b).dtype)
        x, y = literal(a, like), literal(b, like)
    else:
        x, y = _pair(a, b)
    dtype = x.dtype if x.dtype == y.dtype else promote(x.dtype, y.dtype)
    return ir.Select(test, x, y, dtype)


def convert(value: Any, dtype: DType) -> ir.Expr:
    """`value` as `dtype`."""
    if isinstance(value, float) and math.isinf(value) and dtype.is_float:
        return literal(value, dtype)
    if is_number(value):
        converted = float(value) if dtype.is_float else bool(value) if dtype == bool_ else int(value)
        return ir.Const(converted, dtype)
    if isinstance(value, Size):
        value = value.expr
    x = as_expr(value)
    return x if x.dtype == dtype else ir.Cast(x, dtype)


def minimum(a: Any, b: Any) -> Any:
    """The lesser of two values, in their common dtype."""
    return binary("min", a, b)


def maximum(a: Any, b: Any) -> Any:
    """The greater of two values, in their common dtype."""
    return binary("max", a, b)
