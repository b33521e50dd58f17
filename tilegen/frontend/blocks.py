"""Handlers of `with T.Kernel(...)`, `for` and `while`."""

from __future__ import annotations

import ast
from typing import Any

from tilegen import arith, ir
from tilegen.frontend.names import written_names
from tilegen.frontend.parser import Parser, statement
from tilegen.frontend.variables import declare_variable
from tilegen.language.loops import Launch, Loop, Nest, PersistentLoop, coordinates
from tilegen.language.reducers import require_finalized
from tilegen.language.safe_values import with_safe_values
from tilegen.language.text import describe
from tilegen.language.values import as_condition, is_scalar


@statement(ast.With)
def with_statement(parser: Parser, node: ast.With) -> None:
    """`with T.Kernel(...) as (bx, by):`."""
    for position, item in enumerate(node.items):
        value = parser.evaluate(item.context_expr)
        if not isinstance(value, Launch):
            raise parser.error("TG0001", f"with cannot be used on {describe(value)} in a kernel",
                               item.context_expr,
                               "only T.Kernel(...) opens a block")
        if position or parser.builder.inside_kernel:
            raise parser.error("TG0006", "T.Kernel inside of T.Kernel", item.context_expr,
                               "end the first block, and open the second beside it")
        _launch(parser, node, item, value)


def _launch(parser: Parser, node: ast.With, item: ast.withitem, launch: Launch) -> None:
    """Each launch becomes a function of its own, so that its names are free again after it."""
    builder = parser.builder
    loc = parser.loc(item.context_expr)
    names = _block_names(parser, item, len(launch.grid))
    builder.inside_kernel, builder.threads, builder.grid = True, launch.threads, launch.grid
    builder.stream, builder.reducers, builder.wishes, builder.safe_values = None, {}, [], {}
    with parser.block("kernel") as block:
        own = [builder.unique(name if name != "_" else f"b{'xyz'[k]}") for k, name in enumerate(names)]
        builder.block_vars = tuple(ir.Var(name, kind="block", loc=loc) for name in own)
        for name, var in zip(names, builder.block_vars if item.optional_vars else ()):
            parser.bind(name, var, item.context_expr)
        _carry_variables(parser, node)
        parser.body(node.body)
    builder.inside_kernel = False
    require_finalized(tuple(block.statements), builder)
    statements = with_safe_values(tuple(block.statements), builder)
    builder.taken -= {*own, *(n.buffer.name for n in ir.walk(statements) if isinstance(n, ir.Alloc))}
    parser.launches.append(ir.Kernel("", (), (), (), launch.grid, builder.block_vars, launch.threads, statements,
                                     wishes=tuple(builder.wishes), loc=loc, launch_loc=loc))


def _block_names(parser: Parser, item: ast.withitem, count: int) -> list[str]:
    target = item.optional_vars
    if target is None:
        return [f"b{axis}" for axis in "xyz"[:count]]
    parts = target.elts if isinstance(target, (ast.Tuple, ast.List)) else [target]
    if len(parts) != count or not all(isinstance(part, ast.Name) for part in parts):
        raise parser.error("TG0005", f"T.Kernel has {count} grid extent{'s' * (count != 1)}, "
                           f"which {len(parts)} name{'s' * (len(parts) != 1)} cannot take", target,
                           f"write as {'bx' if count == 1 else '(bx, by, bz)'[:4 * count - 1] + ')'}")
    return [part.id for part in parts]


def _carry_variables(parser: Parser, node: ast.With) -> None:
    """Names bound before T.Kernel that change inside of it become variables at its start."""
    for name in sorted(written_names(node) & parser.frame.names.mutable):
        found = parser.frame.find(name)
        if found and is_scalar(found[1]) and found[0] is not parser.frame.scope:
            declare_variable(parser, name, found[1], node.items[0].context_expr)


@statement(ast.For)
def for_statement(parser: Parser, node: ast.For) -> None:
    """A loop over range or one of T's loops."""
    if node.orelse:
        raise parser.error("TG0001", "else after a loop cannot be used in a kernel", node.orelse[0],
                           "set a variable in the loop and test it afterwards")
    loop = parser.evaluate(node.iter)
    if not isinstance(loop, (Loop, Nest, PersistentLoop)):
        raise parser.error("TG0001", f"a loop over {describe(loop)} cannot be used in a kernel", node.iter,
                           "loop over range, T.serial, T.unroll, T.Parallel, T.Pipelined or T.grid")
    if not parser.builder.inside_kernel:
        raise parser.error("TG0006", "a loop outside of T.Kernel", node,
                           "move it into the with T.Kernel(...) block")
    match loop:
        case Loop():
            _single(parser, node, loop)
        case Nest(kind="parallel"):
            _parallel(parser, node, loop)
        case Nest():
            _serial_nest(parser, node, loop)
        case PersistentLoop():
            _persistent(parser, node, loop)


