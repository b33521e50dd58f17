"""Names for the indices of elements that would be hard to read inside of brackets.

The places of a nest are written out for the search of bounds. Where a tensor of three or more dimensions is indexed by
an expression of several operations, the loop gives it a name again: `const int h = ...; X[((n * H + h) * W + w) * C]`.
"""

from __future__ import annotations

from dataclasses import replace

from tilegen import ir
from tilegen.passes.cpu_planner import CpuPlanner
from tilegen.plan import NestPlan

LEAST_DIMENSIONS, LEAST_OPERATIONS = 3, 3


def name_places(planner: CpuPlanner, plan: NestPlan) -> NestPlan:
    """The plan with its deep indices as names of the innermost loop."""
    names: dict[ir.Expr, ir.Var] = {}
    used = planner.taken | {loop.var.name for loop in plan.loops}
    for access in (n for n in ir.walk(plan.body) if isinstance(n, (ir.Load, ir.Store)) and n.buffer.scope == "global"):
        if len(access.indices) < LEAST_DIMENSIONS:
            continue
        for extent, index in zip(access.buffer.shape, access.indices):
            if _operations(index) >= LEAST_OPERATIONS and index not in names:
                wanted = [extent.name.lower()] if isinstance(extent, ir.Var) else []
                names[index] = ir.Var(ir.take_name(used, *wanted, f"{access.buffer.name.lower()}_place"), kind="let")
    if not names:
        return plan
    body = ir.rewrite(plan.body, lambda n: names.get(n) if isinstance(n, ir.Expr) else None)
    lets = tuple(ir.Let(var, value) for value, var in names.items())
    last = plan.loops[-1]
    return replace(plan, loops=(*plan.loops[:-1], replace(last, lets=last.lets + lets)), body=body)


def _operations(index: ir.Expr) -> int:
    return sum(isinstance(n, ir.BinOp) for n in ir.walk(index))
