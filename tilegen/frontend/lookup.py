"""What a name means: bound in the kernel, a knob from outside, a size, or a Python object."""

from __future__ import annotations

import ast
import math
from types import ModuleType
from typing import Any

from tilegen import arith, ir
from tilegen.errors import TilegenError
from tilegen.frontend.constants import assignment_of, is_simple
from tilegen.frontend.outside import MISSING
from tilegen.frontend.parser import Frame, Parser, Undeclared
from tilegen.frontend.suggest import did_you_mean
from tilegen.language.sizes import Size
from tilegen.language.tensors import ByTarget
from tilegen.language.text import describe

_CONSTANT_MODULES = ("math", "cmath", "numpy", "torch", "cupy")


def resolve(parser: Parser, node: ast.Name) -> Any:
    """The value of a name. Raises TG0002 for an unknown name, TG0112 for one that has no value here."""
    name, frame = node.id, parser.frame
    found = frame.find(name)
    if found is not None and isinstance(found[1], Undeclared):
        raise parser.error("TG0501", f"the parameter {name} has no value and no type", node, found[1].advice)
    if found is not None:
        return found[1]
    if name in frame.expired:
        raise _expired(parser, node)
    if name in frame.names.written:
        raise parser.error("TG0112", f"{name} is used before it has a value", node,
                           f"assign {name} before this line, outside of branches and loops")
    value = frame.outside.lookup(name)
    if value is MISSING:
        known = set(frame.outside.visible()).union(*(scope.values for scope in frame.scopes))
        raise parser.error("TG0002", f"unknown name {name}", node, did_you_mean(name, known))
    return from_outside(parser, name, value, node)


def _expired(parser: Parser, node: ast.Name) -> TilegenError:
    place, kind = parser.frame.expired[node.id]
    where = {"branch": "only in a branch", "parallel": "only inside of a T.Parallel loop",
             "kernel": "only inside of T.Kernel"}.get(kind, "only inside of a loop")
    hint = f"give {node.id} a value before the {'branch' if kind == 'branch' else 'loop'}"
    return parser.error("TG0112", f"{node.id} has no value here: it is bound {where}, at line {place.line}",
                        node, hint if kind in ("branch", "loop", "parallel") else "")


def from_outside(parser: Parser, name: str, value: Any, node: ast.AST) -> Any:
    """A value of the surrounding Python as the kernel sees it: numbers become knobs called `name`."""
    if isinstance(value, ByTarget):
        return from_outside(parser, name, value.choose(parser.builder.target, parser.builder.arch), node)
    if isinstance(value, Size):
        return parser.size(_derived_size(parser, name, value, node))
    value = plain_number(value)
    if isinstance(value, bool):
        return _flag(parser, name, value)
    if isinstance(value, (int, float)) and math.isfinite(value):
        return _knob(parser, name, value, node)
    return _sequence(parser, name, value, node) if isinstance(value, (tuple, list)) else value


def plain_number(value: Any) -> Any:
    """A NumPy number as Python's own; anything else as it is."""
    return value.item() if getattr(value, "shape", None) == () and hasattr(value, "item") else value


def _flag(parser: Parser, name: str, value: bool) -> bool:
    """A truth value: a part of Python, that decides while the kernel is read."""
    given = parser.constants.values.get(name, value)
    parser.constants.consumed.add(name)
    return bool(given)


def _knob(parser: Parser, name: str, value: int | float, node: ast.AST) -> ir.Var:
    constants = parser.constants
    known = constants.known(name, (value,))
    if known is not None:
        return known
    written = _written(parser, name, node)
    expr = _derived(parser, written, value) if written is not None and is_simple(written) else None
    comment = "" if written is None or expr is not None else _computed(parser, name, written)
    fixed = isinstance(value, float) and isinstance(node, ast.Name) and parser.frame.outside.is_global(name)
    return constants.declare(name, value, (value,), expr=expr, comment=comment, fixed=fixed, loc=parser.loc(node))


def _written(parser: Parser, name: str, node: ast.AST) -> ast.expr | None:
    """What the factory or module assigns to a name; attributes and items have no such line."""
    return assignment_of(name, parser.frame.source.around) if isinstance(node, ast.Name) else None


def _derived(parser: Parser, written: ast.expr, value: int | float) -> ir.Expr | None:
    """`written`, from the factory, over knobs, if that gives `value`."""
    expr = _in_factory(parser, written)
    if not isinstance(expr, ir.Expr) or not arith.names(expr):
        return None
    return expr if arith.evaluate(expr, parser.constants.originals) == value else None


def _derived_size(parser: Parser, name: str, value: Size, node: ast.AST) -> Size:
    """A size that the factory computed, such as `M // block_M`, over the names of knobs."""
    written = None if isinstance(value.expr, ir.Var) else _written(parser, name, node)
    expr = _in_factory(parser, written) if written is not None and is_simple(written) else None
    return Size(expr) if _stands_for(parser, expr, value) else value


def _in_factory(parser: Parser, written: ast.expr) -> Any:
    """The value of an expression of the factory over the names of knobs; None where it has none."""
    frame = parser.frame
    try:
        with parser.enter(Frame(frame.source, frame.outside, derives=True)):
            return parser.evaluate(written)
    except TilegenError:
        return None


def _sequence(parser: Parser, name: str, value: tuple | list, node: ast.AST) -> tuple | list:
    """A tuple such as `shape = (M, N)`, over the names of knobs where the factory writes it so."""
    written = _written(parser, name, node)
    items = _in_factory(parser, written) if isinstance(written, (ast.Tuple, ast.List)) else None
    if not isinstance(items, tuple) or len(items) != len(value):
        return value
    return tuple(item if _stands_for(parser, item, known) else known for item, known in zip(items, value))


def _stands_for(parser: Parser, item: Any, value: Any) -> bool:
    if isinstance(value, Size) and isinstance(item, ir.Expr):
        numbers = {name: ir.Const(number) for name, number in parser.constants.originals.items()}
        return arith.fold(ir.substitute(item, numbers)) == value.expr
    return isinstance(item, ir.Expr) and arith.evaluate(item, parser.constants.originals) == value


def _computed(parser: Parser, name: str, written: ast.expr) -> str:
    """The remark on a knob whose value Python computed in a way that the emitted file cannot repeat."""
    names = {n.id for n in ast.walk(written) if isinstance(n, ast.Name)}
    if not any(isinstance(parser.frame.outside.lookup(part), (int, float)) for part in names):
        return ""
    for changed in sorted(names & set(parser.constants.values)):
        raise TilegenError("TG0503", f"{changed} cannot be set here: {name} was computed from it by Python",
                           parser.frame.source.loc(written), f"call the factory with {changed}=...")
    return f"computed in Python: {ast.unparse(written)}"


def attribute_of(parser: Parser, value: Any, node: ast.Attribute) -> Any:
    """`value.name` of a Python object; numbers of a configuration object become knobs."""
    name = node.attr
    result = getattr(value, name, MISSING)
    if result is MISSING:
        kind = value.__name__ if isinstance(value, ModuleType) else describe(value)
        raise parser.error("TG0002", f"{kind} has no {name}", node, did_you_mean(name, dir(value)))
    module = value.__name__.split(".")[0] if isinstance(value, ModuleType) else ""
    if module in _CONSTANT_MODULES:
        return result
    return from_outside(parser, name, result, node)
