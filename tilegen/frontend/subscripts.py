"""Indexing: `A[i, j]` is an element, `A[i:i + 16, :]` a region, `shape[0]` a Python value."""

from __future__ import annotations

import ast
from typing import Any

from tilegen import arith, ir
from tilegen.errors import TilegenError
from tilegen.frontend.lookup import from_outside
from tilegen.frontend.parser import Parser, expression
from tilegen.language.regions import difference, is_one
from tilegen.language.tensors import TensorAnnotation
from tilegen.language.text import allocated, describe, shape_text
from tilegen.language.values import as_index, is_number, is_scalar


@expression(ast.Subscript)
def subscript(parser: Parser, node: ast.Subscript) -> Any:
    base = parser.evaluate(node.value)
    items = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    match base:
        case ir.Buffer(scope="var"):
            _require_zero(parser, base, items, node)
            return ir.Load(base, ())
        case ir.Buffer():
            return _select(parser, base, (), items, node)
        case ir.Load(buffer=buffer, indices=indices) if len(indices) < len(buffer.shape):
            return _select(parser, buffer, indices, items, node)
        case ir.Region():
            return _of_region(parser, base, items, node)
        case TensorAnnotation():
            return base[parser.evaluate(node.slice)]
    if is_scalar(base):
        raise parser.error("TG0004", f"{describe(base)} has no elements", node)
    return _of_python(parser, base, node)


def _require_zero(parser: Parser, base: ir.Buffer, items: list[ast.expr], node: ast.AST) -> None:
    if len(items) != 1 or parser.evaluate(items[0]) != 0:
        raise parser.error("TG0106", f"{base.name} is a single variable: write {base.name}, or "
                           f"{base.name}[0]", node)


def _of_python(parser: Parser, base: Any, node: ast.Subscript) -> Any:
    """An item of a tuple, list, dict or text, at an index that is known now."""
    key = parser.evaluate(node.slice)
    if isinstance(key, ir.Expr):
        number = parser.builder.number(key)
        if number is None:
            raise parser.error("TG0109", f"{describe(base)} can be indexed by a number that is known now, "
                               f"not by {describe(key)}", node, "put the values into a tensor")
        key = number
    try:
        value = base[key]
    except (KeyError, IndexError, TypeError) as error:
        raise parser.error("TG0004", f"{describe(base)} has no item {key!r}", node) from error
    return value if is_number(value) else from_outside(parser, str(key), value, node)


def _select(parser: Parser, buffer: ir.Buffer, before: tuple[ir.Expr, ...], items: list[ast.expr],
            node: ast.AST) -> ir.Load | ir.Region:
    rank = len(buffer.shape)
    items = _without_ellipsis(items, rank - len(before))
    if len(before) + len(items) > rank:
        raise TilegenError("TG0106", f"{buffer.name} has {rank} dimension{'s' * (rank != 1)} "
                           f"{shape_text(buffer.shape)}, but {len(before) + len(items)} indices are given",
                           parser.loc(node), allocated(buffer))
    offsets, extents = list(before), [ir.Const(1)] * len(before)
    for item in items:
        offset, extent = _part(parser, item, buffer.shape[len(offsets)])
        offsets.append(offset)
        extents.append(extent)
    if not any(isinstance(item, ast.Slice) for item in items):
        return ir.Load(buffer, tuple(offsets))
    rest = buffer.shape[len(offsets):]
    return ir.Region(buffer, (*offsets, *(ir.Const(0) for _ in rest)), (*extents, *rest))


def _of_region(parser: Parser, region: ir.Region, items: list[ast.expr],
               node: ast.AST) -> ir.Load | ir.Region:
    """An element or a part of a region, as a macro takes it from a slice: by all of its dimensions, or
    by those whose extent is not 1."""
    wide = [d for d, extent in enumerate(region.extents) if not is_one(extent, parser.builder.numbers)]
    items = _without_ellipsis(items, len(wide))
    given = {len(region.extents): list(range(len(region.extents))), len(wide): wide}.get(len(items))
    if given is None:
        raise parser.error("TG0106", f"{describe(region)} has {len(wide)} dimensions, but {len(items)} "
                           "indices are given", node, allocated(region.buffer))
    offsets, extents = list(region.offsets), [ir.Const(1)] * len(region.offsets)
    for d, item in zip(given, items):
        offset, extents[d] = _part(parser, item, region.extents[d])
        offsets[d] = arith.add(offsets[d], offset)
    if any(isinstance(item, ast.Slice) for item in items):
        return ir.Region(region.buffer, tuple(offsets), tuple(extents))
    return ir.Load(region.buffer, tuple(offsets))


def _part(parser: Parser, item: ast.expr, size: ir.Expr) -> tuple[ir.Expr, ir.Expr]:
    """The offset and extent that an index or slice stands for."""
    if isinstance(item, ast.Slice):
        return _slice(parser, item, size)
    return _index(parser, item, size), ir.Const(1)


def _without_ellipsis(items: list[ast.expr], rank: int) -> list[ast.expr]:
    dots = [n for n, item in enumerate(items) if isinstance(item, ast.Constant) and item.value is Ellipsis]
    if not dots:
        return items
    missing = rank - len(items) + 1
    return items[:dots[0]] + [ast.Slice() for _ in range(missing)] + items[dots[0] + 1:]


def _index(parser: Parser, node: ast.expr, size: ir.Expr) -> ir.Expr:
    """An index; a negative number, also of a knob, counts from the end."""
    value = parser.evaluate(node)
    if isinstance(value, int) and not isinstance(value, bool) and value < 0:
        return arith.subtract(size, -value)
    if isinstance(value, ir.UnOp) and value.op == "-" and (parser.builder.number(value.a) or 0) > 0:
        return arith.subtract(size, as_index(value.a, parser.loc(node)))
    return as_index(value, parser.loc(node))


def _slice(parser: Parser, node: ast.Slice, size: ir.Expr) -> tuple[ir.Expr, ir.Expr]:
    if node.step is not None and parser.evaluate(node.step) not in (1, None):
        raise parser.error("TG0012", "a slice has no step in a kernel", node.step,
                           "index the elements in a T.Parallel loop: A[2 * i]")
    start = ir.Const(0) if node.lower is None else _index(parser, node.lower, size)
    if node.upper is None:
        return start, size if node.lower is None else difference(size, start)
    stop = _index(parser, node.upper, size)
    extent = difference(stop, start)
    known = parser.builder.constant(extent)
    number = parser.builder.number(known)
    if number is not None and number <= 0:
        raise parser.error("TG0110", f"the slice has the extent {number}", node,
                           "the end has to be after the start")
    return start, extent if number is None else difference(known, ir.Const(0))
