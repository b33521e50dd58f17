"""route_fragments: what no layout can serve goes through shared memory.

Precondition: a checked kernel. Effect: where a thread needs elements of a fragment that other threads hold, the
fragment is copied to a shared tile first, with the reason on the copy, and back where that was written. Then
every fragment has a layout that serves all that is left: elements of nests under their loop variables, copies
and reductions of fragments as a whole.
Before: for i, j in T.Parallel(N, N): y[i, j] = x[j, i]
After:  T.copy(x, x_staged); for i, j in T.Parallel(N, N): y[i, j] = x_staged[j, i]
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from tilegen import ir
from tilegen.passes.layout_relations import number_nests
from tilegen.passes.layout_conflicts import conflicts
from tilegen.passes.route_aliases import foreign_aliases, route_views
from tilegen.passes.route_nests import route_nest
from tilegen.passes.route_scalars import route_scalars
from tilegen.passes.routes import Routes, whole_of
from tilegen.passes.served import alike, whole
from tilegen.plan import KernelPlan
from tilegen.targets.base import Target

ROUNDS = 8                               # each resolves the conflicts among what the one before left


def route_fragments(kernel: ir.Kernel, target: Target) -> ir.Kernel:
    if not any(isinstance(n, ir.Buffer) and n.scope == "fragment" for n in ir.walk(kernel.body)):
        return kernel
    routes = Routes(kernel)
    foreign = foreign_aliases(kernel, routes.env)
    body = _served(routes, kernel.body, foreign)
    kernel = replace(kernel, body=body)
    for _ in range(ROUNDS):
        kernel = number_nests(_with_tiles(kernel, routes))
        found = conflicts(kernel)
        if not found:
            break
        kernel = _resolved(routes, kernel, found)
    plan, notes = kernel.plan or KernelPlan(), tuple(routes.notes)
    return replace(kernel, plan=replace(plan, notes=(*plan.notes, *notes))) if notes else kernel


def _with_tiles(kernel: ir.Kernel, routes: Routes) -> ir.Kernel:
    added, routes.allocations = tuple(routes.allocations), []
    return replace(kernel, body=added + kernel.body) if added else kernel


def _served(routes: Routes, body: tuple[ir.Stmt, ...], foreign: dict[str, str]) -> tuple[ir.Stmt, ...]:
    """`body` with the accesses that no layout serves turned to shared tiles."""
    if foreign:
        body = route_views(routes, body, foreign)
    body = route_scalars(routes, body)

    def rule(node):
        match node:
            case ir.Parallel():
                return route_nest(routes, node, {}, body)
            case ir.Copy() if node.src.buffer.scope == node.dst.buffer.scope == "fragment" and not alike(node):
                return _copy(routes, node, "the two parts lie in different threads")
            case ir.Reduce() | ir.Scan() | ir.Gemm():
                return _parts(routes, node)
        return None

    return ir.rewrite(body, rule)


def _copy(routes: Routes, copy: ir.Copy, why: str) -> tuple[ir.Stmt, ...]:
    return routes.out(copy.src, copy.loc, why), replace(copy, src=routes.part(copy.src), options=())


def _parts(routes: Routes, node: ir.Reduce | ir.Scan | ir.Gemm) -> tuple[ir.Stmt, ...] | None:
    """Parts of fragments become fragments of their own."""
    why = "a part of a fragment, spread over all threads again"
    before, after, changes = [], [], {}
    for name, reads, writes in _roles(node):
        region = getattr(node, name)
        if region.buffer.scope == "fragment" and not whole(region):
            if isinstance(node, ir.Gemm) and name != "c":
                before.append(routes.out(region, node.loc, why))
                changes[name] = routes.part(region)
                continue
            changes[name] = _part(routes, node, region, (before if reads else None, after if writes else None), why)
    return (*before, replace(node, **changes), *after) if changes else None


def _part(routes: Routes, node: ir.Stmt, region: ir.Region, lists, why: str) -> ir.Region:
    """A fragment for a region, filled before the statement and brought back after it."""
    part = whole_of(routes.fragment(region.buffer.name, region.buffer, region.extents, "_part"))
    before, after = lists
    if before is not None:
        before += [routes.out(region, node.loc, why), ir.Copy(routes.part(region), part, loc=node.loc)]
    if after is not None:
        why = (("why", why),) if before is None else ()
        after += [ir.Copy(part, routes.part(region), why, loc=node.loc), routes.back(region, node.loc)]
    return part


def _roles(node: ir.Reduce | ir.Scan | ir.Gemm) -> Iterator[tuple[str, bool, bool]]:
    """(field, whether it is read, whether it is written)"""
    if isinstance(node, ir.Gemm):
        yield from (("a", True, False), ("b", True, False), ("c", not node.clear, True))
    else:
        yield from (("src", True, False), ("dst", isinstance(node, ir.Reduce) and not node.clear, True))


def _resolved(routes: Routes, kernel: ir.Kernel, found) -> ir.Kernel:
    """`kernel` with the relations that lost replaced by copies through shared memory."""
    lost: dict[int, dict[str, str]] = {}
    for relation, why in found:
        lost.setdefault(id(relation.node), {})[relation.buffer] = why
    views = {relation.node.buffer.name: why for relation, why in found if isinstance(relation.node, ir.Alloc)}
    if views:
        return replace(kernel, body=_served(routes, kernel.body, views))

    def visit(statement: ir.Stmt) -> tuple[ir.Stmt, ...]:
        if id(statement) in lost:
            return _conflict(routes, statement, lost[id(statement)], kernel.body)
        if isinstance(statement, (ir.For, ir.While)):
            return (replace(statement, body=visit_all(statement.body)),)
        if isinstance(statement, ir.If):
            return (replace(statement, then=visit_all(statement.then), otherwise=visit_all(statement.otherwise)),)
        return (statement,)

    def visit_all(statements: tuple[ir.Stmt, ...]) -> tuple[ir.Stmt, ...]:
        return tuple(new for s in statements for new in visit(s))

    return replace(kernel, body=visit_all(kernel.body))


def _conflict(routes: Routes, node: ir.Stmt, reasons: dict[str, str], body) -> tuple[ir.Stmt, ...]:
    why = next(iter(reasons.values()))
    match node:
        case ir.Parallel():
            return route_nest(routes, node, reasons, body) or (node,)
        case ir.Copy():
            return _copy(routes, node, why)
        case ir.Gemm():
            return routes.out(node.a, node.loc, why), replace(node, a=routes.part(node.a))
    before, after = ([] if isinstance(node, ir.Reduce) and not node.clear else None), []
    part = _part(routes, node, node.dst, (before, after), why)
    return (*(before or ()), replace(node, dst=part), *after)
