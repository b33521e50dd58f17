"""Macros: the statements of a function under @T.macro in place of its call."""

from __future__ import annotations

import ast
import inspect
from typing import Any

from tilegen import arith, ir
from tilegen.errors import TilegenError
from tilegen.frontend.access import written_by
from tilegen.frontend.outside import Outside
from tilegen.frontend.parser import Frame, Parser
from tilegen.frontend.source import Source, source_of
from tilegen.frontend.variables import declare_variable
from tilegen.language.sizes import Size
from tilegen.language.tensors import ByTarget, Macro
from tilegen.language.values import as_expr, is_scalar

_DEEPEST = 4          # calls of one macro inside of each other


def inline(parser: Parser, macro: Macro, arguments, node: ast.Call) -> Any:
    """Reads the macro's body with its parameters bound to `arguments`; gives what it returns.

    Raises TG0005 for wrong arguments and TG0001 for a macro that calls itself.
    """
    if sum(frame.outside.function is macro.function for frame in parser.frames) > _DEEPEST:
        raise parser.error("TG0001", f"the macro {macro.__name__} calls itself", node,
                           "macros are written out at each call: use a loop")
    signature = inspect.signature(macro.function)
    try:
        bound = signature.bind(*arguments.positional, **arguments.keywords)
    except TypeError as error:
        raise parser.error("TG0005", f"{macro.__name__}: {error}", node,
                           f"its arguments are {signature}") from error
    bound.apply_defaults()
    is_whole, block, start = parser.whole is node, parser.builder.block, len(parser.builder.block.statements)
    frame = Frame(source_of(macro.function), Outside(macro.function, macro.names), parser.loc(node))
    with parser.enter(frame):
        for name, value in bound.arguments.items():
            frame.scope.values[name] = _usable(parser, value)
        parser.analyse_names()
        for name in bound.arguments:
            _bind_parameter(parser, name)
        parser.body(frame.source.node.body)
    if not is_whole and any(_changes_memory(s) for s in block.statements[start:]):
        raise parser.error("TG0001", f"{macro.__name__} changes memory in the middle of an expression", node,
                           f"write x = {macro.__name__}(...) on a line of its own")
    return frame.outcome


def _changes_memory(statement: ir.Stmt) -> bool:
    """Whether a statement writes to anything but variables of the thread."""
    return any(buffer.scope != "var" for node in ir.walk(statement) for buffer, _ in written_by(node))


def _usable(parser: Parser, value: Any) -> Any:
    value = value.choose(parser.builder.target, parser.builder.arch) if isinstance(value, ByTarget) else value
    return parser.size(value) if isinstance(value, Size) else value


def _bind_parameter(parser: Parser, name: str) -> None:
    """A scalar is evaluated once, at the call, and gets the parameter's name; an element that the macro
    hands on to a tile operation stays a place."""
    frame, builder = parser.frame, parser.builder
    value = frame.scope.values[name]
    if name in frame.names.mutable and is_scalar(value) and builder.inside_kernel:
        if isinstance(value, ir.Buffer):
            value = as_expr(value)
        frame.scope.values.pop(name)
        declare_variable(parser, name, value, frame.source.node)
    elif isinstance(value, ir.Expr) and not isinstance(value, (ir.Var, ir.Const)) and builder.inside_kernel:
        if isinstance(value, ir.Load) and _is_place(frame.source, name):
            return
        if arith.evaluate(value, builder.numbers) is None:
            frame.scope.values[name] = builder.let(name, as_expr(value))


def _is_place(source: Source, name: str) -> bool:
    """Whether the macro hands its parameter on as a whole: `T.copy(src, ...)`, `load(src)`, or indexes it."""
    for node in ast.walk(source.node):
        if isinstance(node, ast.Call) and not _is_function_of_scalars(source, node):
            given = [*node.args, *(keyword.value for keyword in node.keywords)]
            if any(isinstance(item, ast.Name) and item.id == name for item in given):
                return True
        if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name) and node.value.id == name:
            return True
    return False


def _is_function_of_scalars(source: Source, node: ast.Call) -> bool:
    if not isinstance(node.func, ast.Attribute):
        return isinstance(node.func, ast.Name) and node.func.id in ("min", "max", "abs", "int", "float")
    return node.func.attr not in _TILE_OPERATIONS


_TILE_OPERATIONS = ("copy", "fill", "clear", "gemm", "atomic_add", "atomic_max", "atomic_min", "print")


def require_end(parser: Parser, node: ast.Return, what: str) -> None:
    """`return` is the last statement of a macro or kernel."""
    if parser.frame.source.node.body[-1] is not node:
        raise TilegenError("TG0001", f"return in the middle of {what}", parser.loc(node),
                           "put the rest under an if, and return at the end")
