"""Rows that are made of whole vectors because the kernel says so: T.assume(N % 8 == 0).

A vector of such a tensor exists as a whole or not at all, so that a copy needs neither a second path for ragged rows
nor a test of addresses: the contract has the sizes, and that the tensor starts at a multiple of the vector, checked at
each call. Without branches around them the compiler issues loads early and orders them as registers allow.
"""

from __future__ import annotations

from dataclasses import replace

from tilegen import arith, ir
from tilegen.passes.accesses import conditions, conjunction
from tilegen.passes.planner import Planner
from tilegen.plan import Move, NestPlan
from tilegen.strided import StridedBuffer


def whole_rows(planner: Planner, region: ir.Region, plan: NestPlan, step: ir.Expr) -> NestPlan | None:
    """The plan of a copy between registers and `region` in vectors of `step` elements, without a path for ragged rows;
    None where rows may be ragged. Before: load_inside<X_VEC>(..., N - col). After: load_if<X_VEC>(..., col < N)."""
    move, width = plan.body[0], planner.value(step)
    multiple = assumed_multiple(planner, region.buffer)
    if not isinstance(move, Move) or move.inside is None or multiple is None or planner.value(multiple) % width \
            or arith.multiple_of(region.offsets[-1], planner.env) % width:
        return None
    planner.check_multiple(multiple, step, "rows are made of whole vectors")
    known = planner.alignments.get(region.buffer.name, 1)
    planner.alignments[region.buffer.name] = max(known, planner.target.vector_bytes)
    place = move.src if move.src.buffer == region.buffer else move.dst
    exists = conjunction(conditions(region.buffer, place.indices, planner.ranges))
    verb = move.helper.partition("_")[0]
    move = replace(move, helper=f"{verb}_vector" if exists is None else f"{verb}_if", inside=exists)
    return replace(plan, body=(move,), reason=f"{plan.reason}; rows are made of whole vectors, as T.assume says")


def assumed_multiple(planner: Planner, buffer: ir.Buffer) -> ir.Expr | None:
    """k, where T.assume says that rows of a global tensor have a multiple of k elements."""
    if buffer.scope != "global" or isinstance(buffer, StridedBuffer) or not isinstance(buffer.shape[-1], ir.Var):
        return None
    for term in (t for condition in planner.kernel.requires for t in _terms(condition)):
        match term:
            case ir.BinOp(op="==", a=ir.BinOp(op="%", a=ir.Var(name=name), b=multiple), b=ir.Const(value=0)):
                if name == buffer.shape[-1].name and planner.value(multiple):
                    return multiple
    return None


def _terms(condition: ir.Expr) -> list[ir.Expr]:
    if isinstance(condition, ir.BinOp) and condition.op == "and":
        return _terms(condition.a) + _terms(condition.b)
    return [condition]
