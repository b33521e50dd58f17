"""plan_gathers: how every Gather runs.

Precondition: layouts inferred, shared tiles padded or swizzled. Effect: each Gather has a NestPlan: the block walks
the tile by the widest vectors that are legal along its rows, and computes for each where its row lies.
Before: Gather: for each row i of X_shared, y = f(i): copy X[y, ko * BK : ko * BK + BK] to it
After:  for e = threadIdx.x * X_VEC; ...: { i = e / BK, j = e % BK; y = f(i); copy_async<X_VEC>(&X_shared[i][j], ...) }
"""

from __future__ import annotations

from dataclasses import replace

from tilegen import ir
from tilegen.passes.accesses import guard_statements
from tilegen.passes.find_gathers import Gather
from tilegen.passes.plan_copies import block_width, finished
from tilegen.passes.planner import Planner
from tilegen.passes.walks import strided
from tilegen.plan import NestPlan
from tilegen.targets.base import Target

UNROLLED = 2                             # the places of more rows at once would take too many registers


def plan_gathers(kernel: ir.Kernel, target: Target) -> ir.Kernel:
    """`kernel` with a plan for each Gather."""
    planner = Planner(kernel, target)
    body = ir.rewrite(kernel.body, lambda n: replace(n, plan=_plan(planner, n)) if isinstance(n, Gather) else None)
    return planner.finish(body)


def _plan(planner: Planner, gather: Gather) -> NestPlan:
    tile, extents = gather.dst.buffer, list(gather.dst.extents[-len(gather.rows):])
    width = block_width(planner, gather, extents)
    step = planner.vector(tile, width)
    used = {n.name for n in ir.walk((*gather.lets, *gather.place)) if isinstance(n, ir.Var)}
    loops, coordinates = strided(planner, extents, step, used, tuple(v.name for v in gather.rows))
    planner.check_multiple(extents[-1], step, "rows are made of whole vectors")
    planner.check_multiple(tile.shape[-1], step, "rows are made of whole vectors")
    lets = guard_statements(gather.lets, planner.ranges)
    last = replace(loops[-1], lets=loops[-1].lets + lets, unroll=False, pragma=f"#pragma unroll {UNROLLED}")
    reason = f"the block walks the tile, whose rows lie apart, {width} elements " \
        f"({width * tile.dtype.bytes} bytes) per thread and step"
    index = (*gather.dst.offsets[:-len(gather.rows)], *coordinates)
    return finished(planner, gather, gather.place, index, step, width,
                    NestPlan((*loops[:-1], last), (), reason=reason))
