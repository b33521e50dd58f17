"""The way from a Python function to an `ir.Kernel`."""

from __future__ import annotations

import ast
import inspect
from dataclasses import replace
from typing import Any

from tilegen import arith, ir
from tilegen.dtypes import DType, int32
from tilegen.errors import Loc, TilegenError
from tilegen.frontend import blocks, calls, expressions, statements, subscripts
from tilegen.frontend.access import with_access
from tilegen.frontend.constants import Constants, assigned_names, parameters_of, variables
from tilegen.frontend.launches import divided, joined, sizes_of
from tilegen.frontend.lookup import plain_number
from tilegen.frontend.outside import Outside
from tilegen.frontend.parser import Frame, Parser, Widen
from tilegen.frontend.signature import Signature
from tilegen.frontend.source import Source, source_of
from tilegen.frontend.suggest import did_you_mean
from tilegen.language.builder import Builder, Reread, WarpTiles, activate, deactivate
from tilegen.language.reserved import REGISTER_TILE, RESERVED, TYPES
from tilegen.language.tensors import ByTarget, Macro, PrimFunc, dynamic

HANDLERS = (blocks, calls, expressions, statements, subscripts)     # each registers its own
_PLAIN_NAMES = ("main", "kernel", "func", "fn", "_")     # the factory's name says more


def parse(function: Any, *, target: str = "cuda", arch: str = "", values: dict[str, Any] | None = None) -> ir.Kernel:
    """The Tile IR of a kernel: a function with tensor parameters, a factory, or what the factory returns.

    `values` gives numbers by name: a knob gets that value; a size becomes a knob with it. Raises
    TilegenError for whatever a kernel cannot hold, TG0503 for a name in `values` that the kernel lacks,
    TG0501 for a parameter of a factory that has no value.
    """
    given = {name: plain_number(value) for name, value in (values or {}).items()}
    if not isinstance(function, PrimFunc) and form(function) == "factory":
        rest = {name: value for name, value in given.items()
                if name not in inspect.signature(function).parameters}
        made = instantiate(function, target=target, arch=arch, values=given)
        return parse(made, target=target, arch=arch, values=rest)
    names = function.names if isinstance(function, PrimFunc) else {}
    plain = inspect.unwrap(function.function if isinstance(function, PrimFunc) else function)
    source = source_of(plain)
    widened: dict[tuple[str, Loc], DType] = {}
    warp_tiles: dict[Loc | None, WarpTiles] = {}
    while True:                  # each turn is about one more variable or fragment, of which there are finitely many
        try:
            return _parse(plain, names, source, (target, arch), given, widened, warp_tiles)
        except Widen as wider:
            widened[wider.key] = wider.dtype
        except Reread as found:
            warp_tiles[found.place] = found.tiles


def form(function: Any) -> str:
    """"factory" for a function that defines a kernel under @T.prim_func and returns it, else "direct"."""
    if isinstance(function, (PrimFunc, Macro)):
        return "direct"
    node = source_of(inspect.unwrap(function)).node
    inner = [n for n in ast.walk(node) if isinstance(n, ast.FunctionDef) and n is not node]
    marks = [ast.unparse(d).split("(")[0] for n in inner for d in n.decorator_list]
    return "factory" if any(mark.split(".")[-1] == "prim_func" for mark in marks) else "direct"


def instantiate(factory: Any, *, target: str = "cuda", arch: str = "",
                values: dict[str, Any] | None = None) -> PrimFunc:
    """Calls a factory with the numbers in `values`, its defaults, and the defaults of `target`.

    The text "dynamic" for a value stands for `T.dynamic(name)`. Raises TG0501 for a missing value.
    """
    source = source_of(inspect.unwrap(factory))
    arguments, given = {}, values or {}
    for name, parameter in inspect.signature(factory).parameters.items():
        if name in given:
            arguments[name] = dynamic(name) if given[name] == "dynamic" else given[name]
        elif isinstance(parameter.default, ByTarget):
            arguments[name] = parameter.default.choose(target, arch)
        elif parameter.default is parameter.empty and parameter.kind not in (parameter.VAR_POSITIONAL,
                                                                             parameter.VAR_KEYWORD):
            raise TilegenError("TG0501", f"{name} of {source.node.name} has no value", source.name_loc(),
                               f"give it one: -D {name}=1024, or -D {name}=dynamic for a size known at "
                               "launch")
    try:
        kernel = factory(**arguments)
    except TilegenError:
        raise
    except Exception as error:
        raise TilegenError("TG0005", f"{source.node.name} failed: {type(error).__name__}: {error}",
                           source.name_loc()) from error
    if not isinstance(kernel, PrimFunc):
        raise TilegenError("TG0009", f"{source.node.name} returns {type(kernel).__name__}, not a kernel",
                           source.name_loc(), "return the function that is under @T.prim_func")
    return kernel


def _parse(function: Any, names: dict[str, Any], source: Source, target: tuple[str, str], values: dict[str, Any],
           widened: dict, warp_tiles: dict) -> ir.Kernel:
    numbers = {name: value for name, value in values.items() if isinstance(value, (int, float))}
    builder = Builder(target[0], numbers, RESERVED | TYPES)
    builder.arch = target[1]
    builder.warp_tiles = warp_tiles
    parser = Parser(builder, Constants(builder, values), widened)
    token = activate(builder)
    try:
        with parser.enter(Frame(source, Outside(function, names))):
            signature = Signature(parser, function)
            signature.read()
            parser.declare_tensor = signature.declare
            parser.analyse_names()
            parser.body(source.node.body)
            return _finish(parser, signature, function)
    finally:
        deactivate(token)


