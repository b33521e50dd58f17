"""order_pipelines: the schedule that order= and stage= of T.Pipelined ask for.

Precondition: a checked kernel. Effect: each statement (or group) of the loop has a place in the step, order[i],
and a pipeline stage: one of stage s runs max(stage) - s steps ahead of those of the last stage. Where only copies
from global to shared memory run ahead, the statements are put in order and plan_pipeline gives the copies
stages. Where computations run ahead too, the loop gets that many more steps, and each statement runs under the
condition that its step exists. A schedule that would change the result is TG0209.
Before: for k in Pipelined(N, order=[0, 2, 1], stage=[0, 0, 1]): copy; first(k); second(k)
After:  for k in range(-1, N): if k + 1 < N: copy(k + 1); if k >= 0: second(k); if k + 1 < N: first(k + 1)
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from tilegen import arith, ir
from tilegen.errors import Note, TilegenError
from tilegen.passes.pipeline_loads import is_load
from tilegen.targets.base import Target

SCHEDULE = ("order", "stage", "group")


@dataclass(frozen=True)
class Part:
    """A group of statements with its place in the step, and the steps that it runs ahead."""

    statements: tuple[ir.Stmt, ...]
    order: int
    ahead: int

    @property
    def loads(self) -> bool:
        return all(isinstance(s, ir.Copy) and is_load(s) for s in self.statements)


def order_pipelines(kernel: ir.Kernel, target: Target) -> ir.Kernel:
    def rule(node):
        if not (isinstance(node, ir.For) and set(SCHEDULE) & set(dict(node.options))):
            return None
        options = dict(node.options)
        plain = tuple(o for o in node.options if o[0] not in SCHEDULE)
        return _scheduled(replace(node, options=plain), options)

    return replace(kernel, body=ir.rewrite(kernel.body, rule))


def _scheduled(loop: ir.For, options: dict) -> ir.For:
    names = tuple(s for s in loop.body if isinstance(s, (ir.Let, ir.Alloc)))
    work = tuple(s for s in loop.body if not isinstance(s, (ir.Let, ir.Alloc)))
    parts = _parts(loop, work, options)
    staged = all(p.loads for p in parts if p.ahead)
    _check(loop, parts, names, staged)
    ordered = sorted(parts, key=lambda p: p.order)
    most = max(p.ahead for p in parts)
    if not staged:
        return _skewed(loop, names, ordered, most)
    body = tuple(s for p in ordered if p.ahead for s in p.statements)
    body += tuple(replace(s, options=(*s.options, ("stays", True))) if p.loads else s
                  for p in ordered if not p.ahead for s in p.statements)
    stages = ir.Const(most + 1 if most else 0)
    asked = dict(loop.options).get("num_stages")
    if isinstance(asked, ir.Var) or most and asked is not None and (arith.evaluate(asked, {}) or 0) > most:
        stages = asked
    return replace(loop, body=names + body, options=(("num_stages", stages), ("must", bool(most))))


def _parts(loop: ir.For, work: tuple[ir.Stmt, ...], options: dict) -> list[Part]:
    """The groups of statements. TG0005 where the lists do not fit the loop."""
    order, stage = options["order"], options["stage"]
    groups = options.get("group") or tuple((n,) for n in range(len(work)))
    if sorted(n for g in groups for n in g) != list(range(len(work))):
        raise TilegenError("TG0005", f"group= has to name each of the loop's {len(work)} statements once", loop.loc)
    if len(order) != len(groups) or len(stage) != len(groups):
        raise TilegenError("TG0005", f"order= has {len(order)} and stage= {len(stage)} entries, but the loop has "
                           f"{len(groups)} {'groups' if options.get('group') else 'statements'}", loop.loc,
                           "one entry for each, in the order of the source")
    last = max(stage)
    first = [i for i, s in enumerate(stage) if s < 0]          # left to the planner: copies, first of all
    for i in first:
        if not all(isinstance(work[n], ir.Copy) and is_load(work[n]) for n in groups[i]):
            raise TilegenError("TG0005", "stage -1 is for copies from global to shared memory", work[groups[i][0]].loc)
    ahead = max((last - s for s in stage if s >= 0), default=0)
    return [Part(tuple(work[n] for n in g), -1 if i in first else o, max(1, ahead) if i in first else last - s)
            for i, (g, o, s) in enumerate(zip(groups, order, stage))]


# ---- Legality ------------------------------------------------------------------------------------
def _check(loop: ir.For, parts: list[Part], names, staged: bool) -> None:
    written = set().union(*(_accesses(p.statements)[1] for p in parts))
    for s in names:
        if isinstance(s, ir.Let) and (found := _accesses((s,))[0] & written):
            raise TilegenError("TG0209", f"{s.var.name} is read from {min(found)}, which the loop writes, so that its "
                               "place in the step matters", s.loc, "leave out order= and stage=")
    if any("asynchronous" in dict(n.options) for n in ir.walk(loop.body) if isinstance(n, ir.Copy)):
        raise TilegenError("TG0209", "T.copy_async is complete at the next T.sync, so that its place in the step "
                           "matters", loop.loc, "write T.copy, or leave out order= and stage=")
    private = {s.dst.buffer.name for p in parts if p.ahead and staged for s in p.statements}
    for position, first in enumerate(parts):
        for second in parts[position + 1:]:
            _compare(first, second, private)


def _compare(first: Part, second: Part, private: set[str]) -> None:
    """TG0209 where two groups, `first` earlier in the source, would meet in another order than in the source."""
    shared = _conflicts(first, second)
    early, late = (-first.ahead, first.order), (-second.ahead, second.order)
    if shared and not early < late:
        _refuse(second, first, shared, "in the same step")
    carried = shared - private
    if carried and not late < (early[0] + 1, early[1]):
        _refuse(first, second, carried, "of the step before")


def _refuse(mover: Part, other: Part, names: set[str], when: str) -> None:
    raise TilegenError("TG0209", f"order= and stage= run this before a statement {when} that has to come first: both "
                       f"use {min(names)}, and one writes it", mover.statements[0].loc,
                       "give it a later stage, or a later place in order=",
                       (Note("the other is", other.statements[0].loc),))


def _conflicts(a: Part, b: Part) -> set[str]:
    reads_a, writes_a = _accesses(a.statements)
    reads_b, writes_b = _accesses(b.statements)
    return writes_a & (reads_b | writes_b) | writes_b & reads_a


def _accesses(statements) -> tuple[set[str], set[str]]:
    """(what is read, what is written): names of memory and variables."""
    reads: set[str] = set()
    writes: set[str] = set()
    for n in ir.walk(statements):
        match n:
            case ir.Load():
                reads.add(ir.owner(n.buffer).name)
            case ir.Store() | ir.Atomic():
                writes.add(ir.owner(n.buffer).name)
            case ir.Copy() | ir.Reduce() | ir.Scan() | ir.Vote() | ir.Finalize():
                reads.add(ir.owner(n.src.buffer).name)
                dst = n.dst if isinstance(n, ir.Vote) else n.dst.buffer
                writes.add(ir.owner(dst).name)
            case ir.Fill():
                writes.add(ir.owner(n.dst.buffer).name)
            case ir.Gemm():
                reads |= {ir.owner(n.a.buffer).name, ir.owner(n.b.buffer).name}
                writes.add(ir.owner(n.c.buffer).name)
            case ir.Print():
                reads |= {ir.owner(v.buffer).name for v in n.values if isinstance(v, ir.Region)}
    return reads, writes


# ---- Computations that run ahead -----------------------------------------------------------------
def _skewed(loop: ir.For, names, ordered: list[Part], most: int) -> ir.For:
    """The loop with `most` steps more, each part under the condition that its step exists."""
    body: list[ir.Stmt] = [s for s in names if isinstance(s, ir.Alloc)]
    for part in ordered:
        step = arith.add(loop.var, part.ahead)
        lets = tuple(s for s in names if isinstance(s, ir.Let))
        inside = ir.substitute(_used_lets(lets, part.statements) + part.statements, {loop.var.name: step})
        conditions = [arith.binary("<", step, loop.stop)] if part.ahead else []
        if part.ahead < most:
            conditions.append(arith.binary(">=", step, loop.start))
        test = conditions[0] if len(conditions) == 1 else arith.both(*conditions)
        body.append(ir.If(test, inside, loc=part.statements[0].loc))
    return replace(loop, start=arith.subtract(loop.start, most), body=tuple(body),
                   options=(("num_stages", ir.Const(0)), ("skewed", most)))


def _used_lets(lets: tuple[ir.Let, ...], statements) -> tuple[ir.Let, ...]:
    used = arith.names(statements)
    kept: list[ir.Let] = []
    for let in reversed(lets):
        if let.var.name in used:
            kept.insert(0, let)
            used |= arith.names(let.value)
    return tuple(kept)