def _targets(parser: Parser, node: ast.For, count: int, what: str) -> list[ast.Name]:
    parts = node.target.elts if isinstance(node.target, (ast.Tuple, ast.List)) else [node.target]
    if not all(isinstance(part, ast.Name) for part in parts):
        raise parser.error("TG0008", f"{ast.unparse(node.target)} cannot be the variable of a loop",
                           node.target,
                           "use a name")
    if len(parts) != count:
        raise parser.error("TG0005", f"{what} has {count} extent{'s' * (count != 1)}, but {len(parts)} "
                           f"variable{'s' * (len(parts) != 1)}", node.target,
                           f"write for {', '.join('ijklmn'[:count])} in ...")
    return parts


def _loop_var(parser: Parser, target: ast.Name) -> ir.Var:
    name = parser.builder.local(target.id if target.id != "_" else "turn")
    var = ir.Var(name, kind="loop", loc=parser.loc(target))
    parser.bind(target.id, var, target)
    return var


def _inside(parser: Parser, node: ast.For | ast.While, kind: str) -> None:
    parser.loops.append(kind)
    try:
        parser.body(node.body)
    finally:
        parser.loops.pop()


def _single(parser: Parser, node: ast.For, loop: Loop) -> None:
    target, = _targets(parser, node, 1, "the loop")
    with parser.block("loop") as block:
        var = _loop_var(parser, target)
        _inside(parser, node, loop.kind)
    parser.builder.emit(ir.For(loop.kind, var, loop.start, loop.stop, loop.step, tuple(block.statements),
                               loop.options, loc=_head(parser, node)))


def _head(parser: Parser, node: ast.For) -> Any:
    """The span of the loop's first line."""
    start, end = parser.loc(node), parser.loc(node.iter)
    return type(start)(start.file, start.line, start.column, end.end_line, end.end_column, start.call_site)


def _parallel(parser: Parser, node: ast.For, loop: Nest) -> None:
    targets = _targets(parser, node, len(loop.extents), "T.Parallel")
    with parser.block("parallel") as block:
        loop_vars = tuple(_loop_var(parser, target) for target in targets)
        _inside(parser, node, "parallel")
    parser.builder.emit(ir.Parallel(loop_vars, loop.extents, tuple(block.statements), loop.options,
                                    loc=_head(parser, node)))


def _serial_nest(parser: Parser, node: ast.For, loop: Nest) -> None:
    targets = _targets(parser, node, len(loop.extents), "T.grid")
    with parser.block("loop") as block:
        loop_vars = [_loop_var(parser, target) for target in targets]
        _inside(parser, node, "nested" if len(targets) > 1 else "serial")
    body = tuple(block.statements)
    for var, extent in reversed(list(zip(loop_vars, loop.extents))):
        body = (ir.For("serial", var, ir.Const(0), extent, ir.Const(1), body, loc=_head(parser, node)),)
    parser.builder.emit(body[0])


def _persistent(parser: Parser, node: ast.For, loop: PersistentLoop) -> None:
    targets = _targets(parser, node, len(loop.domain), "T.Persistent")
    builder = parser.builder
    with parser.block("loop") as block:
        tile = ir.Var(builder.local("tile"), kind="loop", loc=parser.loc(node.target))
        for target, value in zip(targets, coordinates(loop, tile)):
            parser.bind(target.id, builder.let(target.id, value), target)
        _inside(parser, node, "persistent")
    options = (("group_size", loop.group_size),)
    builder.emit(ir.For("persistent", tile, loop.index, arith.product(loop.domain), loop.count,
                        tuple(block.statements), options, loc=_head(parser, node)))


@statement(ast.While)
def while_statement(parser: Parser, node: ast.While) -> None:
    if node.orelse:
        raise parser.error("TG0001", "else after a loop cannot be used in a kernel", node.orelse[0],
                           "set a variable in the loop and test it afterwards")
    if not parser.builder.inside_kernel:
        raise parser.error("TG0006", "a loop outside of T.Kernel", node,
                           "move it into the with T.Kernel(...) block")
    before = len(parser.builder.block.statements)
    condition = as_condition(parser.evaluate(node.test), parser.loc(node.test))
    if len(parser.builder.block.statements) != before:
        raise parser.error("TG0001", "a call that needs statements of its own, in the condition of a loop",
                           node.test,
                           "write while True, and leave the loop with if and break")
    with parser.block("loop") as block:
        _inside(parser, node, "serial")
    parser.builder.emit(ir.While(condition, tuple(block.statements), loc=parser.loc(node.test)))
