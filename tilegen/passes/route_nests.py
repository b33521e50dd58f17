"""Nests whose iterations touch elements of fragments that other threads hold."""

from __future__ import annotations

from dataclasses import replace

from tilegen import ir
from tilegen.passes.layout_relations import fragment_accesses
from tilegen.passes.routes import Routes, whole_of
from tilegen.passes.served import covers, unserved


def route_nest(routes: Routes, nest: ir.Parallel, refused: dict[str, str], body) -> tuple[ir.Stmt, ...] | None:
    """The nest between copies of the fragments that its layout cannot serve; None where it serves all. `refused`
    are fragments that have to be left out, with reasons; `body` is the kernel's, to see who else writes.

    A fragment that is only read at strange places is read from a copy made before the nest; one that is written
    there lives in shared memory while the nest runs."""
    written = {ir.owner(a.buffer).name for a in fragment_accesses(nest) if not isinstance(a, ir.Load)}
    moved: dict[str, tuple[ir.Buffer, str]] = {}
    read: dict[str, tuple[ir.Buffer, str]] = {}
    for access in fragment_accesses(nest):
        owner = ir.owner(access.buffer)
        forced = refused.get(access.buffer.name, "")
        why = forced or unserved(access, nest, routes.env)
        if why:
            whole = not isinstance(access, ir.Load) or (forced and owner.name in written)
            (moved if whole else read).setdefault(owner.name, (owner, why))
    if not moved and not read:
        return None

    def rule(node):
        if not isinstance(node, (ir.Load, ir.Store, ir.Atomic)) or node.buffer.scope != "fragment":
            return None
        name = ir.owner(node.buffer).name
        strange = name in read and isinstance(node, ir.Load) and \
            (node.buffer.name in refused or unserved(node, nest, routes.env))
        return replace(node, buffer=routes.tile(node.buffer)) if name in moved or strange else None

    inside = replace(nest, body=ir.rewrite(nest.body, rule))
    return around(routes, nest, inside, moved, {n: x for n, x in read.items() if n not in moved}, body)


def around(routes: Routes, old: ir.Stmt, new: ir.Stmt, moved, read, body) -> tuple[ir.Stmt, ...]:
    """`new` between copies to and from the tiles that stand for fragments in it."""
    before: list[ir.Stmt] = []
    for name, (owner, why) in {**moved, **read}.items():
        if name in moved and covers(old, name, routes.env):
            continue
        if name in moved and not _has_value(owner, old, body):
            before.append(ir.Fill(whole_of(routes.tile(owner)), ir.Const(0, owner.dtype), loc=old.loc))
            continue
        before.append(routes.out(whole_of(owner), old.loc, why))
    written = {ir.owner(n.buffer).name for n in ir.walk(old) if isinstance(n, (ir.Store, ir.Atomic))}
    after = [routes.back(whole_of(owner), old.loc) for name, (owner, _) in moved.items() if name in written]
    for name, (_, why) in moved.items():
        routes.notes[f"fragment {name}", f"through shared memory: {why}"] = None
    return (*before, new, *after)


def _has_value(owner: ir.Buffer, statement: ir.Stmt, body: tuple[ir.Stmt, ...]) -> bool:
    """Whether anything but a statement at the top of the kernel writes the fragment."""
    if statement not in body:
        return True
    return any(_writes(s, owner.name) for s in body[:body.index(statement)])


def _writes(statement: ir.Stmt, name: str) -> bool:
    for node in ir.walk(statement):
        match node:
            case ir.Store() | ir.Atomic() if ir.owner(node.buffer).name == name:
                return True
            case ir.Copy() | ir.Fill() | ir.Reduce() | ir.Scan() | ir.Finalize():
                if ir.owner(node.dst.buffer).name == name:
                    return True
            case ir.Gemm() if node.c.buffer.name == name:
                return True
    return False
