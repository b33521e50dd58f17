"""Other shapes and dtypes of a fragment that its layout cannot give: they are seen in shared memory."""

from __future__ import annotations

from dataclasses import replace

from tilegen import ir
from tilegen.passes.layout_relations import fragment_accesses, grouped
from tilegen.passes.route_nests import route_nest
from tilegen.passes.routes import Routes, whole_of
from tilegen.passes.served import whole


def foreign_aliases(kernel: ir.Kernel, env: dict) -> dict[str, str]:
    """{name: why} of the aliases of fragments whose dimensions are not those of the fragment."""
    found = {}
    for node in ir.walk(kernel.body):
        if isinstance(node, ir.Alloc) and isinstance(node.buffer, ir.Alias) and node.buffer.scope == "fragment":
            alias = node.buffer
            if grouped(alias, env) is None:
                found[alias.name] = f"{alias.name} is {alias.base.name} in another shape"
    return found


def route_views(routes: Routes, body: tuple[ir.Stmt, ...], foreign: dict[str, str]) -> tuple[ir.Stmt, ...]:
    """`body` without these aliases: nests and copies use the shared tile in that shape, other operations a fragment
    that is filled from it."""

    def rule(node):
        if isinstance(node, ir.Alloc) and node.buffer.name in foreign:
            return ()
        if isinstance(node, ir.Parallel):
            used = {a.buffer.name: ir.owner(a.buffer) for a in fragment_accesses(node) if a.buffer.name in foreign}
            whys = {name: foreign[name] for name in used}
            written = {ir.owner(a.buffer).name for a in fragment_accesses(node) if not isinstance(a, ir.Load)}
            for access in fragment_accesses(node):      # what is written under one name is not read under the other
                if ir.owner(access.buffer) in used.values() and ir.owner(access.buffer).name in written:
                    whys.setdefault(access.buffer.name, next(iter(whys.values())))
            return route_nest(routes, node, whys, body) if whys else None
        regions = {name: getattr(node, name) for name in ("src", "dst", "a", "b", "c")
                   if isinstance(getattr(node, name, None), ir.Region)}
        regions = {name: r for name, r in regions.items() if r.buffer.name in foreign}
        return _operation(routes, node, regions, foreign) if regions else None

    return ir.rewrite(body, rule)


def _operation(routes: Routes, node: ir.Stmt, regions: dict[str, ir.Region], foreign) -> tuple[ir.Stmt, ...]:
    before, after, changes = [], [], {}
    for name, region in regions.items():
        alias, base = region.buffer, ir.owner(region.buffer)
        written = name in ("dst", "c")
        read = not written or not (isinstance(node, (ir.Copy, ir.Fill)) or getattr(node, "clear", False))
        if read or not whole(region):
            before.append(routes.out(whole_of(base), node.loc, foreign[alias.name]))
        if isinstance(node, (ir.Copy, ir.Fill)):
            changes[name] = routes.part(region)
        else:
            own = routes.fragment(alias.name, alias, alias.shape, "_local")
            changes[name] = replace(region, buffer=own)
            if read or not whole(region):
                before.append(ir.Copy(whole_of(routes.tile(alias)), whole_of(own), loc=node.loc))
            if written:
                after.append(ir.Copy(whole_of(own), whole_of(routes.tile(alias)), loc=node.loc))
        if written:
            after.append(routes.back(whole_of(base), node.loc))
    if isinstance(node, ir.Copy):
        changes["options"] = ()
    return (*before, replace(node, **changes), *after)
