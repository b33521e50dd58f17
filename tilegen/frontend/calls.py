"""Calls: operations of T, casts, Python's own functions, and plain Python on values that are known now."""

from __future__ import annotations

import ast
import builtins
import functools
import inspect
from typing import Any

from tilegen import ir
from tilegen.errors import TilegenError
from tilegen.frontend.macros import inline
from tilegen.frontend.parser import Parser, expression
from tilegen.language import loops, math, scalar
from tilegen.language.debug import FormattedText
from tilegen.language.scalar import ScalarType
from tilegen.language.sizes import Size
from tilegen.language.tensors import Macro, PrimFunc, TensorAnnotation
from tilegen.language.text import describe

# Python's functions that have a counterpart in T.
_BUILTINS = {builtins.range: loops.serial, builtins.min: math.min, builtins.max: math.max,
             builtins.abs: math.abs,
             builtins.int: scalar.int32, builtins.float: scalar.float32, builtins.bool: scalar.bool_,
             builtins.pow: math.pow, builtins.round: math.nearbyint}
_ADVICE = {builtins.print: "use T.print", builtins.enumerate: "loop over range(n) and index",
           builtins.zip: "loop over range(n) and index each", builtins.sum: "use T.reduce_sum, or a loop",
           builtins.isinstance: "decide it outside of the kernel",
           builtins.sorted: "sort outside of the kernel",
           builtins.map: "write a loop", builtins.list: "use a tuple",
           builtins.input: "pass the value as an argument",
           builtins.open: "pass the data as a tensor", builtins.any: "use a loop", builtins.all: "use a loop"}


@expression(ast.Call)
def call(parser: Parser, node: ast.Call) -> Any:
    result_name, parser.pending_name = parser.pending_name, ""
    callee = parser.evaluate(node.func)
    if _is_hashable(callee) and callee in _ADVICE:
        raise parser.error("TG0001", f"{callee.__name__}() cannot be used in a kernel", node, _ADVICE[callee])
    takes_functions = getattr(callee, "operation", None) and callee.operation.takes_functions
    parser.functions += bool(takes_functions)
    arguments = Arguments(parser, node)
    parser.functions -= bool(takes_functions)
    if _is_hashable(callee) and callee in _BUILTINS:
        callee = _builtin(parser, callee, arguments, node)
    if isinstance(callee, ScalarType):
        callee = functools.partial(scalar.cast, dtype=callee)
        return _operation(parser, callee, scalar.cast.operation, arguments, result_name)
    if hasattr(callee, "operation"):
        return _operation(parser, callee, callee.operation, arguments, result_name)
    if isinstance(callee, Macro):
        return inline(parser, callee, arguments, node)
    if isinstance(callee, PrimFunc):
        raise parser.error("TG0006", f"a kernel cannot call the kernel {callee.__name__}", node,
                           "put the common part under @T.macro")
    if isinstance(callee, (TensorAnnotation, functools.partial)):
        return _bound(parser, callee, arguments, node)
    return _python(parser, callee, arguments, node)


def _is_hashable(value: Any) -> bool:
    return isinstance(value, type) or inspect.isbuiltin(value)


class Arguments:
    """The evaluated arguments of a call, with the place of each."""

    def __init__(self, parser: Parser, node: ast.Call):
        self.positional: list[Any] = []
        self.nodes: list[ast.expr] = []
        self.keywords: dict[str, Any] = {}
        self.keyword_nodes: dict[str, ast.expr] = {}
        for item in node.args:
            starred = isinstance(item, ast.Starred)
            value = parser.evaluate(item.value if starred else item)
            if starred and not isinstance(value, (tuple, list)):
                raise parser.error("TG0004", f"only a tuple can be unpacked, not {describe(value)}", item)
            values = list(value) if starred else [value]
            self.positional += values
            self.nodes += [item] * len(values)
        for keyword in node.keywords:
            if keyword.arg is None:
                raise parser.error("TG0001", "** in a call cannot be used in a kernel", keyword.value,
                                   "write the keywords out")
            self.keywords[keyword.arg] = parser.evaluate(keyword.value)
            self.keyword_nodes[keyword.arg] = keyword.value

    @property
    def values(self) -> list[Any]:
        return [*self.positional, *self.keywords.values()]

    def places(self, signature: inspect.Signature) -> dict[str, ast.expr]:
        """The node of each parameter's argument."""
        names = [p.name for p in signature.parameters.values()
                 if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
        return dict(zip(names, self.nodes)) | self.keyword_nodes


def _builtin(parser: Parser, callee: Any, arguments: Arguments, node: ast.Call) -> Any:
    """Python's function on Python values, else its counterpart in T."""
    is_python = all(isinstance(value, (int, float, str, tuple)) for value in arguments.values)
    if is_python and callee is not builtins.range:
        return callee
    if callee in (builtins.min, builtins.max) and len(arguments.positional) > 2 and not arguments.keywords:
        *others, last = arguments.positional
        arguments.positional = [functools.reduce(_BUILTINS[callee], others), last]
    return _BUILTINS[callee]


def _operation(parser: Parser, function: Any, operation, arguments: Arguments, result_name: str) -> Any:
    builder = parser.builder
    if operation.place == "kernel" and not builder.inside_kernel:
        raise TilegenError("TG0006", f"T.{operation.name} outside of T.Kernel", builder.loc,
                           "move it into the with T.Kernel(...) block")
    is_cast = isinstance(function, functools.partial)
    signature = inspect.signature(function) if is_cast else operation.signature
    try:
        signature.bind(*arguments.positional, **arguments.keywords)
    except TypeError as error:
        shown = signature.replace(return_annotation=signature.empty)
        raise TilegenError("TG0005", f"T.{operation.name}: {error}", builder.loc,
                           f"its arguments are {shown}") from error
    saved = builder.arguments, builder.result_name
    builder.arguments = {name: parser.loc(place) for name, place in arguments.places(signature).items()}
    builder.result_name = result_name
    try:
        result = function(*arguments.positional, **arguments.keywords)
        parser.fresh = result if operation.name == "alloc_var" else None
        return result
    finally:
        builder.arguments, builder.result_name = saved


def _bound(parser: Parser, callee: Any, arguments: Arguments, node: ast.Call) -> Any:
    try:
        return callee(*arguments.positional, **arguments.keywords)
    except TypeError as error:
        raise parser.error("TG0005", str(error), node) from error


def _python(parser: Parser, callee: Any, arguments: Arguments, node: ast.Call) -> Any:
    """A function of plain Python: it may take and give Python values only."""
    if not callable(callee):
        raise parser.error("TG0004", f"{describe(callee)} cannot be called", node)
    name = getattr(callee, "__name__", type(callee).__name__)
    if parser.frame.derives:
        raise parser.error("TG0001", f"{name} was called by the factory, and is not called again", node)
    if any(isinstance(value, (ir.Expr, ir.Buffer, ir.Region, FormattedText)) for value in arguments.values):
        raise parser.error("TG0001", f"{name} is a Python function, which cannot take values of the kernel",
                           node,
                           f"put @T.macro on {name}" if inspect.isfunction(callee) else
                           "use a function of T, or compute it outside of the kernel")
    try:
        value = callee(*arguments.positional, **arguments.keywords)
    except Exception as error:
        raise parser.error("TG0005", f"{name} failed: {type(error).__name__}: {error}", node) from error
    if isinstance(value, tuple):
        return tuple(parser.size(item) if isinstance(item, Size) else item for item in value)
    return parser.size(value) if isinstance(value, Size) else value
