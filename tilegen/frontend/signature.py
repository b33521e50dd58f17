"""The parameters of a kernel function: tensors, scalars, knobs, and plain Python values."""

from __future__ import annotations

import ast
import inspect
from typing import Any

from tilegen import ir
from tilegen.dtypes import float64, lookup
from tilegen.errors import Loc, TilegenError
from tilegen.frontend.parser import Parser, Undeclared
from tilegen.language.reserved import require_free
from tilegen.language.sizes import Size
from tilegen.language.tensors import ACCESSES, ByTarget, TensorType
from tilegen.language.text import describe
from tilegen.language.values import as_dtype, as_shape, is_number
from tilegen.strided import StridedBuffer


class Signature:
    """Reads the parameters in two steps: knobs first, since the shapes of tensors may use them."""

    def __init__(self, parser: Parser, function: Any):
        self.parser = parser
        self.parameters = inspect.signature(function).parameters
        self.params: list[ir.Param] = []
        self.undeclared: dict[str, ast.arg] = {}      # parameters without annotation and value
        arguments = parser.frame.source.node.args
        self.nodes = {a.arg: a for a in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)}
        for bad in (arguments.vararg, arguments.kwarg):
            if bad is not None:
                raise parser.error("TG0001", f"*{bad.arg} cannot be a parameter of a kernel", bad,
                                   "write the parameters out")

    def read(self) -> None:
        for name, node in self.nodes.items():
            require_free(name, "a parameter", self.parser.loc(node))
            if self.parameters[name].default is not inspect.Parameter.empty:
                self._default(name, self.parameters[name].default, node)
        required = [name for name in self.nodes if self.parameters[name].default is inspect.Parameter.empty]
        is_tensor = {name: isinstance(self.nodes[name].annotation, (ast.Call, ast.Subscript))
                     for name in required}
        for name in sorted(required, key=is_tensor.get):         # shapes may use the numbers
            self._annotated(name, self.nodes[name])
        self.params.sort(key=lambda param: list(self.nodes).index(param.name))
        self._refresh_knobs()

    def _default(self, name: str, value: Any, node: ast.arg) -> None:
        parser, given = self.parser, self.parser.constants.values
        if isinstance(value, ByTarget):
            value = value.choose(parser.builder.target, parser.builder.arch)
        if isinstance(value, Size):
            value = parser.size(value)
        elif isinstance(value, (int, float)) and not isinstance(value, bool):
            value = parser.constants.declare(name, value, ("signature",), loc=parser.loc(node))
        elif name in given:
            parser.constants.consumed.add(name)
            value = given[name]
        parser.bind(name, value, node)

    def _annotated(self, name: str, node: ast.arg) -> None:
        parser = self.parser
        annotation = self._annotation(name, node)
        if isinstance(annotation, TensorType):
            self._tensor(name, annotation, node)
        elif annotation is not None and lookup_or_none(annotation):
            self._scalar(name, annotation, node)
        elif annotation is not None:
            raise parser.error("TG0010", f"the annotation of {name} is {describe(annotation)}",
                               node.annotation,
                               'write T.Tensor((M, K), "float16") for a tensor, T.float32 for a number')
        elif name in parser.constants.values:
            self._given(name, node)
        else:
            self.undeclared[name] = node
            parser.frame.scope.values[name] = Undeclared(name)
            self.params.append(ir.Param(name, loc=parser.loc(node)))

    def _annotation(self, name: str, node: ast.arg) -> Any:
        """The annotation, read anew so that knobs and sizes keep their names. Where it uses a name that
        only the defining function had, it is what Python made of it."""
        if node.annotation is None:
            return None
        try:
            return self.parser.evaluate(node.annotation)
        except TilegenError as error:
            evaluated = self.parameters[name].annotation
            if error.code == "TG0002" and isinstance(evaluated, TensorType):
                return evaluated
            raise

    def _given(self, name: str, node: ast.arg) -> None:
        """A parameter without default, for which the caller gave a number or another Python value."""
        parser, value = self.parser, self.parser.constants.values[name]
        if is_number(value) and not isinstance(value, bool):
            value = parser.constants.declare(name, value, ("signature",), loc=parser.loc(node))
        parser.constants.consumed.add(name)
        parser.bind(name, value, node)

    def _scalar(self, name: str, annotation: Any, node: ast.arg) -> None:
        parser = self.parser
        dtype = as_dtype(annotation, parser.loc(node))
        var = ir.Var(parser.builder.unique(name), dtype, "scalar")
        self.params.append(ir.Param(name, var=var, loc=parser.loc(node)))
        parser.bind(name, var, node)

    def _tensor(self, name: str, annotation: TensorType, node: ast.AST) -> None:
        parser = self.parser
        loc = parser.loc(node)
        buffer = ir.Buffer(parser.builder.unique(name), tensor_shape(parser, name, annotation, loc),
                           as_dtype(annotation.dtype, _annotation_loc(parser, node)), "global", loc=loc)
        if annotation.strides is not None:
            buffer = _strided(parser, buffer, annotation)
        if annotation.access not in ACCESSES:
            raise TilegenError("TG0010", f"{name}: the access {annotation.access!r} is unknown", loc,
                               'access is "read", "write" or "readwrite"; leave it out to have it found')
        if buffer.dtype == float64:
            parser.builder.float_dtype = float64
        self.params.append(ir.Param(name, buffer=buffer, access=annotation.access, loc=loc))
        parser.bind(name, buffer, node)

    def declare(self, name: str, annotation: TensorType, node: ast.AnnAssign) -> None:
        """`A: T.Tensor(...)` in the body: the type of a parameter that has none in the signature."""
        if name not in self.undeclared:
            raise self.parser.error("TG0010", f"{name} is no parameter of the kernel", node,
                                    f"add {name} to the parameters, or write {name} = T.empty(...) for an "
                                    "output")
        del self.undeclared[name]
        position = next(n for n, param in enumerate(self.params) if param.name == name)
        self._tensor(name, annotation, node)
        self.params[position] = self.params.pop()
        self._refresh_knobs()

    def finish(self) -> tuple[ir.Param, ...]:
        """All parameters. Raises TG0501 for one that is neither a tensor nor has a value."""
        for name, node in self.undeclared.items():
            raise self.parser.error("TG0501", f"the parameter {name} has no value and no type", node,
                                    Undeclared(name).advice)
        return (*self.params, *self.parser.builder.outputs, *self.parser.builder.workspaces)

    def _refresh_knobs(self) -> None:
        """Knobs that are floats take the type of literals, which a float64 tensor decides."""
        values = self.parser.frame.scopes[0].values
        for name, value in values.items():
            if isinstance(value, ir.Var) and value.kind == "knob":
                values[name] = self.parser.constants.var(value.name)


