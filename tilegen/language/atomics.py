"""Atomic updates: T.atomic_add, T.atomic_max, T.atomic_min, T.atomic_or, and those of neighbours."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from tilegen import arith, ir
from tilegen.dtypes import DType
from tilegen.errors import TilegenError
from tilegen.language.builder import current, operation
from tilegen.language.nests import elementwise
from tilegen.language.text import describe
from tilegen.language.tiles import region_pair
from tilegen.language.values import as_expr, as_region, is_scalar

_ORDERS = {None: "relaxed", "relaxed": "relaxed", "consume": "acquire", "acquire": "acquire", "release": "release",
           "acq_rel": "acq_rel", "seq_cst": "seq_cst"}


@dataclass(frozen=True)
class How:
    """What an update does beside the operation."""

    order: str = "relaxed"
    previous: ir.Buffer | None = None


def update(op: str, dst: Any, value: Any, how: How = How()) -> None:
    """dst = op(dst, value), atomically: op is add, max, min or or, dst an element or a tile."""
    builder = current()
    if isinstance(value, (ir.Region, ir.Buffer)) and not is_scalar(value):
        target, source = region_pair(f"T.atomic_{op}", ("dst", dst), ("value", value))
        _nest(op, target, source, None, how)
    elif _is_element(dst):
        converted = as_expr(value, dst.buffer.dtype, builder.argument("value"))
        builder.emit(ir.Atomic(op, dst.buffer, dst.indices, converted, how.previous, how.order, loc=builder.loc))
    else:
        target = as_region(dst, f"T.atomic_{op}: dst", builder.argument("dst"))
        _nest(op, target, None, as_expr(value, target.buffer.dtype, builder.argument("value")), how)


def _is_element(dst: Any) -> bool:
    return isinstance(dst, ir.Load) and len(dst.indices) == len(dst.buffer.shape)


def _nest(op: str, target: ir.Region, source: ir.Region | None, value: ir.Expr | None, how: How) -> None:
    elementwise(target, source, lambda indices, element: ir.Atomic(
        op, target.buffer, indices, element or value, order=how.order, loc=current().loc))


def _updated(op: str, dst: Any, value: Any, memory_order: str | None, return_prev: bool) -> ir.Expr | None:
    """The update that a call asks for, and the value before it where that is asked for."""
    builder = current()
    if memory_order not in _ORDERS:
        raise TilegenError("TG0005", f"T.atomic_{op}: {describe(memory_order)} is no memory order",
                           builder.argument("memory_order"), f"write one of {', '.join(filter(None, _ORDERS))}")
    order = _ORDERS[memory_order]
    if not return_prev:
        update(op, dst, value, How(order))
        return None
    if not _is_element(dst):
        raise TilegenError("TG0005", f"T.atomic_{op}: return_prev needs a single element", builder.argument("dst"),
                           "write a T.Parallel loop, and update an element in it")
    if not any(block.kind == "parallel" for block in builder.blocks):
        return _for_the_block(op, dst, value, order)
    previous = _variable(dst.buffer.dtype)
    update(op, dst, value, How(order, previous))
    return builder.let("previous", ir.Load(previous, ()))


def _variable(dtype: DType) -> ir.Buffer:
    builder = current()
    buffer = ir.Buffer(builder.local("before"), (), dtype, "var", loc=builder.loc)
    zero = ir.Const(0.0 if dtype.is_float else 0, dtype)
    builder.emit(ir.Alloc(buffer, zero, loc=builder.loc))
    return buffer


def _for_the_block(op: str, dst: ir.Load, value: Any, order: str) -> ir.Expr:
    """One thread updates; the block learns the value through shared memory."""
    builder = current()
    room = ir.Buffer(builder.unique("before", "shared"), (ir.Const(1),), dst.buffer.dtype, "shared", loc=builder.loc)
    builder.emit(ir.Alloc(room, loc=builder.loc))
    previous = _variable(dst.buffer.dtype)
    update(op, dst, value, How(order, previous))
    builder.emit(ir.Store(room, (ir.Const(0),), ir.Load(previous, ()), loc=builder.loc))
    return builder.let("previous", ir.Load(room, (ir.Const(0),)))


@operation(takes_tiles=True)
def atomic_add(dst, value, memory_order=None, return_prev=False, use_tma=False):
    """dst += value, atomically. dst is an element, or a tile or slice whose elements are all updated;
    value is a number or a tile of the same shape.

    memory_order: relaxed (the default), acquire, release, acq_rel or seq_cst. return_prev: gives the value
    before the update, for a single element. use_tma changes nothing. Raises TG0101 where the shapes differ,
    TG0005 for another order.
    """
    return _updated("add", dst, value, memory_order, return_prev)


@operation(takes_tiles=True)
def atomic_max(dst, value, memory_order=None, return_prev=False):
    """dst = max(dst, value), atomically. Operands as in T.atomic_add."""
    return _updated("max", dst, value, memory_order, return_prev)


@operation(takes_tiles=True)
def atomic_min(dst, value, memory_order=None, return_prev=False):
    """dst = min(dst, value), atomically. Operands as in T.atomic_add."""
    return _updated("min", dst, value, memory_order, return_prev)


@operation(takes_tiles=True)
def atomic_or(dst, value, memory_order=None, return_prev=False):
    """dst = dst | value, atomically, for integers. Operands as in T.atomic_add; TG0102 for floats."""
    buffer = getattr(dst, "buffer", dst)
    if isinstance(buffer, ir.Buffer) and not buffer.dtype.is_integer:
        raise TilegenError("TG0102", f"T.atomic_or takes integers, not {buffer.dtype}", current().argument("dst"))
    return _updated("or", dst, value, memory_order, return_prev)


def _neighbours(count: int, dst: Any, value: Any) -> None:
    """dst and the elements after it in its row, each by one update."""
    builder = current()
    for name, operand in (("dst", dst), ("value", value)):
        if not _is_element(operand):
            raise TilegenError("TG0004", f"T.atomic_addx{count}: {name} is the first of {count} elements in a row, "
                               f"not {describe(operand)}", builder.argument(name), f"write {name}[i, j]")
    for n in range(count):
        there, here = (replace(x, indices=(*x.indices[:-1], arith.add(x.indices[-1], n))) for x in (dst, value))
        update("add", there, here)


@operation(takes_tiles=True)
def atomic_addx2(dst, value) -> None:
    """dst += value for an element and the next one in its row; value is the first of two elements too."""
    _neighbours(2, dst, value)


@operation(takes_tiles=True)
def atomic_addx4(dst, value) -> None:
    """The same for four elements."""
    _neighbours(4, dst, value)
