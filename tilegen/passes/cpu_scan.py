"""Running sums, maxima and votes: one element after the other."""

from __future__ import annotations

from dataclasses import replace

from tilegen import arith, ir
from tilegen.dtypes import bool_
from tilegen.passes.cpu_planner import CpuPlanner, Scope
from tilegen.passes.plan_reduce import identity
from tilegen.passes.plan_votes import decides
from tilegen.plan import Loop, NestPlan

_WORDS = ("slice", "depth", "row", "col")


def plan_scan(planner: CpuPlanner, scope: Scope, scan: ir.Scan) -> ir.Stmt:
    """T.cumsum and T.cummax: loops over the other dimensions, around a loop that carries one value."""
    scope.forget({scan.dst.buffer.name})
    dtype = scan.dst.buffer.dtype.compute
    rank = len(scan.src.extents)
    counters = [ir.Var(planner.fresh(w, f"tile_{w}"), kind="loop") for w in _WORDS[-rank:]]
    for var, extent in zip(counters, scan.src.extents):
        planner.known.ranges[var.name] = (0, arith.bounds(extent, planner.known.ranges)[1] - 1)
    extent = scan.src.extents[scan.dim]
    places: list[ir.Expr] = list(counters)
    if scan.reverse:
        places[scan.dim] = arith.subtract(arith.subtract(extent, 1), counters[scan.dim])
    running = ir.Buffer(planner.fresh("running", "running_value"), (), dtype, "var")
    total = ir.Load(running, ())
    value = planner.scalar(_at(scan.src, places))
    value = value if value.dtype == dtype else ir.Cast(value, dtype)
    op = {"sum": "+"}.get(scan.op, scan.op)
    result = _at(scan.dst, places)
    step = (ir.Store(running, (), planner.placed(ir.BinOp(op, total, value, dtype))),
            *_list(planner.placed(ir.Store(result.buffer, result.indices, total))))
    body = (ir.Alloc(running, planner.placed(identity(scan.op, dtype))),
            ir.For("serial", counters[scan.dim], ir.Const(0), extent, ir.Const(1), step))
    others = [d for d in range(rank) if d != scan.dim]
    loops = tuple(Loop(counters[d], ir.Const(0), scan.src.extents[d], ir.Const(1)) for d in others)
    return replace(scan, plan=NestPlan(loops, body, reason="each value needs the one before it"))


def _at(region: ir.Region, places: list[ir.Expr]) -> ir.Load:
    return ir.Load(region.buffer, tuple(arith.add(o, p) for o, p in zip(region.offsets, places)), loc=region.loc)


def _list(s: ir.Stmt | tuple[ir.Stmt, ...]) -> tuple[ir.Stmt, ...]:
    return s if isinstance(s, tuple) else (s,)


def votes(planner: CpuPlanner, vote: ir.Vote) -> tuple[ir.Stmt, ...]:
    """T.any_of and T.all_of as loops over the elements."""
    counters = [ir.Var(planner.fresh(w, f"tile_{w}"), kind="loop") for w in _WORDS[-len(vote.src.extents):]]
    body: tuple[ir.Stmt, ...] = (ir.If(decides(vote.op, _at(vote.src, counters)), (
        ir.Store(vote.dst, (), ir.Const(vote.op == "any", bool_)),)),)
    for var, extent in reversed(list(zip(counters, vote.src.extents))):
        planner.known.ranges[var.name] = (0, arith.bounds(extent, planner.known.ranges)[1] - 1)
        body = (ir.For("serial", var, ir.Const(0), extent, ir.Const(1), body, loc=vote.loc),)
    return body