def lookup_or_none(annotation: Any) -> bool:
    try:
        return lookup(annotation) is not None
    except TypeError:
        return False


def _annotation_loc(parser: Parser, node: ast.AST) -> Loc:
    annotation = getattr(node, "annotation", None)
    return parser.loc(annotation if annotation is not None else node)


def tensor_shape(parser: Parser, name: str, annotation: TensorType, loc: Loc) -> tuple[ir.Expr, ...]:
    """The extents of an annotation; a text is a size, or arithmetic on sizes. Raises TG0010."""
    shape = annotation.shape if isinstance(annotation.shape, (tuple, list)) else (annotation.shape,)
    if not shape:
        raise TilegenError("TG0010", f"{name} has no dimensions", loc, "a tensor has one at least: (1,)")
    return as_shape(tuple(_extent(parser, name, item, loc) for item in shape), name, loc)


def _strided(parser: Parser, buffer: ir.Buffer, annotation: TensorType) -> StridedBuffer:
    """The tensor of a T.StridedTensor. Raises TG0010, TG0102 for elements of 4 bits."""
    strides = annotation.strides if isinstance(annotation.strides, (tuple, list)) else (annotation.strides,)
    if len(strides) != len(buffer.shape):
        raise TilegenError("TG0010", f"{buffer.name} has {len(buffer.shape)} dimensions and {len(strides)} strides",
                           buffer.loc, "write one stride for each dimension, in elements")
    if buffer.dtype.bits < 8:
        raise TilegenError("TG0102", f"{buffer.name}: elements of {buffer.dtype} share bytes, and have no strides",
                           buffer.loc, "write T.Tensor")
    steps = as_shape(tuple(_extent(parser, buffer.name, item, buffer.loc) for item in strides), buffer.name, buffer.loc)
    return StridedBuffer(buffer.name, buffer.shape, buffer.dtype, "global", steps, loc=buffer.loc)


def _extent(parser: Parser, name: str, item: Any, loc: Loc) -> Any:
    if isinstance(item, Size):
        return parser.size(item)
    if not isinstance(item, str):
        return item
    try:
        tree = ast.parse(item.strip(), mode="eval").body
    except SyntaxError as error:
        raise TilegenError("TG0010", f"{name}: the extent {item!r} is not a name", loc,
                           'write a name such as "M"') from error
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and parser.frame.find(node.id) is None:
            if node.id in inspect.signature(parser.frame.outside.function).parameters:
                raise TilegenError("TG0010", f"{name}: {node.id} is a tensor, which cannot be an extent", loc,
                                   "choose another name for the size")
            require_free(node.id, "a size", loc)
            parser.frame.scopes[0].values[node.id] = parser.size(Size(ir.Var(node.id, kind="size")))
            parser.frame.scopes[0].places[node.id] = loc
        if hasattr(node, "lineno"):
            node.lineno = node.end_lineno = loc.line
            node.col_offset = node.end_col_offset = loc.column
    return parser.evaluate(tree)
