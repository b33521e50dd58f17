"""Activation functions, written with the math functions: T.sigmoid, T.silu, T.gelu, T.softplus, T.relu."""

from __future__ import annotations

from tilegen import ir
from tilegen.errors import TilegenError
from tilegen.language.arithmetic import binary, negate
from tilegen.language.builder import current, operation
from tilegen.language.math import named

_SQRT_HALF = 0.7071067811865476
_SQRT_2_OVER_PI = 0.7978845608028654


def _call(name: str, x: ir.Expr) -> ir.Expr:
    return ir.Call(name, (x,), x.dtype.compute)


@operation("function")
def sigmoid(x):
    """1 / (1 + exp(-x))."""
    return binary("/", 1.0, binary("+", 1.0, _call("exp", negate(named(x, "sigmoid")))))


@operation("function")
def silu(x):
    """x / (1 + exp(-x)), also called swish."""
    value = named(x, "silu")
    return binary("/", value, binary("+", 1.0, _call("exp", negate(value))))


@operation("function")
def softplus(x):
    """log(1 + exp(x)), without overflow for large x."""
    value = named(x, "softplus")
    decayed = _call("exp", negate(_call("abs", value)))
    return binary("+", binary("max", value, 0.0), _call("log1p", decayed))


@operation("function")
def relu(x):
    """max(x, 0)."""
    return binary("max", x, 0)


@operation("function")
def gelu(x, approximate="none"):
    """x times the normal distribution function at x; approximate="tanh" gives the usual approximation."""
    value = named(x, "gelu")
    half = binary("*", 0.5, value)
    if approximate == "none":
        return binary("*", half, binary("+", 1.0, _call("erf", binary("*", value, _SQRT_HALF))))
    if approximate == "tanh":
        cube = binary("*", binary("*", binary("*", 0.044715, value), value), value)
        inner = binary("*", _SQRT_2_OVER_PI, binary("+", value, cube))
        return binary("*", half, binary("+", 1.0, _call("tanh", inner)))
    raise TilegenError("TG0005", f'T.gelu: approximate is "none" or "tanh", not {approximate!r}',
                       current().argument("approximate"))
