"""plan_fills: how every T.fill and T.clear runs.

Precondition: layouts inferred. Effect: each Fill has a plan: a call of `fill` for all registers of a fragment or a
local array, a nest over a part of them, or over a tile in memory in steps of the block.
Before: T.fill(row_max, -T.infinity("float32"))    After: fill(row_max, -infinity())
"""

from __future__ import annotations

from dataclasses import replace

from tilegen import arith, ir
from tilegen.passes.accesses import conditions, conjunction
from tilegen.passes.layout_classes import dimensions
from tilegen.passes.planner import Planner, coordinate, unit
from tilegen.passes.walks import fragment_index, plain_index, strided
from tilegen.plan import Loop, NestPlan, OpPlan
from tilegen.targets.base import Target


def plan_fills(kernel: ir.Kernel, target: Target) -> ir.Kernel:
    planner = Planner(kernel, target)
    return planner.finish(ir.rewrite(
        kernel.body, lambda n: replace(n, plan=_fill(planner, n)) if isinstance(n, ir.Fill) else None))


def _fill(planner: Planner, fill: ir.Fill) -> NestPlan | OpPlan:
    region = fill.dst
    scope = region.buffer.scope
    if scope in ("fragment", "local") and region.extents == region.buffer.shape:
        return OpPlan("fill_registers", {"value": arith.assignable(fill.value, region.buffer.dtype)},
                      "each thread sets its own registers")
    if scope == "fragment":
        return _fill_fragment(planner, fill)
    dims = dimensions(region)
    extents = [region.extents[d] for d in dims]
    if scope == "local":
        loops = [Loop(ir.Var(planner.fresh("ijkl"[n]), kind="loop"), ir.Const(0), e, ir.Const(1), unroll=True)
                 for n, e in enumerate(extents)]
        index = tuple(plain_index(region, dims, [loop.var for loop in loops]))
        return NestPlan(tuple(loops), (ir.Store(region.buffer, index, fill.value),), reason="every thread has its own")
    loops, coordinates = strided(planner, extents, ir.Const(1), set())
    index = tuple(plain_index(region, dims, coordinates))
    guard = conjunction(conditions(region.buffer, index, planner.ranges)) if scope == "global" else None
    return NestPlan(loops, (ir.Store(region.buffer, index, fill.value),), guard=guard,
                    reason="the block walks the tile")


def _fill_fragment(planner: Planner, fill: ir.Fill) -> NestPlan:
    region = fill.dst
    axes = planner.layout(region.buffer).axes
    dims = [d for d, a in enumerate(axes) if not unit(a)]
    names = planner.slot_names(axes, set())
    loops = [planner.slot_loop(axes[d], name) for d, name in zip(dims, names)]
    guards = []
    for loop, d in zip(loops, dims):
        if planner.value(region.extents[d]) != axes[d].extent:
            at = coordinate(axes[d], loop.var)
            guards += [arith.binary(">=", at, region.offsets[d]),
                       arith.less(at, arith.add(region.offsets[d], region.extents[d]))]
    index = fragment_index(region, dims, [loop.var for loop in loops])
    return NestPlan(tuple(loops), (ir.Store(region.buffer, index, fill.value),), guard=conjunction(guards),
                    reason="each thread sets its own part")
