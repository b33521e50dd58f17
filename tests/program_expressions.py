"""Random scalar expressions in the language of kernels, with what is known of their values."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from program_values import LARGEST, Value, added, chosen, computed, multiplied, smooth

Choose = Callable[[Sequence[Any]], Any]      # picks one; simpler choices come first, for shrinking
Term = tuple[str, Value]

_CONSTANTS = (1.0, 0.5, -1.25, 2.0, 0.125, -3.0)
_NUMBERS = (1, 2, -3, 5, 7)
# name -> (text, largest value, largest derivative), for |x| <= 3
_SMOOTH = {
    "tanh": ("T.tanh({})", 1, 1), "exp": ("T.exp({})", 21, 21), "sin": ("T.sin({})", 1, 1),
    "cos": ("T.cos({})", 1, 1), "erf": ("T.erf({})", 1, 1.2), "exp2": ("T.exp2({})", 8, 6),
    "sqrt": ("T.sqrt(T.abs({}) + 0.25)", 2, 1), "rsqrt": ("T.rsqrt(T.abs({}) + 0.5)", 1.5, 1.5),
    "log": ("T.log(T.abs({}) + 1.0)", 1.4, 1), "sigmoid": ("T.sigmoid({})", 1, 0.3),
    "gelu": ("T.gelu({})", 3, 1.2), "divide": ("1.0 / (T.abs({}) + 1.0)", 1, 1),
    "atan": ("T.atan({})", 1.6, 1), "log1p": ("T.log1p(T.abs({}))", 1.4, 1),
    "sinh": ("T.sinh({})", 10.1, 10.1),
}


def expression(choose: Choose, leaves: Sequence[Term], depth: int = 2) -> Term:
    """An expression of at most `depth` operators on top of each other, over the given leaves."""
    if depth == 0 or choose((True, False, False)):
        return leaf(choose, leaves)
    a = expression(choose, leaves, depth - 1)
    if a[1].integer:
        return _integer(choose, a, expression(choose, [t for t in leaves if t[1].integer], depth - 1))
    kind = choose(("binary", "smooth", "smooth", "unary", "select", "step"))
    if kind == "binary":
        return _binary(choose, a, as_float(expression(choose, leaves, depth - 1)))
    if kind == "smooth":
        return _smooth(choose, a)
    if kind == "select":
        return _select(choose, a, as_float(leaf(choose, leaves)))
    if kind == "step" and a[1].exact and a[1].high < 1000:
        text = choose(("T.floor({})", "T.ceil({})", "T.trunc({})", "T.nearbyint({})", "T.round({})"))
        return text.format(a[0]), Value(a[1].high + 1, 1.0, 0.0, computed(a[1].dtype, a[1].dtype))
    text = choose(("T.abs({})", "-({})"))
    return text.format(a[0]), replace(a[1], dtype=computed(a[1].dtype, a[1].dtype))


def leaf(choose: Choose, leaves: Sequence[Term]) -> Term:
    """One of the leaves, or a literal of the same kind."""
    text, value = choose(leaves)
    if not choose((False, False, False, True)):
        return text, value
    number = choose(_NUMBERS if value.integer else _CONSTANTS)
    return f"{text} + {number}" if number > 0 else f"{text} - {-number}", added(
        value, Value(abs(number), 1.0 if value.integer else 0.125, 0.0, value.dtype))


def as_float(term: Term) -> Term:
    """The term in float32, if it is an integer."""
    text, value = term
    return (f"T.cast({text}, \"float32\")", replace(value, dtype="float32")) if value.integer else term


def limited(term: Term, high: float = 3.0) -> Term:
    """The term, clamped where its values could be larger than `high`."""
    text, value = term
    if value.high <= high:
        return term
    if value.integer:
        return f"({text}) % {int(high)}", Value(high, 1.0, 0.0, "int32")
    dtype = computed(value.dtype, value.dtype)
    return f"T.clamp({text}, -{high}, {high})", replace(value, high=high, dtype=dtype)


def _binary(choose: Choose, a: Term, b: Term) -> Term:
    name = choose(("+", "-", "*", "min", "max"))
    (x, u), (y, v) = a, b
    if name in ("min", "max"):
        return f"T.{name}({x}, {y})", chosen(u, v)
    if name == "*":
        if u.high * v.high > LARGEST:
            (x, u), (y, v) = limited(a), limited(b)
        return f"({x}) * ({y})", multiplied(u, v)
    return f"({x}) {name} ({y})", added(u, v)


def _integer(choose: Choose, a: Term, b: Term) -> Term:
    name = choose(("+", "-", "*", "//", "%", "min", "&", "trunc", "shift", "select"))
    (x, u), (y, v) = a, b
    if name == "*":
        (x, u), (y, v) = limited(a, 100), limited(b, 100)
        return f"({x}) * ({y})", multiplied(u, v)
    if name in ("//", "%"):
        divisor = choose((3, 8, 1, 5))
        high = u.high + 1 if name == "//" else divisor
        return f"({x}) {name} {divisor}", Value(high, dtype="int32")
    if name == "trunc":
        text = choose(("T.truncdiv({}, 3)", "T.truncmod({}, 4)"))
        return text.format(x), Value(u.high + 4, dtype="int32")
    if name == "shift":
        return f"({x}) >> {choose((1, 2))}", Value(u.high + 1, dtype="int32")
    if name == "min":
        return f"T.{choose(('min', 'max'))}({x}, {y})", chosen(u, v)
    if name == "&":
        return f"({x}) {choose(('&', '|', '^'))} ({y})", Value(4 * max(u.high, v.high) + 4, dtype="int32")
    if name == "select":
        return f"({x}) if ({y}) > 0 else ({y})", chosen(u, v)
    return f"({x}) {name} ({y})", replace(added(u, v), dtype="int32")


def _smooth(choose: Choose, a: Term) -> Term:
    text, high, slope = _SMOOTH[choose(tuple(_SMOOTH))]
    x, value = limited(a)
    return text.format(x), smooth(value, high, slope)


def _select(choose: Choose, a: Term, b: Term) -> Term:
    """A choice by an exact condition: another kind could go either way on two right targets."""
    (x, u), (y, v) = a, b
    exact = next((t for t in (a, b) if t[1].exact), None)
    if exact is None:
        return f"T.max({x}, {y})", chosen(u, v)
    test = f"({exact[0]}) {choose(('>', '<=', '==', '!='))} {choose((0.5, 0.0, -1.0))}"
    text = choose(("T.if_then_else({0}, {1}, {2})", "(({1}) if {0} else ({2}))"))
    return text.format(test, x, y), chosen(u, v)