def _finish(parser: Parser, signature: Signature, function: Any) -> ir.Kernel:
    source, builder = parser.frame.source, parser.builder
    if not parser.launches:
        raise TilegenError("TG0009", f"{source.node.name} has no T.Kernel", source.name_loc(),
                           "put the work into: with T.Kernel(blocks, threads=128) as bx:")
    params = signature.finish()
    launches = [replace(launch, body=(*_used_lets(parser, launch), *launch.body)) for launch in parser.launches]
    kernel = joined(launches, ir.Kernel(_kernel_name(source), params, (), (), (), (), (), (), tuple(builder.requires),
                                        loc=source.name_loc(), sources=tuple(builder.sources)))
    _require_sizes(parser, params, kernel)
    kernel, fixed = _fix_sizes(kernel, parser.constants)
    _require_known(parser, signature, fixed, function)
    locals_of_factories = [name for factory in source.factories for name in assigned_names(factory)]
    order = [*signature.parameters, *_factory_parameters(source), *locals_of_factories]
    kernel = replace(kernel, knobs=parser.constants.used(kernel, order), sizes=sizes_of(kernel))
    return divided(with_access(_apart(kernel) if builder.target == "cpu" else kernel))


def _apart(kernel: ir.Kernel) -> ir.Kernel:
    """`kernel` without knobs and local names that C++ files give to the constants of their vectors: these get a `_`.
    Parameters and sizes keep their names, by which a caller passes them."""
    kept = {p.name for p in kernel.params} | {size.name for size in kernel.sizes}
    taken = {n.name for n in ir.walk(kernel) if isinstance(n, (ir.Var, ir.Knob, ir.Buffer))}
    others = {name: _free(name, taken) for name in REGISTER_TILE if name in taken - kept}

    def rule(n: ir.Node):
        named = isinstance(n, (ir.Var, ir.Knob, ir.Buffer)) and n.name in others
        return replace(n, name=others[n.name]) if named else None
    return ir.rewrite(kernel, rule) if others else kernel


def _free(name: str, taken: set[str]) -> str:
    """`name` with as many `_` as it takes."""
    while name in taken:
        name += "_"
    return name


def _used_lets(parser: Parser, launch: ir.Kernel) -> list[ir.Stmt]:
    """The constants bound before T.Kernel that its body uses, in order."""
    lets = [s for s in parser.builder.blocks[0].statements if isinstance(s, ir.Let)]
    needed = {name for s in launch.body for name in arith.names(s)}
    result = []
    for let in reversed(lets):
        if let.var.name in needed:
            result.append(let)
            needed |= arith.names(let.value)
    return result[::-1]


def _kernel_name(source: Source) -> str:
    factories = source.factories
    name = factories[0].name if factories and source.node.name in _PLAIN_NAMES else source.node.name
    return f"{name}_kernel" if name in RESERVED else name


def _factory_parameters(source: Source) -> list[str]:
    return [name for factory in source.factories for name in parameters_of(factory)]


def _require_sizes(parser: Parser, params: tuple[ir.Param, ...], kernel: ir.Kernel) -> None:
    """Each size has to follow from the shape of a tensor, and has its name for itself."""
    shaped = {var.name for param in params if not param.workspace for var in variables(param)}
    for var in variables(kernel):
        if var.kind == "size" and var.name not in shaped and var.name not in parser.constants.values:
            raise TilegenError("TG0010", f"the size {var.name} is in no tensor's shape: nothing tells it",
                               var.loc or kernel.loc, f"add a parameter {var.name}: T.int32")
        if var.kind == "size" and var.name in parser.builder.used:
            raise TilegenError("TG0008", f"{var.name} is the name of a size, and of a value in the kernel",
                               var.loc or kernel.loc, "choose another name for one of them")


def _fix_sizes(kernel: ir.Kernel, constants: Constants) -> tuple[ir.Kernel, set[str]]:
    """Sizes that the caller gave a number become knobs."""
    fixed = {var.name for var in variables(kernel) if var.kind == "size"} & set(constants.values)
    for name in sorted(fixed):
        value = constants.values[name]
        if not isinstance(value, int) or isinstance(value, bool):
            raise TilegenError("TG0004", f"the size {name} is an integer, not {value!r}", kernel.loc)
        constants.knobs[name] = ir.Knob(name, value, loc=kernel.loc)
        constants.origins[name] = (name, "size")

    def rule(node: ir.Node):
        if isinstance(node, ir.Var) and node.kind == "size" and node.name in fixed:
            return ir.Var(node.name, int32, "knob", loc=node.loc)
        return None
    return (ir.rewrite(kernel, rule) if fixed else kernel), fixed


def _require_known(parser: Parser, signature: Signature, fixed: set[str], function: Any) -> None:
    source = parser.frame.source
    known = {*parser.constants.knobs, *parser.constants.consumed, *fixed, *_factory_parameters(source),
             *(name for name, p in signature.parameters.items() if p.default is not p.empty)}
    for name in parser.constants.values:
        if name not in known:
            sizes = {var.name for scope in parser.frame.scopes for var in scope.values.values()
                     if isinstance(var, ir.Var) and var.kind == "size"}
            raise TilegenError("TG0503", f"{_kernel_name(source)} has no knob or size {name}",
                               source.name_loc(),
                               did_you_mean(name, known | sizes)
                               or f"known are {', '.join(sorted(known | sizes))}")
