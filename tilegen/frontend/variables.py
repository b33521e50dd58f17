"""Binding Python names: constants of a block, variables that change, tiles, and knobs before T.Kernel."""

from __future__ import annotations

import ast
from typing import Any

from tilegen import arith, ir
from tilegen.dtypes import DType, promote
from tilegen.errors import TilegenError
from tilegen.frontend.parser import Hoist, Parser, Variable, Widen
from tilegen.language.arithmetic import convert
from tilegen.language.text import describe
from tilegen.language.values import as_expr, is_number, is_scalar


def assign(parser: Parser, name: str, value: Any, node: ast.AST) -> None:
    """`name = value`, by what the name is already and by how the function uses it."""
    found = parser.frame.find(name)
    current = found[1] if found else None
    changes = id(node) in parser.frame.names.changing
    is_variable = isinstance(current, ir.Buffer) and current.scope == "var"
    if is_variable and is_scalar(value) and value is not current:
        store_variable(parser, current, value, node)
    elif isinstance(current, ir.Var) and current.kind in ("loop", "block"):
        kind = "a loop" if current.kind == "loop" else "T.Kernel"
        raise parser.error("TG0008", f"{name} is the variable of {kind} and cannot be assigned", node,
                           "choose another name")
    elif not is_scalar(value) or value is parser.fresh:
        _bind_object(parser, name, value, found, node)
    elif not parser.builder.inside_kernel:
        _bind_before_kernel(parser, name, value, node)
    elif isinstance(value, bool) and not changes:
        parser.bind(name, value, node)
    elif changes:
        _bind_variable(parser, name, value, current, node)
    else:
        expr = as_expr(value)
        parser.bind(name, parser.builder.let(name, expr), node)


def _bind_object(parser: Parser, name: str, value: Any, found, node: ast.AST) -> None:
    """A tile, a tuple or a Python object: another name for it."""
    if found and found[0] is not parser.frame.scope and name in parser.frame.names.mutable:
        raise parser.error("TG0008", f"{name} stands for {describe(found[1])} and cannot become "
                           f"{describe(value)} in a branch or loop", node,
                           "use two names, or T.copy into one tile")
    parser.bind(name, value, node)


def _bind_before_kernel(parser: Parser, name: str, value: Any, node: ast.AST) -> None:
    """Before T.Kernel: what follows from numbers and knobs is a knob, from sizes a constant."""
    constants, loc = parser.constants, parser.loc(node)
    if is_number(value) and not isinstance(value, bool):
        parser.bind(name, constants.declare(name, value, (value, loc), loc=loc), node)
        return
    if isinstance(value, bool):
        parser.bind(name, value, node)
        return
    expr = as_expr(value)
    kinds = {var.kind for var in ir.walk(expr) if isinstance(var, ir.Var)}
    number = arith.evaluate(expr, parser.builder.numbers)
    if isinstance(expr, ir.Var):
        parser.bind(name, expr, node)
    elif kinds <= {"knob"} and number is not None:
        original = arith.evaluate(expr, constants.originals)
        parser.bind(name, constants.declare(name, original, (expr, loc), expr=expr, loc=loc), node)
    else:
        parser.bind(name, parser.builder.let(name, expr), node)


def _bind_variable(parser: Parser, name: str, value: Any, current: Any, node: ast.AST) -> None:
    hoisted = parser.frame.hoisted.get(name)
    if isinstance(current, (ir.Expr, ir.Buffer, ir.Region)):
        raise parser.error("TG0008", f"{name} stands for {describe(current)} and cannot be assigned again",
                           node,
                           "choose another name")
    if hoisted is not None and any(scope is hoisted[0] for scope in parser.frame.scopes):
        parser.bind(name, hoisted[1], node)
        store_variable(parser, hoisted[1], value, node)
    else:
        declare_variable(parser, name, value, node)


