"""The value of each kind of expression: a NumPy scalar, or an array over the lanes."""

from __future__ import annotations

from contextlib import contextmanager

import numpy

from tilegen import ir
from tilegen.dtypes import bool_, promote
from tilegen.errors import Loc, TilegenError
from tilegen.interpret import memory
from tilegen.interpret.frame import Frame, Mask, both, negate
from tilegen.interpret.functions import (COMPARISONS, DIVISIONS, INTEGER_DIVISIONS, MATH, OF_ARGUMENT,
                                         OPERATORS)
from tilegen.interpret.values import Value, carrier, convert, numpy_dtype


def evaluate(node: ir.Expr, frame: Frame) -> Value:
    """The value of `node` for the active lanes; what inactive lanes get is not defined."""
    match node:
        case ir.Const():
            return numpy_dtype(node.dtype).type(node.value)
        case ir.Var():
            return _variable(node, frame)
        case ir.BinOp():
            return _binary(node, frame)
        case ir.Load():
            return memory.load(node, frame, evaluate)
        case ir.Cast():
            return convert(evaluate(node.a, frame), node.dtype)
        case ir.Call():
            return _call(node, frame)
        case ir.Select():
            return _select(node, frame)
        case ir.UnOp():
            return _unary(node, frame)
    raise AssertionError(f"the interpreter has no meaning for {type(node).__name__}")


def _variable(node: ir.Var, frame: Frame) -> Value:
    if node.kind == "thread":
        raise TilegenError(
            "TG0204", f"the interpreter runs a block as a whole, and has no thread index {node.name}",
            node.loc, hint="write `for i, j in T.Parallel(...)`; it is spread over the threads")
    value = frame.scalars.get(node.name)
    if value is None:
        raise TilegenError("TG0112", f"{node.name} is used before it has a value", node.loc)
    return value


def _binary(node: ir.BinOp, frame: Frame) -> Value:
    if node.op in ("and", "or"):
        return _logical(node, frame)
    a, b = evaluate(node.a, frame), evaluate(node.b, frame)
    if node.op in COMPARISONS:
        dtype = promote(node.a.dtype, node.b.dtype)
        return COMPARISONS[node.op](convert(a, dtype), convert(b, dtype))
    dtype = carrier(node.dtype)
    a, b = convert(a, dtype), convert(b, dtype)
    if node.op in DIVISIONS and dtype.is_integer:
        _refuse_zero(b, frame, node.loc)
    return convert(OPERATORS[node.op](a, b), dtype)


def _refuse_zero(divisor: Value, frame: Frame, loc: Loc | None) -> None:
    if not numpy.all(divisor) and numpy.any(numpy.logical_and(frame.mask, divisor == 0)):
        raise TilegenError("TG0113", f"an integer division by zero{frame.place()}", loc)


@contextmanager
def _narrowed(frame: Frame, mask: Mask):
    entry = frame.mask
    frame.mask = mask
    try:
        yield
    finally:
        frame.mask = entry


def _logical(node: ir.BinOp, frame: Frame) -> Value:
    """The right side is evaluated only where the left one leaves the answer open."""
    left = convert(evaluate(node.a, frame), bool_)
    left = both(True, left)
    pending = both(frame.mask, left if node.op == "and" else negate(left))
    if pending is False:
        return numpy.logical_or(left, False)
    with _narrowed(frame, pending):
        right = convert(evaluate(node.b, frame), bool_)
    return numpy.logical_and(left, right) if node.op == "and" else numpy.logical_or(left, right)


def _select(node: ir.Select, frame: Frame) -> Value:
    """Each side is evaluated only where it is chosen."""
    condition = both(True, convert(evaluate(node.condition, frame), bool_))
    dtype = carrier(node.dtype)
    chosen, other = both(frame.mask, condition), both(frame.mask, negate(condition))
    if chosen is False or other is False:
        return convert(evaluate(node.b if chosen is False else node.a, frame), dtype)
    with _narrowed(frame, chosen):
        a = convert(evaluate(node.a, frame), dtype)
    with _narrowed(frame, other):
        b = convert(evaluate(node.b, frame), dtype)
    return numpy.where(condition, a, b)


def _unary(node: ir.UnOp, frame: Frame) -> Value:
    value = evaluate(node.a, frame)
    if node.op == "not":
        return numpy.logical_not(convert(value, bool_))
    value = convert(value, carrier(node.dtype))
    return numpy.negative(value) if node.op == "-" else numpy.invert(value)


def _call(node: ir.Call, frame: Frame) -> Value:
    if node.name == "bits_as":
        value, like = node.args
        bits = convert(evaluate(value, frame), like.dtype).view(numpy_dtype(node.dtype))
        return convert(bits, carrier(node.dtype))
    if node.name == "infinity":
        return numpy_dtype(carrier(node.dtype)).type("inf")
    if node.name.startswith("extern:"):
        raise TilegenError("TG0204", f"the interpreter cannot call {node.name.removeprefix('extern:')}, a function of "
                           "the target's own language", node.loc, hint="write it with the operations of T")
    function = MATH.get(node.name)
    if function is None:
        raise TilegenError("TG0204", f"T.{node.name} has no meaning for a whole block", node.loc,
                           hint="the interpreter knows the math functions, not those of single threads")
    dtypes = [carrier(a.dtype if node.name in OF_ARGUMENT else node.dtype) for a in node.args]
    arguments = [convert(evaluate(a, frame), dtype) for a, dtype in zip(node.args, dtypes)]
    if node.name in INTEGER_DIVISIONS and dtypes[1].is_integer:
        _refuse_zero(arguments[1], frame, node.loc)
    return convert(function(*arguments), carrier(node.dtype))
