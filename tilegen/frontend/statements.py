"""Handlers of plain statements: assignments, branches, expressions, return; and the refusal of the others."""

from __future__ import annotations

import ast
from typing import Any

from tilegen import ir
from tilegen.errors import TilegenError
from tilegen.frontend.macros import require_end
from tilegen.frontend.parser import Parser, statement
from tilegen.frontend.stores import store, update
from tilegen.frontend.variables import assign, bind_joined
from tilegen.language.loops import leave_loop
from tilegen.language.text import describe
from tilegen.language.tensors import TensorType
from tilegen.language.arithmetic import convert
from tilegen.language.values import as_condition, as_dtype, as_expr, is_scalar

_UNSUPPORTED = {
    ast.FunctionDef: ("an inner function", "move it out of the kernel, under @T.macro"),
    ast.AsyncFunctionDef: ("an async function", "kernels have no coroutines"),
    ast.ClassDef: ("a class", "move it out of the kernel"),
    ast.Try: ("try", "check the condition with an if, or with T.device_assert"),
    ast.Raise: ("raise", "use T.device_assert"),
    ast.Assert: ("assert", "use T.device_assert for values of the kernel, T.assume for sizes"),
    ast.Delete: ("del", "leave it out: a buffer ends with its block"),
    ast.Global: ("global", "pass the value as an argument"),
    ast.Nonlocal: ("nonlocal", "pass the value as an argument, or return it from the macro"),
    ast.Import: ("import", "import at the top of the file"),
    ast.ImportFrom: ("import", "import at the top of the file"),
    ast.AsyncFor: ("async for", "kernels have no coroutines"),
    ast.AsyncWith: ("async with", "kernels have no coroutines"),
    ast.Match: ("match", "use if and elif"),
}


@statement(ast.stmt)
def unsupported(parser: Parser, node: ast.stmt) -> None:
    name, advice = _UNSUPPORTED.get(type(node), (f"the statement {type(node).__name__}",
                                                 "write it differently"))
    raise parser.error("TG0001", f"{name} cannot be used in a kernel", node, advice)


@statement(ast.Pass)
def nothing(parser: Parser, node: ast.Pass) -> None:
    """`pass` builds nothing."""


@statement(ast.Expr)
def expression_statement(parser: Parser, node: ast.Expr) -> None:
    """A call of an operation or macro; a text is a remark."""
    if isinstance(node.value, ast.Constant) and isinstance(node.value.value, (str, type(...))):
        return
    if not isinstance(node.value, ast.Call):
        raise parser.error("TG0001", "this expression does nothing", node, "assign its value, or remove it")
    parser.whole = node.value
    parser.evaluate(node.value)


@statement(ast.Assign)
def assignment(parser: Parser, node: ast.Assign) -> None:
    if len(node.targets) > 1:
        raise parser.error("TG0008", "a = b = value cannot be used in a kernel", node,
                           "write one line for each name")
    target = node.targets[0]
    if isinstance(target, (ast.Tuple, ast.List)):
        _unpack(parser, target, node.value)
    else:
        _assign_to(parser, target, _named_value(parser, target, node.value))


def _named_value(parser: Parser, target: ast.expr, node: ast.expr) -> Any:
    """The value, with the target's name for the buffer that a call makes. A variable gives the value
    that it has now, unless the call has just made it."""
    parser.whole = node
    parser.pending_name = target.id if isinstance(target, ast.Name) and isinstance(node, ast.Call) else ""
    value = parser.evaluate(node)
    return value if value is parser.fresh else _now(value)


def _now(value: Any) -> Any:
    return as_expr(value) if isinstance(value, ir.Buffer) and value.scope == "var" else value


def _assign_to(parser: Parser, target: ast.expr, value: Any) -> None:
    match target:
        case ast.Name():
            assign(parser, target.id, value, target)
        case ast.Subscript():
            store(parser, target, value)
        case _:
            raise parser.error("TG0008", f"an assignment to {ast.unparse(target)} cannot be used in a kernel",
                               target,
                               "assign to a name or to an element")


def _unpack(parser: Parser, target: ast.Tuple | ast.List, value: ast.expr) -> None:
    """`a, b = x, y`: all values are taken before the first name is set."""
    if isinstance(value, (ast.Tuple, ast.List)) and len(value.elts) == len(target.elts):
        values = [_named_value(parser, t, v) for t, v in zip(target.elts, value.elts)]
        values = _taken(parser, target.elts, values)
    else:
        values = parser.evaluate(value)
        values = [_now(item) for item in values] if isinstance(values, tuple) else values
    if not isinstance(values, (tuple, list)) or len(values) != len(target.elts):
        count = f"a tuple of {len(values)}" if isinstance(values, (tuple, list)) else describe(values)
        raise parser.error("TG0008", f"{len(target.elts)} names cannot be set from {count}", target,
                           "write a name for each item")
    for item, part in zip(target.elts, values):
        _assign_to(parser, item, part)