def declare_variable(parser: Parser, name: str, value: Any, node: ast.AST) -> None:
    """Declares the variable `name` with its first value: here, or before the branch that binds it first."""
    builder, loc = parser.builder, parser.loc(node)
    key = (name, loc)
    dtype = parser.widened.get(key) or as_expr(value).dtype.compute
    first = convert(value, dtype) if is_number(value) else as_expr(value)
    hoist = parser.frame.hoists.pop(name, None)
    block, depth = (hoist.block, hoist.parallel_depth) if hoist else (builder.block, parser.parallel_depth)
    buffer = ir.Buffer(_declared_name(parser, name, block), (), dtype, "var", loc=loc)
    parser.variables[buffer] = Variable(key, _is_literal(parser, value), depth)
    if hoist:
        _declare_before(parser, name, buffer, hoist)
        store_variable(parser, buffer, value, node)
    else:
        builder.emit(ir.Alloc(buffer, first, loc=loc))
    parser.bind(name, buffer, node)


def _declare_before(parser: Parser, name: str, buffer: ir.Buffer, hoist: Hoist) -> None:
    frame = parser.frame
    hoist.block.statements.insert(hoist.position, ir.Alloc(buffer, loc=buffer.loc))
    for other in frame.hoists.values():
        if other.block is hoist.block and other.position >= hoist.position:
            other.position += 1
    frame.hoisted[name] = (frame.scopes[_depth_of(parser, hoist.block)], buffer)


def _is_literal(parser: Parser, value: Any) -> bool:
    """A literal, or the value of a variable that began as one."""
    source = parser.variables.get(value.buffer) if isinstance(value, ir.Load) else None
    return is_number(value) or (source is not None and source.is_literal)


def _declared_name(parser: Parser, name: str, block) -> str:
    """The name of a variable of `block`, which nothing around or inside of the present block has."""
    unique = parser.builder.local(name)
    block.names.add(unique)
    return unique


def _depth_of(parser: Parser, block) -> int:
    """The index of the scope that goes with an IR block of the present frame."""
    from_end = len(parser.builder.blocks) - next(n for n, b in enumerate(parser.builder.blocks) if b is block)
    return max(len(parser.frame.scopes) - from_end, 0)


def store_variable(parser: Parser, buffer: ir.Buffer, value: Any, node: ast.AST) -> None:
    """`x = value` for a variable. A variable that began as a literal may widen: Widen is raised then."""
    variable = parser.variables.get(buffer)
    dtype = as_expr(value, buffer.dtype).dtype
    if variable:
        needed = promote(buffer.dtype, dtype)
        if needed != buffer.dtype and variable.is_literal:
            raise Widen(variable.key, needed)
        if needed != buffer.dtype:
            raise _narrowing(parser, buffer, dtype, node)
        if parser.parallel_depth > variable.parallel_depth:
            raise parser.error("TG0008", f"{buffer.name} is set by the iterations of T.Parallel, but lives "
                               "outside", node,
                               "write to a tile and use T.reduce_sum, or declare it with T.alloc_var")
    expr = convert(value, buffer.dtype) if is_number(value) else as_expr(value)
    parser.builder.emit(ir.Store(buffer, (), expr, loc=parser.loc(node)))


def _narrowing(parser: Parser, buffer: ir.Buffer, dtype: DType, node: ast.AST) -> TilegenError:
    return parser.error("TG0102", f"{buffer.name} is {buffer.dtype} (from line {buffer.loc.line}) and gets a "
                        "value "
                        f"of type {dtype}", node, f"convert it: T.cast(..., '{buffer.dtype}'), or declare "
                        f"{buffer.name} with T.alloc_var(\"{dtype}\")")


def bind_joined(parser: Parser, scopes: list, node: ast.AST) -> None:
    """After a branch: the variables that every branch has set have a value."""
    shared = set.intersection(*(set(scope.values) for scope in scopes)) if scopes else set()
    for name in sorted(shared):
        hoisted = parser.frame.hoisted.get(name)
        if hoisted and all(scope.values[name] is hoisted[1] for scope in scopes):
            parser.bind(name, hoisted[1], node)
