"""What an operation of T builds into, and the decorator that makes a function such an operation.

The front end keeps one `Builder` per kernel. An operation asks for it with `current()`, so that one
function holds the signature, the documentation and the IR of the operation.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

from tilegen import arith, ir
from tilegen.dtypes import DType, float32
from tilegen.errors import Loc, TilegenError
from tilegen.language.sizes import Size

_active: ContextVar[Builder | None] = ContextVar("tilegen_builder", default=None)


@dataclass
class Block:
    """The statements of one block so far, and the names that they declare."""

    statements: list[ir.Stmt] = field(default_factory=list)
    names: set[str] = field(default_factory=set)
    kind: str = ""                       # parallel: the body of T.Parallel


@dataclass(frozen=True)
class WarpTiles:
    """How a fragment that was declared as the tile of one warp covers the tile of the block."""

    tile: tuple[int, int]
    warps: tuple[int, int]
    shape: tuple[ir.Expr, ir.Expr]       # of the block's tile


class Reread(Exception):
    """A fragment turned out to be one of warp tiles: read the kernel again, with the block's tile for it."""

    def __init__(self, place: Loc | None, tiles: WarpTiles):
        super().__init__(place, tiles)
        self.place, self.tiles = place, tiles


class Builder:
    """The kernel that is being built, and the call that is being read."""

    def __init__(self, target: str, numbers: dict[str, int | float | bool],
                 reserved: frozenset[str] = frozenset()):
        self.target = target
        self.arch = ""
        self.reserved = reserved             # names that the emitted languages have already
        self.numbers = numbers               # the values of knobs and of sizes that are fixed
        self.loc: Loc | None = None          # of the call or statement that is being read
        self.arguments: dict[str, Loc] = {}  # of each argument of that call
        self.result_name = ""                # the Python name that receives the result
        self.inside_kernel = False
        self.block_vars: tuple[ir.Var, ...] = ()
        self.threads: tuple[ir.Expr, ...] = ()
        self.grid: tuple[ir.Expr, ...] = ()
        self.blocks: list[Block] = [Block()]
        self.loops: list[str] = []           # kinds of the loops around, innermost last
        self.float_dtype: DType = float32    # of literals and knobs that meet nothing
        self.requires: list[ir.Expr] = []
        self.stream: Any = None              # of random numbers, from T.rng_init
        self.reducers: dict[str, str] = {}   # buffer name -> operation, from T.alloc_reducer
        self.outputs: list[ir.Param] = []
        self.safe_values: dict[str, ir.Expr] = {}    # of T.annotate_safe_value, by buffer
        self.workspaces: list[ir.Param] = []
        self.sources: list[str] = []         # of T.import_source
        self.wishes: list[ir.Wish] = []
        self.warp_tiles: dict[Loc | None, WarpTiles] = {}    # by the place where a fragment is allocated
        self.taken: set[str] = set()         # names that no other declaration may use again
        self.used: set[str] = set()          # names of lets, which sibling blocks may share

    @property
    def block(self) -> Block:
        return self.blocks[-1]

    def emit(self, statement: ir.Stmt) -> None:
        self.block.statements.append(statement)

    def argument(self, name: str) -> Loc | None:
        """Where the argument `name` of the present call is written."""
        return self.arguments.get(name, self.loc)

    def number(self, value: Any) -> int | float | bool | None:
        """The number that `value` is for the present knobs, or None."""
        if isinstance(value, ir.Expr):
            return arith.evaluate(self.constant(value), self.numbers)
        return value if isinstance(value, (int, float)) else None

    def constant(self, value: ir.Expr) -> ir.Expr:
        """`value` with the lets that stand for constants written out."""
        lets = {s.var.name: s.value for block in self.blocks for s in block.statements
                if isinstance(s, ir.Let) and s.var.name in arith.names(value)}
        return self.constant(ir.substitute(value, lets)) if lets else value

    def unique(self, name: str, suffix: str = "") -> str:
        """`name`, or a name made from it that nothing else in the kernel has; it is taken then."""
        name = f"{name}_" if name in self.reserved else name
        candidates = [name, f"{name}_{suffix}"] if suffix else [name]
        number = 1
        while True:
            for candidate in candidates:
                if candidate not in self.taken and candidate not in self.used:
                    self.taken.add(candidate)
                    return candidate
            number += 1
            candidates = [f"{name}_{number}"]

    def local(self, name: str) -> str:
        """`name`, or a name made from it that is not visible in the present block; declared there."""
        name = f"{name}_" if name in self.reserved else name
        visible = self.taken.union(*(block.names for block in self.blocks))
        number, candidate = 1, name
        while candidate in visible:
            number += 1
            candidate = f"{name}_{number}"
        self.block.names.add(candidate)
        self.used.add(candidate)
        return candidate

    def let(self, name: str, value: ir.Expr) -> ir.Var:
        """A name for `value` from here to the end of the block."""
        var = ir.Var(self.local(name), value.dtype, "let")
        self.emit(ir.Let(var, value, loc=self.loc))
        return var


def current() -> Builder:
    """The builder of the kernel that is being read. Only operations call it, and only inside one."""
    builder = _active.get()
    assert builder is not None, "an operation ran without a builder"
    return builder


def activate(builder: Builder | None):
    """Makes `builder` the current one; returns the token for `deactivate`."""
    return _active.set(builder)


def deactivate(token) -> None:
    """Makes the builder current again that was so before `activate` gave `token`."""
    _active.reset(token)


@dataclass(frozen=True)
class Operation:
    """What the front end has to know of an operation. place: kernel (inside T.Kernel only), function
    (anywhere in a kernel function), scalar (also in plain Python, on numbers)."""

    name: str
    place: str
    signature: inspect.Signature
    takes_tiles: bool
    takes_functions: bool


def operation(place: str = "kernel", takes_tiles: bool = False, takes_functions: bool = False) -> Callable:
    """Makes a function an operation of T. With `takes_tiles`, an element `A[i, j]` among its arguments
    stands for a place, not for the value there; with `takes_functions` they may be lambdas and dicts."""
    def decorate(function):
        @functools.wraps(function)
        def call(*args, **keywords):
            if _active.get() is None:
                return _outside(function, place, args, keywords)
            return function(*args, **keywords)

        call.operation = Operation(function.__name__, place, inspect.signature(function), takes_tiles,
                                   takes_functions)
        return call
    return decorate


def _outside(function, place: str, args, keywords):
    if place != "scalar":
        raise TilegenError("TG0006", f"T.{function.__name__} was called by Python, outside of a kernel",
                           hint="call it in a function under @tilegen.jit or @T.prim_func")
    token = _active.set(Builder("cuda", {}))
    try:
        result = function(*args, **keywords)
        return Size(result) if isinstance(result, ir.Expr) else result
    finally:
        _active.reset(token)
