"""The knobs of a kernel: numbers from its signature, its factory and its module, under their own names."""

from __future__ import annotations

import ast
from typing import Any

from tilegen import arith, ir
from tilegen.errors import Loc, TilegenError
from tilegen.language.builder import Builder
from tilegen.language.reserved import require_free
from tilegen.language.values import default_dtype

Number = int | float


class Constants:
    """Knobs by name, in order of first use. `values` holds what the caller gave, by name."""

    def __init__(self, builder: Builder, values: dict[str, Any]):
        self.builder = builder
        self.values = values
        self.knobs: dict[str, ir.Knob] = {}
        self.origins: dict[str, tuple] = {}       # what a knob was made from, to tell namesakes apart
        self.originals: dict[str, Number] = {}    # the values without those of the caller
        self.consumed: set[str] = set()           # names of `values` that a knob has taken

    def var(self, name: str) -> ir.Var:
        value = self.knobs[name].value
        dtype = self.builder.float_dtype if isinstance(value, float) else default_dtype(value)
        return ir.Var(name, dtype, "knob")

    def known(self, name: str, origin: tuple) -> ir.Var | None:
        """The knob made from `origin`, if there is one; namesakes from other places have other names."""
        for knob, source in self.origins.items():
            if source == (name, *origin):
                return self.var(knob)
        return None

    def declare(self, name: str, value: Number, origin: tuple, *, expr: ir.Expr | None = None,
                comment: str = "", fixed: bool = False, loc: Loc | None = None) -> ir.Var:
        """A knob called `name` (or alike, where that is taken), with the caller's value if one was given."""
        require_free(name, "a knob", loc)
        unique = self.builder.unique(name)
        self.originals[unique] = value
        if name in self.values and name not in self.consumed:
            self.consumed.add(name)
            value, expr = self._given(name, value, loc), None
        elif expr is not None:
            value = arith.evaluate(expr, self.builder.numbers)
        self.knobs[unique] = ir.Knob(unique, value, comment, expr, fixed, loc=loc)
        self.origins[unique] = (name, *origin)
        self.builder.numbers[unique] = value
        return self.var(unique)

    def _given(self, name: str, default: Number, loc: Loc | None) -> Number:
        value = self.values[name]
        if isinstance(default, float) and isinstance(value, int) and not isinstance(value, bool):
            return float(value)
        if isinstance(value, bool) or not isinstance(value, type(default)):
            raise TilegenError("TG0004", f"{name} is {type(default).__name__} {default!r} by default, "
                               f"and cannot be {value!r}", loc)
        return value

    def used(self, kernel: ir.Kernel, order: list[str]) -> tuple[ir.Knob, ...]:
        """The knobs that `kernel` uses, and those that these follow from: first in the order of the
        signature, each after what it follows from."""
        names = {var.name for var in variables(kernel) if var.kind == "knob"}
        ranked = sorted(self.knobs, key=lambda name: order.index(name) if name in order else len(order))
        result: dict[str, ir.Knob] = {}

        def add(name: str) -> None:
            knob = self.knobs[name]
            for part in sorted(arith.names(knob.expr)) if knob.expr else ():
                if part not in result:
                    add(part)
            result.setdefault(name, knob)

        for name in ranked:
            if name in names:
                add(name)
        return tuple(result.values())


def variables(node: ir.Node) -> list[ir.Var]:
    """Every use of a variable inside of `node`, in order, those in options of loops too."""
    found: list[ir.Var] = []

    def note(inner: ir.Node) -> None:
        if isinstance(inner, ir.Var):
            found.append(inner)

    ir.rewrite(node, note)
    return found


def parameters_of(function: ast.FunctionDef) -> list[str]:
    """The names of a function's parameters, in order."""
    arguments = function.args
    return [a.arg for a in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)]


def assigned_names(function: ast.FunctionDef) -> list[str]:
    """The names that the function's own statements assign, in order."""
    return [node.id for statement in function.body if isinstance(statement, ast.Assign)
            for target in statement.targets for node in ast.walk(target) if isinstance(node, ast.Name)]


def assignment_of(name: str, around: tuple[ast.AST, ...]) -> ast.expr | None:
    """The one value that the factory (or the module) assigns to `name`, if it is assigned once."""
    for function in around:
        writes = [node for node in ast.walk(function) if isinstance(node, ast.Name) and node.id == name
                  and isinstance(node.ctx, ast.Store)]
        if isinstance(function, ast.FunctionDef) and name in parameters_of(function):
            return None
        if not writes:
            continue
        single = [s.value for s in function.body if isinstance(s, ast.Assign) and s.targets == [writes[0]]]
        return single[0] if len(writes) == 1 and single else None
    return None


_SIMPLE = (ast.BinOp, ast.UnaryOp, ast.Name, ast.Constant, ast.Attribute, ast.Call, ast.operator, ast.unaryop,
           ast.expr_context)


def is_simple(value: ast.expr) -> bool:
    """Arithmetic that the emitted file can repeat: operators, names, numbers, and calls such as T.ceildiv."""
    return all(isinstance(node, _SIMPLE) for node in ast.walk(value)) and not isinstance(value, ast.Constant)


