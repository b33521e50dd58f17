"""Atomic updates: T.atomic_add, T.atomic_max, T.atomic_min."""

from __future__ import annotations

from typing import Any

from tilegen import arith, ir
from tilegen.language.builder import Block, current, operation
from tilegen.language.regions import is_one
from tilegen.language.tiles import region_pair
from tilegen.language.values import as_expr, as_region, is_scalar


def update(op: str, dst: Any, value: Any) -> None:
    """dst = op(dst, value), atomically: op is add, max or min, dst an element or a tile."""
    builder = current()
    if isinstance(value, (ir.Region, ir.Buffer)) and not is_scalar(value):
        target, source = region_pair(f"T.atomic_{op}", ("dst", dst), ("value", value))
        _nest(op, target, source, None)
    elif isinstance(dst, ir.Load) and len(dst.indices) == len(dst.buffer.shape):
        converted = as_expr(value, dst.buffer.dtype, builder.argument("value"))
        builder.emit(ir.Atomic(op, dst.buffer, dst.indices, converted, loc=builder.loc))
    else:
        target = as_region(dst, f"T.atomic_{op}: dst", builder.argument("dst"))
        _nest(op, target, None, as_expr(value, target.buffer.dtype, builder.argument("value")))


def _nest(op: str, target: ir.Region, source: ir.Region | None, value: ir.Expr | None) -> None:
    """A T.Parallel nest over the extents of `target` that are not 1."""
    builder = current()
    builder.blocks.append(Block())
    kept = [k for k, extent in enumerate(target.extents) if not is_one(extent, builder.numbers)]
    loops = [ir.Var(builder.local("ijklmn"[n]), kind="loop") for n in range(len(kept))]
    if source is not None:
        value = ir.Load(source.buffer, _moved(source, loops), loc=source.loc)
    atomic = ir.Atomic(op, target.buffer, _moved(target, loops), value, loc=builder.loc)
    builder.blocks.pop()
    extents = tuple(target.extents[k] for k in kept)
    builder.emit(ir.Parallel(tuple(loops), extents, (atomic,), loc=builder.loc) if loops else atomic)


def _moved(region: ir.Region, loops: list[ir.Var]) -> tuple[ir.Expr, ...]:
    """The indices of the element at `loops`, which run over the extents of `region` that are not 1."""
    numbers, rest = current().numbers, iter(loops)
    return tuple(offset if is_one(extent, numbers) else arith.add(offset, next(rest))
                 for offset, extent in zip(region.offsets, region.extents))


@operation(takes_tiles=True)
def atomic_add(dst, value) -> None:
    """dst += value, atomically. dst is an element, or a tile or slice whose elements are all updated;
    value is a number or a tile of the same shape. Raises TG0101 where the shapes differ."""
    update("add", dst, value)


@operation(takes_tiles=True)
def atomic_max(dst, value) -> None:
    """dst = max(dst, value), atomically. Operands as in T.atomic_add."""
    update("max", dst, value)


@operation(takes_tiles=True)
def atomic_min(dst, value) -> None:
    """dst = min(dst, value), atomically. Operands as in T.atomic_add."""
    update("min", dst, value)
