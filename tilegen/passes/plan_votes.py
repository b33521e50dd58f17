"""plan_votes: T.any_of and T.all_of: each thread looks at its elements, then all threads vote.

Precondition: layouts inferred. Effect: each Vote has an OpPlan.
Before: T.any_of(X_local)
After:  for r, c: if (X_local[r][c] != 0) found = true;    found = __syncthreads_or(found);
"""

from __future__ import annotations

from dataclasses import replace

from tilegen import arith, ir
from tilegen.dtypes import bool_
from tilegen.passes.accesses import conjunction
from tilegen.passes.layout_classes import dimensions
from tilegen.passes.planner import Planner, coordinate, unit
from tilegen.passes.walks import fragment_index, plain_index, strided
from tilegen.plan import OpPlan
from tilegen.targets.base import Target


def plan_votes(kernel: ir.Kernel, target: Target) -> ir.Kernel:
    planner = Planner(kernel, target)
    return planner.finish(ir.rewrite(
        kernel.body, lambda n: replace(n, plan=_vote(planner, n)) if isinstance(n, ir.Vote) else None))


def decides(op: str, element: ir.Expr) -> ir.Expr:
    """Whether one element settles the vote: one that is not 0 for any, one that is 0 for all."""
    if element.dtype == bool_:
        return element if op == "any" else ir.UnOp("not", element, bool_)
    zero = ir.Const(0.0 if element.dtype.is_float else 0, element.dtype.compute)
    return ir.BinOp("!=" if op == "any" else "==", element, zero, bool_)


def _vote(planner: Planner, vote: ir.Vote) -> OpPlan:
    region = vote.src
    guards: list[ir.Expr] = []
    if region.buffer.scope == "fragment":
        axes = planner.layout(region.buffer).axes
        dims = [d for d, a in enumerate(axes) if not unit(a)]
        loops = [planner.slot_loop(axes[d], name) for d, name in zip(dims, planner.slot_names(axes, set()))]
        for loop, d in zip(loops, dims):
            whole = region.extents[d] == region.buffer.shape[d]
            at, end = coordinate(axes[d], loop.var), arith.add(region.offsets[d], region.extents[d])
            guards += [] if whole and not axes[d].padded else [arith.less(at, end)]
            guards += [] if whole else [arith.binary(">=", at, region.offsets[d])]
        index = fragment_index(region, dims, [loop.var for loop in loops])
    else:
        dims = dimensions(region)
        walk, coordinates = strided(planner, [region.extents[d] for d in dims], ir.Const(1), set())
        loops, index = list(walk), tuple(plain_index(region, dims, coordinates))
    guards.append(decides(vote.op, ir.Load(region.buffer, index)))
    values = {"loops": loops, "condition": conjunction(guards), "found": vote.dst.name,
              "answer": ir.Const(vote.op == "any", bool_), "meet": {"any": "or", "all": "and"}[vote.op]}
    return OpPlan("vote", values, "each thread looks at its own elements, then the block votes")
