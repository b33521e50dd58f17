"""What is known of every name of a kernel: its least and greatest value, and its exclusive limit."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from tilegen import arith, ir
from tilegen.launches import launches_of
from tilegen.passes.find_gathers import Gather


@dataclass
class Ranges:
    """`ranges[name]` is inclusive; `limits[name]` an expression that the name stays below;
    `values[name]` what a name stands for. `assumed` collects what a proof took from the values of
    knobs: the emitted file asserts it, so that turning a knob cannot break the proof unnoticed."""

    ranges: dict[str, arith.Range] = field(default_factory=dict)
    limits: dict[str, ir.Expr] = field(default_factory=dict)
    values: dict[str, ir.Expr] = field(default_factory=dict)
    assumed: dict[ir.Expr, None] = field(default_factory=dict)

    def below(self, index: ir.Expr, extent: ir.Expr) -> bool:
        """Whether `index < extent` always holds; what that takes from knobs is noted in `assumed`."""
        if isinstance(index, ir.Var) and index.name in self.values:
            index = self.values[index.name]
        if isinstance(index, ir.Var) and index.name in self.limits:
            return self._at_most(self.limits[index.name], extent)
        if isinstance(index, ir.Const):
            return self._at_most(arith.add(index, 1), extent)
        tile = self._tile_of(index, extent)
        if tile is not None:
            return self._assume(arith.binary("==", arith.modulo(extent, tile), ir.Const(0)))
        known = {
            n.name
            for part in (index, extent)
            for n in ir.walk(part)
            if isinstance(n, ir.Var) and n.kind == "knob"
        }
        return not known and arith.bounds(index, self.ranges)[1] < arith.bounds(extent, self.ranges)[0]

    def _at_most(self, limit: ir.Expr, extent: ir.Expr) -> bool:
        return limit == extent or self._assume(arith.binary("<=", limit, extent))

    def _assume(self, condition: ir.Expr) -> bool:
        """Whether a condition on knobs and constants holds for their values."""
        numbers = {name: low for name, (low, high) in self.ranges.items() if low == high}
        holds = bool(arith.evaluate(condition, numbers))
        if holds and not isinstance(condition, ir.Const):
            self.assumed.setdefault(condition)
        return holds

    def _tile_of(self, index: ir.Expr, extent: ir.Expr) -> ir.Expr | None:
        """T, where index is v * T + c with v < ceildiv(extent, T) and c < T."""
        if not (isinstance(index, ir.BinOp) and index.op == "+"):
            return None
        for start, inner in ((index.a, index.b), (index.b, index.a)):
            if not (isinstance(start, ir.BinOp) and start.op == "*" and isinstance(inner, ir.Var)):
                continue
            for outer, tile in ((start.a, start.b), (start.b, start.a)):
                blocks = ir.Call("ceildiv", (extent, tile), extent.dtype)
                if (
                    isinstance(outer, ir.Var)
                    and self.limits.get(outer.name) == blocks
                    and self.limits.get(inner.name) == tile
                ):
                    return tile
        return None

    def natural(self, index: ir.Expr) -> bool:
        """Whether `index >= 0` always holds."""
        return arith.bounds(index, self.ranges)[0] >= 0


def knob_values(kernel: ir.Kernel) -> dict[str, int | float | bool]:
    """{knob: value}"""
    return {knob.name: knob.value for knob in kernel.knobs}


def loop_steps(kernel: ir.Kernel, env: dict) -> dict[str, int]:
    """{name: a number that divides every value of a loop's variable}; `env` are the values of knobs that
    may be counted on."""
    steps: dict[str, int] = {}
    for s in ir.walk(kernel.body):
        if isinstance(s, (ir.For, ir.Let)):
            bounds = (s.start, s.step) if isinstance(s, ir.For) else (s.value,)
            step = math.gcd(*(int(arith.multiple_of(e, env, steps)) for e in bounds if e.dtype.is_integer))
            steps[s.var.name] = math.gcd(step, steps.get(s.var.name, step))
    return steps


def collect(kernel: ir.Kernel) -> Ranges:
    """Ranges of all names of the kernel; a name that is bound twice gets the union."""
    known = Ranges()
    for knob in kernel.knobs:
        known.ranges[knob.name] = (knob.value, knob.value)
    known.ranges["threadIdx.x"] = (0, math.inf)
    for size in kernel.sizes:
        known.ranges[size.name] = (0, math.inf)
    for launch in launches_of(kernel):
        for var, extent in zip(launch.block_vars, launch.grid):
            _counter(known, var, ir.Const(0), extent)
        _of_statements(known, launch.body)
    return known


def _of_statements(known: Ranges, body: tuple[ir.Stmt, ...]) -> None:
    for statement in ir.walk(body):
        match statement:
            case ir.Parallel():
                for var, extent in zip(statement.vars, statement.extents):
                    _counter(known, var, ir.Const(0), extent)
            case Gather():
                for var, extent in zip(statement.rows, statement.dst.extents[-len(statement.rows):]):
                    _counter(known, var, ir.Const(0), extent)
            case ir.For():
                _counter(known, statement.var, statement.start, statement.stop)
            case ir.Let() if statement.var.dtype.is_integer:
                known.values[statement.var.name] = statement.value
                _widen(known, statement.var.name, arith.bounds(statement.value, known.ranges))


def _counter(known: Ranges, var: ir.Var, start: ir.Expr, stop: ir.Expr) -> None:
    low, high = arith.bounds(start, known.ranges)[0], arith.bounds(stop, known.ranges)[1] - 1
    fresh = var.name not in known.ranges
    _widen(known, var.name, (min(low, high), max(low, high)))
    if fresh or known.limits.get(var.name) == stop:
        known.limits[var.name] = stop
    else:
        known.limits.pop(var.name, None)


def _widen(known: Ranges, name: str, new: arith.Range) -> None:
    old = known.ranges.get(name, new)
    known.ranges[name] = (min(old[0], new[0]), max(old[1], new[1]))
