"""The parser's state and its two dispatchers, which alone set locations.

`statements.py`, `expressions.py` and their neighbours register one handler per syntax class with
`@statement(...)` and `@expression(...)`.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

from tilegen import arith, ir
from tilegen.dtypes import DType
from tilegen.errors import Loc, TilegenError
from tilegen.frontend.names import Names, analyse
from tilegen.frontend.outside import Outside
from tilegen.frontend.source import Source
from tilegen.language.builder import Block, Builder
from tilegen.language.reserved import require_free
from tilegen.language.sizes import Size

STATEMENTS: dict[type, Callable] = {}
EXPRESSIONS: dict[type, Callable] = {}


def statement(*classes: type) -> Callable:
    """Registers the handler of these statement classes: (parser, node) -> None."""
    def register(handler):
        STATEMENTS.update(dict.fromkeys(classes, handler))
        return handler
    return register


def expression(*classes: type) -> Callable:
    """Registers the handler of these expression classes: (parser, node) -> value."""
    def register(handler):
        EXPRESSIONS.update(dict.fromkeys(classes, handler))
        return handler
    return register


@dataclass(eq=False)
class Scope:
    """The Python names bound in one block. kind: function, kernel, branch, loop, parallel."""

    kind: str
    values: dict[str, Any] = field(default_factory=dict)
    places: dict[str, Loc] = field(default_factory=dict)


@dataclass
class Hoist:
    """Where a variable is declared that a nested block binds first."""

    block: Block
    position: int
    parallel_depth: int                  # the number of T.Parallel loops around


@dataclass
class Frame:
    """One function that is being read: the kernel, or a macro at one of its calls."""

    source: Source
    outside: Outside
    call_site: Loc | None = None
    names: Names = field(default_factory=Names)
    scopes: list[Scope] = field(default_factory=lambda: [Scope("function")])
    expired: dict[str, tuple[Loc, str]] = field(default_factory=dict)     # bound in a block that has ended
    hoists: dict[str, Hoist] = field(default_factory=dict)                # where to declare a name
    hoisted: dict[str, tuple[Scope, ir.Buffer]] = field(default_factory=dict)
    outcome: Any = None                                                   # of `return`
    derives: bool = False                # reads a factory's arithmetic, where Python is not to be called

    @property
    def scope(self) -> Scope:
        return self.scopes[-1]

    def find(self, name: str) -> tuple[Scope, Any] | None:
        """The innermost scope that binds `name`, and its value."""
        for scope in reversed(self.scopes):
            if name in scope.values:
                return scope, scope.values[name]
        return None


@dataclass(frozen=True)
class Undeclared:
    """The value of a parameter whose type the body has still to give."""

    name: str

    @property
    def advice(self) -> str:
        return f"give it a value (-D {self.name}=...), a default, or a type T.Tensor(...)"


class Widen(Exception):
    """A variable that began as a literal takes values of a wider type: parse again, with `dtype` for it."""

    def __init__(self, key: tuple[str, Loc], dtype: DType):
        super().__init__(key, dtype)
        self.key, self.dtype = key, dtype


@dataclass
class Variable:
    """A mutable scalar that a Python name stands for."""

    key: tuple[str, Loc]
    is_literal: bool                     # its first value was a literal, so that its type may still widen
    parallel_depth: int


class Parser:
    """Reads one kernel function into a Builder."""

    def __init__(self, builder: Builder, constants, widened: dict[tuple[str, Loc], DType]):
        self.builder = builder
        self.constants = constants           # the knobs, see constants.py
        self.widened = widened
        self.frames: list[Frame] = []
        self.variables: dict[ir.Buffer, Variable] = {}
        self.loops = builder.loops           # kinds of the loops around, innermost last
        self.whole: ast.expr | None = None   # the value of the present assignment or call statement
        self.fresh: ir.Buffer | None = None  # what T.alloc_var has just made
        self.functions = 0                   # calls around that take lambdas and dicts
        self.pending_name = ""               # the name that the next call's result is assigned to
        self.launches: list[ir.Kernel] = []          # each T.Kernel, without parameters and sizes yet
        self.declared: dict[str, ir.Buffer] = {}     # tensors annotated in the body

    @property
    def frame(self) -> Frame:
        return self.frames[-1]

    def loc(self, node: ast.AST) -> Loc:
        return self.frame.source.loc(node, self.frame.call_site)

    def error(self, code: str, message: str, node: ast.AST, hint: str = "") -> TilegenError:
        return TilegenError(code, message, self.loc(node), hint)

    @property
    def parallel_depth(self) -> int:
        return self.loops.count("parallel")

    # ---- Dispatch --------------------------------------------------------------------------------
    def evaluate(self, node: ast.expr) -> Any:
        """The value of an expression: a number, an IR expression, a tile, or any Python object."""
        handler = EXPRESSIONS.get(type(node), EXPRESSIONS[ast.expr])
        value = self._located(handler, node)
        if isinstance(value, (ir.Expr, ir.Region)):
            return replace(value, loc=self.loc(node))
        return value

    def execute(self, node: ast.stmt) -> None:
        """Builds the IR of a statement."""
        for name, identities in self.frame.names.hoisted.items():
            if id(node) in identities:
                block = self.builder.block
                self.frame.hoists[name] = Hoist(block, len(block.statements), self.parallel_depth)
                self.frame.hoisted.pop(name, None)
        self._located(STATEMENTS.get(type(node), STATEMENTS[ast.stmt]), node)

    def _located(self, handler: Callable, node: ast.AST) -> Any:
        previous, self.builder.loc = self.builder.loc, self.loc(node)
        try:
            return handler(self, node)
        except TilegenError as error:
            if error.loc is not None:
                raise
            raise error.with_loc(self.builder.loc) from error
        finally:
            self.builder.loc = previous

    def body(self, statements: list[ast.stmt]) -> None:
        for node in statements:
            self.execute(node)

    # ---- Blocks and frames -----------------------------------------------------------------------
    @contextmanager
    def block(self, kind: str) -> Iterator[Block]:
        """A nested block: a Python scope and an IR block, both ended afterwards."""
        block = Block(kind=kind)
        self.builder.blocks.append(block)
        self.frame.scopes.append(Scope(kind))
        try:
            yield block
        finally:
            scope = self.frame.scopes.pop()
            self.frame.expired.update({name: (place, kind) for name, place in scope.places.items()})
            self.builder.blocks.pop()

    @contextmanager
    def enter(self, frame: Frame) -> Iterator[Frame]:
        """Reads another function: the innermost frame while it lasts."""
        self.frames.append(frame)
        try:
            yield frame
        finally:
            self.frames.pop()

    def analyse_names(self) -> None:
        """Finds out which names of the present frame are variables; its arguments are bound already."""
        function = self.frame.source.node
        self.frame.names = analyse(function, lambda test: self.decided(test))

    def decided(self, test: ast.expr) -> bool | None:
        """The truth of a condition that involves no value of the kernel, else None."""
        try:
            value = self.evaluate(test)
        except TilegenError:
            return None
        return None if isinstance(value, (ir.Expr, ir.Buffer, ir.Region)) else bool(value)

    def size(self, size: Size) -> ir.Expr:
        """The expression of a size; its names are not for anything else in the kernel."""
        for name in arith.names(size.expr) - self.builder.taken:
            require_free(name, "a size", self.builder.loc)
            self.builder.taken.add(name)
        return size.expr

    def bind(self, name: str, value: Any, node: ast.AST) -> None:
        """Binds a Python name in the present scope."""
        self.frame.scope.values[name] = value
        self.frame.scope.places[name] = self.loc(node)
