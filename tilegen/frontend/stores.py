"""Assignments to elements and regions, and `+=` of names and elements."""

from __future__ import annotations

import ast
from typing import Any

from tilegen import ir
from tilegen.frontend.expressions import OPERATORS
from tilegen.frontend.parser import Parser
from tilegen.frontend.variables import assign
from tilegen.language import arithmetic, reducers, tiles
from tilegen.language.text import describe
from tilegen.language.values import as_expr, is_scalar


def store(parser: Parser, target: ast.Subscript, value: Any) -> None:
    """`A[i, j] = value`; a region takes a number (as T.fill does) or a tile (as T.copy does)."""
    place = parser.evaluate(target)
    _require_kernel(parser, target)
    match place:
        case ir.Load():
            if len(place.indices) < len(place.buffer.shape) and not is_scalar(value):
                tiles.copy(value, place)
                return
            element = as_expr(place)
            reducers.refuse_store(element.buffer, parser.builder, parser.loc(target))
            expr = as_expr(value, element.buffer.dtype)
            parser.builder.emit(ir.Store(element.buffer, element.indices, expr, loc=parser.builder.loc))
        case ir.Region() if is_scalar(value):
            tiles.fill(place, value)
        case ir.Region():
            tiles.copy(value, place)
        case _:
            raise parser.error("TG0008", f"{describe(place)} cannot be assigned", target,
                               "assign to a name or to an element of a tensor")


def update(parser: Parser, node: ast.AugAssign) -> None:
    """`x += value`, `A[i] += value`."""
    op = OPERATORS[type(node.op)]
    _require_kernel(parser, node)
    if isinstance(node.target, ast.Name):
        current = parser.evaluate(ast.copy_location(ast.Name(node.target.id, ast.Load()), node.target))
        value = arithmetic.binary(op, current, parser.evaluate(node.value))
        assign(parser, node.target.id, value, node.target)
    elif isinstance(node.target, ast.Subscript):
        element = as_expr(parser.evaluate(node.target), loc=parser.loc(node.target))
        if op == "+" and parser.builder.reducers.get(element.buffer.name) == "sum":
            reducers.update("add", element, parser.evaluate(node.value))
            return
        reducers.refuse_store(element.buffer, parser.builder, parser.loc(node.target))
        value = arithmetic.binary(op, element, parser.evaluate(node.value))
        expr = as_expr(value, element.buffer.dtype)
        parser.builder.emit(ir.Store(element.buffer, element.indices, expr, loc=parser.loc(node)))
    else:
        raise parser.error("TG0008", f"an update of {ast.unparse(node.target)} cannot be used in a kernel",
                           node.target,
                           "update a name or an element")


def _require_kernel(parser: Parser, node: ast.AST) -> None:
    if not parser.builder.inside_kernel:
        raise parser.error("TG0006", "a change of a value outside of T.Kernel", node,
                           "move it into the with T.Kernel(...) block")
