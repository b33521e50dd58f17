"""Copies without guards: of rows that are made of whole vectors because the kernel says so, T.assume(N % 8 == 0), and
of tiles that lie inside of their tensor as a whole.

A vector of a tensor with such rows exists as a whole or not at all, so that a copy needs neither a second path for
ragged rows nor a test of addresses: the contract has the sizes, and that the tensor starts at a multiple of the vector,
checked at each call. Without branches around them the compiler issues loads early and orders them as registers allow.
"""

from __future__ import annotations

from dataclasses import replace

from tilegen import arith, ir
from tilegen.dtypes import bool_
from tilegen.passes.accesses import conditions, conjunction
from tilegen.passes.planner import Planner
from tilegen.plan import Move, NestPlan
from tilegen.strided import StridedBuffer, strides_of


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


def fast_path(planner: Planner, copy: ir.Copy, plan: NestPlan, step: ir.Expr, width: int) -> NestPlan:
    """The copy in two versions, one of them without guards for tiles that lie inside of the tensor as a whole, in
    rows that start at multiples of the vector."""
    move: Move = plan.body[0]
    region = copy.src if copy.src.buffer.scope == "global" else copy.dst
    if move.inside is None or arith.multiple_of(region.offsets[-1], planner.env) % width:
        return plan
    pitches = strides_of(region.buffer)[:-1]
    place = move.src if region is copy.src else move.dst
    aligned = ir.Call(f"device:is_aligned<{step.name}>", (ir.Var(region.buffer.name),), bool_)
    terms = [arith.binary(">=", region.offsets[d], ir.Const(0)) for d, index in enumerate(place.indices)
             if not planner.ranges.natural(index)]
    terms += [arith.binary("<=", arith.add(region.offsets[d], region.extents[d]), region.buffer.shape[d])
              for d, index in enumerate(place.indices)
              if not planner.ranges.below(index, region.buffer.shape[d])]
    terms += [arith.binary("==", arith.modulo(pitch, step), ir.Const(0)) for pitch in _apart(region, pitches)
              if planner.value(pitch) is None or planner.value(pitch) % width]
    flag = ir.Var(planner.fresh("whole", "whole_tile"), bool_, "let")
    return replace(plan, whole=ir.Let(flag, conjunction([*terms, aligned])), body=(replace(move, whole=flag),))


def _apart(region: ir.Region, pitches: tuple[ir.Expr, ...]) -> tuple[ir.Expr, ...]:
    """What the distances between rows are multiples of: the length of a row, where rows follow each other."""
    return pitches if isinstance(region.buffer, StridedBuffer) else region.buffer.shape[-1:]
