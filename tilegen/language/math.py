"""The math functions of T: each takes numbers, names and elements, and computes small floats in float32."""

from __future__ import annotations

from typing import Any

from tilegen import arith, ir
from tilegen.dtypes import bool_, float32, int32, lookup, promote, uint32
from tilegen.errors import TilegenError
from tilegen.language.arithmetic import binary, invert, power
from tilegen.language.builder import current, operation
from tilegen.language.text import describe
from tilegen.language.values import as_expr, is_number, is_scalar

def floating(name: str, value: Any, parameter: str = "x") -> ir.Expr:
    """`value` as a float expression. Raises TG0004 for tiles, TG0111 for integers."""
    loc = current().argument(parameter)
    if is_number(value):
        return ir.Const(float(value), float32)
    x = as_expr(value, loc=loc)
    if not x.dtype.is_float:
        raise TilegenError("TG0111", f"T.{name} needs a float, not {describe(x)}", loc,
                           "convert it: T.cast(x, 'float32')")
    return x


def _unary(name: str, text: str, is_test: bool = False):
    def function(x):
        value = floating(name, x)
        return ir.Call(name, (value,), bool_ if is_test else value.dtype.compute)
    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"{text[0].upper()}{text[1:]}. Raises TG0111 for integers."
    return operation("function")(function)


def _binary(name: str, text: str):
    def function(x, y):
        a, b = floating(name, x, "x"), floating(name, y, "y")
        return ir.Call(name, (a, b), promote(a.dtype, b.dtype))
    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"{text[0].upper()}{text[1:]}. Raises TG0111 for integers."
    return operation("function")(function)


exp = _unary("exp", "e to the x")
exp2 = _unary("exp2", "2 to the x")
exp10 = _unary("exp10", "10 to the x")
log = _unary("log", "the natural logarithm")
log2 = _unary("log2", "the logarithm to base 2")
log10 = _unary("log10", "the logarithm to base 10")
log1p = _unary("log1p", "log(1 + x), exact for small x")
sqrt = _unary("sqrt", "the square root")
rsqrt = _unary("rsqrt", "1 / sqrt(x)")
sin = _unary("sin", "the sine")
cos = _unary("cos", "the cosine")
tan = _unary("tan", "the tangent")
asin = _unary("asin", "the inverse sine")
acos = _unary("acos", "the inverse cosine")
atan = _unary("atan", "the inverse tangent")
sinh = _unary("sinh", "the hyperbolic sine")
cosh = _unary("cosh", "the hyperbolic cosine")
tanh = _unary("tanh", "the hyperbolic tangent")
asinh = _unary("asinh", "the inverse hyperbolic sine")
acosh = _unary("acosh", "the inverse hyperbolic cosine")
atanh = _unary("atanh", "the inverse hyperbolic tangent")
erf = _unary("erf", "the error function")
floor = _unary("floor", "the largest whole number <= x")
ceil = _unary("ceil", "the smallest whole number >= x")
round = _unary("round", "the nearest whole number, halves away from zero")
trunc = _unary("trunc", "x without its fraction")
nearbyint = _unary("nearbyint", "the nearest whole number, halves to even")
isnan = _unary("isnan", "whether x is not a number", is_test=True)
isinf = _unary("isinf", "whether x is infinite", is_test=True)
isfinite = _unary("isfinite", "whether x is finite", is_test=True)
fmod = _binary("fmod", "the remainder of x / y, with the sign of x")
hypot = _binary("hypot", "sqrt(x * x + y * y)")
atan2 = _binary("atan2", "the angle of the point (y, x)")
copysign = _binary("copysign", "|x| with the sign of y")


FLOAT_FUNCTIONS = (
    "exp", "exp2", "exp10", "log", "log2", "log10", "log1p", "sqrt", "rsqrt", "sin", "cos", "tan", "asin",
    "acos", "atan", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh", "erf", "floor", "ceil", "round",
    "trunc", "nearbyint", "isnan", "isinf", "isfinite", "fmod", "hypot", "atan2", "copysign",
)


@operation("function")
def pow(x, y):
    """x to the y, for floats; a square becomes a product."""
    if is_number(x) and is_number(y):
        return binary("**", x, y)
    return power(floating("pow", x, "x"), floating("pow", y, "y"))


@operation("function")
def abs(x):
    """The absolute value, of any number type."""
    if is_number(x):
        return -x if x < 0 else x
    value = as_expr(x, loc=current().argument("x"))
    return ir.Call("abs", (value,), value.dtype.compute)


@operation("scalar")
def max(a, b):
    """The larger of two numbers."""
    return binary("max", a, b)


@operation("scalar")
def min(a, b):
    """The smaller of two numbers."""
    return binary("min", a, b)


@operation("scalar")
def clamp(x, low, high):
    """x, not below `low` and not above `high`."""
    return binary("min", binary("max", x, low), high)


def _bits(name: str, x: Any) -> ir.Expr:
    value = as_expr(x, loc=current().argument("x"))
    if not value.dtype.is_integer:
        raise TilegenError("TG0111", f"T.{name} needs an integer, not {describe(value)}",
                           current().argument("x"))
    if value.dtype.bits < 32:                # counted in the bits that it has, not in those of an int32
        value = ir.Cast(value, lookup(f"uint{value.dtype.bits}"))
        surplus = 32 - value.dtype.bits if name == "clz" else 0
        return arith.subtract(ir.Call(name, (ir.Cast(value, uint32),), int32), surplus)
    return ir.Call(name, (value,), int32)


@operation("function")
def popcount(x):
    """The number of bits that are set in an integer."""
    return _bits("popcount", x)


@operation("function")
def clz(x):
    """The number of leading zero bits of an integer."""
    return _bits("clz", x)


@operation("scalar")
def bitwise_and(a, b):
    """a & b."""
    return binary("&", a, b)


@operation("scalar")
def bitwise_or(a, b):
    """a | b."""
    return binary("|", a, b)


@operation("scalar")
def bitwise_xor(a, b):
    """a ^ b."""
    return binary("^", a, b)


@operation("scalar")
def bitwise_not(a):
    """~a."""
    return invert(a)


@operation("scalar")
def shift_left(a, b):
    """a << b."""
    return binary("<<", a, b)


@operation("scalar")
def shift_right(a, b):
    """a >> b; the sign is kept for signed types."""
    return binary(">>", a, b)


def named(value: Any, name: str) -> ir.Expr:
    """`value` as a name or constant, so that a formula may use it several times."""
    if not is_scalar(value):
        return as_expr(value, loc=current().argument("x"))
    x = floating(name, value)
    return x if isinstance(x, (ir.Const, ir.Var)) else current().let(f"{name}_input", x)
