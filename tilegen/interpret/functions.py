"""The math functions of the language in NumPy: name -> a callable over scalars and arrays.

The arguments come in the dtype that the call computes in. Floats are float32 or float64 here.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy

from tilegen.interpret.philox import philox

_ERF = numpy.frompyfunc(math.erf, 1, 1)


def _erf(x):
    return numpy.asarray(_ERF(x), dtype=x.dtype)[()]


def _exp10(x):
    return numpy.power(x.dtype.type(10), x)


def _rsqrt(x):
    return x.dtype.type(1) / numpy.sqrt(x)


def _sigmoid(x):
    one = x.dtype.type(1)
    return one / (one + numpy.exp(-x))


def _round(x):
    """To the nearest integer, halves away from zero, as C's round does."""
    whole = numpy.trunc(x)
    return whole + numpy.copysign(numpy.abs(x - whole) >= 0.5, x).astype(x.dtype)


def _power(x, y):
    if x.dtype.kind == "f":
        return numpy.power(x, y)
    return numpy.power(x.astype("float64"), y.astype("float64")).astype(x.dtype)


def _ceildiv(a, b):
    return -numpy.floor_divide(-a, b)


def _unsigned(x):
    return x.astype(f"uint{8 * x.dtype.itemsize}")


def _popcount(x):
    return numpy.bitwise_count(_unsigned(x)).astype(x.dtype)


def _clz(x):
    """Leading zero bits in the width of x's dtype."""
    rest = _unsigned(x)
    for shift in (1, 2, 4, 8, 16, 32):
        if shift < 8 * x.dtype.itemsize:
            rest = rest | (rest >> rest.dtype.type(shift))
    return (8 * x.dtype.itemsize - numpy.bitwise_count(rest).astype("int32")).astype(x.dtype)


MATH: dict[str, Callable] = {
    "exp": numpy.exp, "exp2": numpy.exp2, "exp10": _exp10, "log": numpy.log, "log2": numpy.log2,
    "log10": numpy.log10, "log1p": numpy.log1p, "sqrt": numpy.sqrt, "rsqrt": _rsqrt,
    "sin": numpy.sin, "cos": numpy.cos, "tan": numpy.tan, "asin": numpy.arcsin, "acos": numpy.arccos,
    "atan": numpy.arctan, "sinh": numpy.sinh, "cosh": numpy.cosh, "tanh": numpy.tanh,
    "asinh": numpy.arcsinh, "acosh": numpy.arccosh, "atanh": numpy.arctanh, "sigmoid": _sigmoid,
    "atan2": numpy.arctan2, "copysign": numpy.copysign, "erf": _erf, "pow": _power, "fmod": numpy.fmod,
    "hypot": numpy.hypot, "floor": numpy.floor,
    "ceil": numpy.ceil, "round": _round, "trunc": numpy.trunc, "nearbyint": numpy.rint,
    "abs": numpy.abs, "isnan": numpy.isnan, "isinf": numpy.isinf, "isfinite": numpy.isfinite,
    "ceildiv": _ceildiv, "philox": philox, "popcount": _popcount, "clz": _clz,
}

OF_ARGUMENT = {"isnan", "isinf", "isfinite", "popcount", "clz", "philox"}     # computed in the argument's dtype
INTEGER_DIVISIONS = {"ceildiv", "fmod"}     # a zero divisor is a fault when the operands are integers


def truncated_quotient(a, b):
    """a / b rounded towards zero, for integers."""
    return numpy.floor_divide(a - numpy.fmod(a, b), b)


def _divide(a, b):
    return numpy.true_divide(a, b) if a.dtype.kind == "f" else truncated_quotient(a, b)


# min and max of a NaN and a number are the number, as the GPU's instructions have it.
OPERATORS: dict[str, Callable] = {
    "+": numpy.add, "-": numpy.subtract, "*": numpy.multiply, "/": _divide,
    "//": numpy.floor_divide, "%": numpy.mod, "trunc//": truncated_quotient, "trunc%": numpy.fmod,
    "min": numpy.fmin, "max": numpy.fmax, "&": numpy.bitwise_and, "|": numpy.bitwise_or,
    "^": numpy.bitwise_xor, "<<": numpy.left_shift, ">>": numpy.right_shift,
}
COMPARISONS: dict[str, Callable] = {
    "==": numpy.equal, "!=": numpy.not_equal, "<": numpy.less, "<=": numpy.less_equal,
    ">": numpy.greater, ">=": numpy.greater_equal,
}
DIVISIONS = {"//", "%", "trunc//", "trunc%", "/"}