def _taken(parser: Parser, targets: list[ast.expr], values: list[Any]) -> list[Any]:
    """The values, with those that an earlier target of the same statement changes put aside."""
    changed: set[str] = set()
    result = []
    for target, value in zip(targets, values):
        if is_scalar(value) and not isinstance(value, (int, float)):
            expr = as_expr(value)
            loads = {node.buffer.name for node in ir.walk(expr) if isinstance(node, ir.Load)}
            if loads & changed:
                name = f"new_{target.id}" if isinstance(target, ast.Name) else "taken"
                value = parser.builder.let(name, expr)
        result.append(value)
        changed |= _changes(parser, target)
    return result


def _changes(parser: Parser, target: ast.expr) -> set[str]:
    base = target.value if isinstance(target, ast.Subscript) else target
    found = parser.frame.find(base.id) if isinstance(base, ast.Name) else None
    return {found[1].name} if found and isinstance(found[1], ir.Buffer) else set()


@statement(ast.AnnAssign)
def annotated(parser: Parser, node: ast.AnnAssign) -> None:
    """`A: T.Tensor(...)` declares a parameter; `x: T.float32 = 0` declares a variable of that type."""
    annotation = parser.evaluate(node.annotation)
    if node.value is None and isinstance(annotation, TensorType) and isinstance(node.target, ast.Name):
        parser.declare_tensor(node.target.id, annotation, node)
    elif node.value is None:
        raise parser.error("TG0008", f"{ast.unparse(node.target)} is declared without a value", node,
                           "give it one")
    else:
        _assign_to(parser, node.target, _typed(parser, annotation, node))


def _typed(parser: Parser, annotation: Any, node: ast.AnnAssign) -> Any:
    value = _named_value(parser, node.target, node.value)
    is_python = annotation in (int, float, bool) if isinstance(annotation, type) else annotation is None
    if is_python or not is_scalar(value):
        return value
    return convert(value, as_dtype(annotation, parser.loc(node)))


@statement(ast.AugAssign)
def augmented(parser: Parser, node: ast.AugAssign) -> None:
    update(parser, node)


@statement(ast.If)
def branch(parser: Parser, node: ast.If) -> None:
    """A Python truth value decides now; a value of the kernel gives both branches."""
    test = parser.evaluate(node.test)
    if not isinstance(test, (ir.Expr, ir.Buffer, ir.Region)):
        parser.body(node.body if test else node.orelse)
        return
    condition = as_condition(test, parser.loc(node.test))
    if not parser.builder.inside_kernel:
        raise TilegenError("TG0006", "a branch on a value of the kernel, outside of T.Kernel",
                           parser.loc(node),
                           "move it into the with T.Kernel(...) block")
    blocks, scopes = [], []
    for statements in (node.body, node.orelse):
        with parser.block("branch") as block:
            parser.body(statements)
            scopes.append(parser.frame.scope)
        blocks.append(tuple(block.statements))
    parser.builder.emit(ir.If(condition, *blocks, loc=parser.loc(node.test)))
    bind_joined(parser, scopes, node)


@statement(ast.Break, ast.Continue)
def leave(parser: Parser, node: ast.Break | ast.Continue) -> None:
    """`break`, `continue` of a serial loop."""
    leave_loop("break" if isinstance(node, ast.Break) else "continue")


@statement(ast.Return)
def give_back(parser: Parser, node: ast.Return) -> None:
    """The value of a macro, or the outputs of a kernel; the last statement of either."""
    is_macro = len(parser.frames) > 1
    require_end(parser, node, f"the macro {parser.frame.source.node.name}" if is_macro else "a kernel")
    parser.whole = node.value
    value = None if node.value is None else parser.evaluate(node.value)
    if is_macro:
        parser.frame.outcome = value
        return
    outputs = [param.buffer for param in parser.builder.outputs]
    for item in value if isinstance(value, tuple) else () if value is None else (value,):
        if not any(item is output for output in outputs):
            raise parser.error("TG0004", f"a kernel gives back tensors made by T.empty, not {describe(item)}",
                               node,
                               "declare the output with T.empty, or as a parameter")
