"""Nests of independent iterations (T.Parallel, fills, copies) as loops, on whole vectors where that is possible."""

from __future__ import annotations

from dataclasses import replace

from tilegen import arith, ir
from tilegen.passes.accesses import conditions, guard_statements
from tilegen.passes.cpu_bounds import Bounds, Limit, find_bounds, inline_indices
from tilegen.passes.cpu_places import name_places
from tilegen.passes.cpu_planner import CpuPlanner, Scope
from tilegen.passes.cpu_vectors import CannotVectorise, Vectors, element_of
from tilegen.plan import Loop, NestPlan

Vars = tuple[ir.Var, ...]
Extents = tuple[ir.Expr, ...]


def plan_parallel(planner: CpuPlanner, scope: Scope, nest: ir.Parallel) -> ir.Stmt:
    """T.Parallel as a nest of loops."""
    spare = {v.name: planner.needs.limit((id(nest), v.name)) for v in nest.vars}
    return replace(nest, plan=plan_nest(planner, scope, nest.vars, nest.extents, nest.body, spare))


def plan_nest(planner: CpuPlanner, scope: Scope, vars: Vars, extents: Extents, body: tuple[ir.Stmt, ...],
              spare: dict[str, ir.Expr | None] = {}) -> NestPlan:
    """Loops over `vars` around `body`; the last one in steps of a vector where it can be. From the limits
    in `spare` on, nobody needs the results."""
    vars, extents, body = _without_single_turns(vars, extents, body)
    names = {v.name for v in vars}
    for var, extent in zip(vars, extents):
        planner.known.ranges[var.name] = (0, arith.bounds(extent, planner.known.ranges)[1] - 1)
        planner.known.limits[var.name] = extent
    bounds = find_bounds(inline_indices(body), names, planner.known)
    if not vars:
        return name_places(planner, _scalar_nest(planner, (), [], bounds, "a single element"))
    free = spare.get(vars[-1].name) is not None and not bounds.limits.get(vars[-1].name)
    for name, limit in spare.items():
        if limit is not None:
            bounds.add(Limit(name, limit))
    stops = [_stop(planner, scope, var, extent, bounds, word)
             for var, extent, word in zip(vars, extents, _words(len(vars)))]
    try:
        with planner.attempt(scope):
            return name_places(planner, _vector_nest(planner, scope, vars, extents, stops, bounds, free))
    except CannotVectorise as refusal:
        reason = f"a loop over single elements: {refusal}"
    return name_places(planner, _scalar_nest(planner, vars, stops, bounds, reason))


def _without_single_turns(vars: Vars, extents: Extents, body) -> tuple[Vars, Extents, tuple[ir.Stmt, ...]]:
    """The nest without loops of one turn."""
    single = {v.name: ir.Const(0) for v, extent in zip(vars, extents) if extent == ir.Const(1)}
    if not single:
        return vars, extents, body
    kept = [(v, extent) for v, extent in zip(vars, extents) if v.name not in single]
    return tuple(v for v, _ in kept), tuple(extent for _, extent in kept), arith.fold(ir.substitute(body, single))


def _words(count: int) -> list[str]:
    """Names for how far each loop goes."""
    return ["count"] if count == 1 else [*["depths"] * (count - 2), "rows", "columns"]


def _stop(planner: CpuPlanner, scope: Scope, var: ir.Var, extent: ir.Expr, bounds: Bounds, word: str) -> ir.Expr:
    """min(extent, limits), by name."""
    stop = extent
    for limit in sorted(bounds.limits.get(var.name, ()), key=repr):
        stop = arith.binary("min", stop, limit)
    return planner.count(scope, stop, word, f"{var.name}_count")


def _vector_nest(planner: CpuPlanner, scope: Scope, vars: Vars, extents: Extents, stops: list[ir.Expr],
                 bounds: Bounds, free: bool) -> NestPlan:
    element = element_of(bounds.body)
    var = vars[-1]
    lanes = planner.lanes(element)
    whole = stops[-1] == extents[-1] and planner.is_multiple(extents[-1], lanes)
    vectors = Vectors(planner, scope, var, {v.name for v in vars}, element, bounds, stops[-1], whole, free)
    body = vectors.body(bounds.body)
    loops = [_loop(v, stop) for v, stop in zip(vars, stops)]
    loops[-1] = replace(loops[-1], step=lanes)
    ends = "" if whole else "; the last vector of a row may be partial"
    reason = f"vectors of {planner.env[lanes.name]} x {element} along {var.name}{ends}"
    return NestPlan(tuple(loops), body, reason=reason)


def _scalar_nest(planner: CpuPlanner, vars: Vars, stops: list[ir.Expr], bounds: Bounds, reason: str) -> NestPlan:
    held = tuple(c for c in _conditions(planner, bounds) if bounds.holds(c, {v.name for v in vars}))
    body = planner.placed(guard_statements(bounds.body, planner.known, held))
    return NestPlan(tuple(_loop(v, stop) for v, stop in zip(vars, stops)), body, reason=reason)


def _conditions(planner: CpuPlanner, bounds: Bounds) -> list[ir.Expr]:
    accesses = [n for n in ir.walk(bounds.body) if isinstance(n, (ir.Load, ir.Store, ir.Atomic))]
    return [c for n in accesses if n.buffer.scope == "global" for c in conditions(n.buffer, n.indices, planner.known)]


def _loop(var: ir.Var, stop: ir.Expr) -> Loop:
    return Loop(ir.Var(var.name, var.dtype, "loop"), ir.Const(0), stop, ir.Const(1))
