"""What is known of every name of a kernel: its least and greatest value, and its exclusive limit."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from tilegen import arith, ir


@dataclass
class Ranges:
    """`ranges[name]` is inclusive; `limits[name]` an expression that the name stays below."""

    ranges: dict[str, arith.Range] = field(default_factory=dict)
    limits: dict[str, ir.Expr] = field(default_factory=dict)

    def below(self, index: ir.Expr, extent: ir.Expr) -> bool:
        """Whether `index < extent` always holds, as far as numbers and equal names tell."""
        if arith.bounds(index, self.ranges)[1] < arith.bounds(extent, self.ranges)[0]:
            return True
        return isinstance(index, ir.Var) and self.limits.get(index.name) == extent

    def natural(self, index: ir.Expr) -> bool:
        """Whether `index >= 0` always holds."""
        return arith.bounds(index, self.ranges)[0] >= 0


def knob_values(kernel: ir.Kernel) -> dict[str, int | float | bool]:
    """{knob: value}"""
    return {knob.name: knob.value for knob in kernel.knobs}


def collect(kernel: ir.Kernel) -> Ranges:
    """Ranges of all names of the kernel; a name that is bound twice gets the union."""
    known = Ranges()
    for knob in kernel.knobs:
        known.ranges[knob.name] = (knob.value, knob.value)
    known.ranges["threadIdx.x"] = (0, math.inf)
    for size in kernel.sizes:
        known.ranges[size.name] = (0, math.inf)
    for var, extent in zip(kernel.block_vars, kernel.grid):
        _counter(known, var, ir.Const(0), extent)
    for statement in ir.walk(kernel.body):
        match statement:
            case ir.Parallel():
                for var, extent in zip(statement.vars, statement.extents):
                    _counter(known, var, ir.Const(0), extent)
            case ir.For():
                _counter(known, statement.var, statement.start, statement.stop)
            case ir.Let() if statement.var.dtype.is_integer:
                _widen(known, statement.var.name, arith.bounds(statement.value, known.ranges))
    return known


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
