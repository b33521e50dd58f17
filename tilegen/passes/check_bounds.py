"""Finds accesses outside of shared, fragment and local tiles, with the loop values that lead there.

Precondition: the kernel as parsed. Effect: none, or TG0105 at the access. Only certain faults are
reported: values of the loop variables are tried, under the conditions around the access, and an access
that depends on sizes or data is left alone. Global tensors are not checked: outside of them reads give
zero and writes are dropped.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from tilegen import arith, ir
from tilegen.errors import Loc, TilegenError
from tilegen.language.text import allocated
from tilegen.passes.ranges import knob_values

_MOST_POINTS = 4096
Point = dict[str, int | float | bool]


@dataclass(frozen=True)
class Loop:
    var: ir.Var
    start: ir.Expr
    stop: ir.Expr
    step: ir.Expr


@dataclass(frozen=True)
class Around:
    """What encloses an access, outermost first: loops, constants, and conditions that hold."""

    parts: tuple[Loop | ir.Let | ir.Expr, ...]

    def inside(self, *parts: Loop | ir.Let | ir.Expr) -> Around:
        return replace(self, parts=(*self.parts, *parts))


def check_bounds(kernel: ir.Kernel, target=None) -> ir.Kernel:
    """`kernel`, when no access is certainly outside of its tile. Raises TG0105 with a counterexample.

    Before: `A_shared[i + 1, j]` for i below 128, A_shared (128, 32). After: "when i = 127, row 128 of 128".
    """
    knobs = knob_values(kernel)
    grid = tuple(Loop(var, ir.Const(0), extent, ir.Const(1)) for var, extent in zip(kernel.block_vars,
                                                                                    kernel.grid))
    _Checker(knobs).block(kernel.body, Around(grid))
    return kernel


class _Checker:
    def __init__(self, knobs: Mapping[str, int | float | bool]):
        self.knobs = dict(knobs)

    def block(self, statements: tuple[ir.Stmt, ...], around: Around) -> None:
        for statement in statements:
            self.statement(statement, around)
            if isinstance(statement, ir.Let) and statement.var.dtype.is_integer:
                around = around.inside(statement)

    def statement(self, node: ir.Stmt, around: Around) -> None:
        match node:
            case ir.Parallel():
                loops = [Loop(v, ir.Const(0), e, ir.Const(1)) for v, e in zip(node.vars, node.extents)]
                self.block(node.body, around.inside(*loops))
            case ir.For():
                left_early = any(isinstance(inner, (ir.Break, ir.Continue)) for inner in ir.walk(node.body))
                loop = () if left_early else (Loop(node.var, node.start, node.stop, node.step),)
                self.block(node.body, around.inside(*loop))
            case ir.While():
                self.block(node.body, around)
            case ir.If():
                self.expression(node.condition, around)
                self.block(node.then, around.inside(node.condition))
                self.block(node.otherwise, around.inside(_negated(node.condition)))
            case _:
                if isinstance(node, (ir.Store, ir.Atomic)):
                    self.element(node.buffer, node.indices, node.loc, around)
                for child in ir.children(node):
                    self.expression(child, around)

    def expression(self, node: ir.Node, around: Around) -> None:
        match node:
            case ir.Select():
                self.expression(node.condition, around)
                self.expression(node.a, around.inside(node.condition))
                self.expression(node.b, around.inside(_negated(node.condition)))
                return
            case ir.BinOp(op="and"):
                self.expression(node.a, around)
                self.expression(node.b, around.inside(node.a))
                return
            case ir.Load():
                self.element(node.buffer, node.indices, node.loc, around)
            case ir.Region():
                ends = tuple(arith.subtract(arith.add(o, e), 1) for o, e in zip(node.offsets, node.extents))
                self.element(node.buffer, node.offsets, node.loc, around)
                self.element(node.buffer, ends, node.loc, around)
        if not isinstance(node, ir.Buffer):
            for child in ir.children(node):
                self.expression(child, around)

    def element(self, buffer: ir.Buffer, indices: tuple[ir.Expr, ...], loc: Loc | None,
                around: Around) -> None:
        if buffer.scope not in ("shared", "fragment", "local"):
            return
        ranges = None
        for dimension, (index, size) in enumerate(zip(indices, buffer.shape)):
            extent = arith.evaluate(size, self.knobs)
            if extent is None:
                continue
            ranges = self.ranges(around) if ranges is None else ranges
            low, high = arith.bounds(index, ranges)
            if low < 0 or high >= extent:
                self.search(buffer, dimension, index, extent, loc, around)

    def ranges(self, around: Around) -> dict[str, arith.Range]:
        ranges: dict[str, arith.Range] = {name: (value, value) for name, value in self.knobs.items()}
        for part in around.parts:
            if isinstance(part, Loop):
                low, high = arith.bounds(part.start, ranges)[0], arith.bounds(part.stop, ranges)[1] - 1
                ranges[part.var.name] = (low, max(low, high))
            elif isinstance(part, ir.Let):
                ranges[part.var.name] = arith.bounds(part.value, ranges)
        return ranges

    def search(self, buffer, dimension: int, index: ir.Expr, extent: int, loc, around: Around) -> None:
        """Looks for values of the loop variables that lead outside: the ends of the loops first."""
        for ends_only in (True, False):
            for point in itertools.islice(_points(around.parts, dict(self.knobs), ends_only), _MOST_POINTS):
                value = arith.evaluate(index, point)
                if value is not None and not 0 <= value < extent:
                    raise _fault(buffer, dimension, index, value, extent, point, loc, around)


def _points(parts: tuple, point: Point, ends_only: bool) -> Iterator[Point]:
    """Values of the loop variables and constants that keep the conditions among `parts`."""
    if not parts:
        yield point
        return
    part, rest = parts[0], parts[1:]
    if isinstance(part, Loop):
        for value in _values(part, point, ends_only):
            yield from _points(rest, point if value is None else point | {part.var.name: value}, ends_only)
    elif isinstance(part, ir.Let):
        value = arith.evaluate(part.value, point)
        yield from _points(rest, point if value is None else point | {part.var.name: value}, ends_only)
    elif arith.evaluate(part, point):            # a condition that cannot be decided gives no point
        yield from _points(rest, point, ends_only)


def _values(loop: Loop, point: Point, ends_only: bool) -> list[int | None]:
    start, stop, step = (arith.evaluate(e, point) for e in (loop.start, loop.stop, loop.step))
    if start is None or stop is None or not step:
        return [None]
    values = range(start, stop, step)
    return list(dict.fromkeys((values[0], values[-1])) if ends_only
                else values[:_MOST_POINTS]) if values else []


def _negated(condition: ir.Expr) -> ir.Expr:
    return ir.UnOp("not", condition, condition.dtype)


def _fault(buffer, dimension, index, value, extent, point: Point, loc, around: Around) -> TilegenError:
    rank = len(buffer.shape)
    unit = "element" if rank == 1 else ("row", "column")[dimension - rank + 2] if rank - dimension <= 2 else \
        f"index of dimension {dimension}"
    used = arith.names(index)
    for part in around.parts:
        if isinstance(part, ir.Let) and part.var.name in used:
            used |= arith.names(part.value)
    loops = [p.var.name for p in around.parts if isinstance(p, Loop) and p.var.name in used
             and p.var.name in point]
    when = f"when {', '.join(f'{name} = {point[name]}' for name in loops)}, " if loops else ""
    return TilegenError("TG0105", f"{buffer.name} is accessed out of bounds: {when}{unit} {value} of "
                        f"{extent}",
                        loc, f"{buffer.name} has {extent} {unit}s; {allocated(buffer)}"
                        if dimension >= rank - 2 else allocated(buffer))
