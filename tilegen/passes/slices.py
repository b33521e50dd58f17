"""Slices of tiles that a loop steps along: what the knobs of the loop have to keep."""

from __future__ import annotations

from collections.abc import Iterator

from tilegen import arith, ir
from tilegen.passes.ranges import knob_values
from tilegen.plan import Check


def slice_checks(kernel: ir.Kernel) -> Iterator[Check]:
    """`for ki in range(0, BK, 16)` with slices `[ki:ki + 16]` of a tile of BK columns: BK is made of whole slices."""
    env = knob_values(kernel)
    loops = {n.var.name: n for n in ir.walk(kernel.body) if isinstance(n, ir.For) and n.start == ir.Const(0)}
    for region in ir.walk(kernel.body):
        if not isinstance(region, ir.Region) or region.buffer.scope == "global":
            continue
        for offset, extent in zip(region.offsets, region.extents):
            loop = loops.get(offset.name) if isinstance(offset, ir.Var) else None
            if loop is None or extent == ir.Const(1):
                continue
            whole = arith.binary("==", arith.modulo(loop.stop, loop.step), ir.Const(0))
            known = all(n.kind == "knob" for n in ir.walk(whole) if isinstance(n, ir.Var))
            if known and not isinstance(whole, ir.Const) and arith.evaluate(whole, env):
                yield Check(whole, "tiles are made of whole slices")
