"""share_places: shared tiles that are never in use at the same time get one place.

Precondition: everything planned but barriers. Effect: `kernel.plan.phases` says in which phase of the kernel a
tile is in use, for tiles that share their place; tiles of one phase lie beside each other, phases on top of
each other. Phases end between top-level statements, outside of every loop, so that the one barrier that a
change of phases takes is never in a loop: sharing inside of loops would cost one or more a step. For the same
reason tiles of a pipeline never share with each other. It is done where shared memory limits the blocks of an
SM, or where the tiles do not fit otherwise.
Before: A_shared, B_shared until the loop ends, C_shared after it: 24 + 32 KB
After:  union { struct { A_shared; B_shared; }; C_shared; }: 32 KB
"""

from __future__ import annotations

from dataclasses import replace
from math import prod

from tilegen import arith, ir
from tilegen.plan import PipelinePlan
from tilegen.targets.base import Target

LEAST_SAVED = 1024                       # bytes; less is not worth a reader's attention
Spans = dict[str, tuple[int, int]]       # of tiles: first and last top-level statement


def share_places(kernel: ir.Kernel, target: Target) -> ir.Kernel:
    env = {k.name: k.value for k in kernel.knobs} | {c.name: c.value for c in kernel.plan.constants}
    sizes = {n.buffer.name: _bytes(n.buffer, env) for n in ir.walk(kernel.body)
             if isinstance(n, ir.Alloc) and n.buffer.scope == "shared" and not isinstance(n.buffer, ir.Alias)}
    if len(sizes) < 2 or None in sizes.values():
        return kernel
    spans = _spans(kernel, set(sizes))
    phases = _phases(spans, sizes)
    saved = sum(sizes.values()) - size(sizes, phases)
    if saved < LEAST_SAVED:
        return kernel
    reason = _why_not(kernel, target, sizes, phases)
    places = [", ".join(n for n in sizes if phases.get(n) == p) for p in sorted(set(phases.values()))]
    text = reason or f"{' | '.join(places)} are in use one after the other and share their place: {saved} bytes less"
    plan = replace(kernel.plan, phases={} if reason else phases, notes=(*kernel.plan.notes, ("shared places", text)))
    return replace(kernel, plan=plan)


def size(sizes: dict[str, int], phases: dict[str, int]) -> int:
    """Bytes of tiles of these sizes: the largest phase, and what is in use throughout."""
    sums: dict[int, int] = {}
    for name, phase in phases.items():
        sums[phase] = sums.get(phase, 0) + sizes[name]
    return max(sums.values(), default=0) + sum(s for n, s in sizes.items() if n not in phases)


def _why_not(kernel: ir.Kernel, target: Target, sizes, phases) -> str:
    """Why tiles that could share a place have their own; '' where they share."""
    total, threads = sum(sizes.values()), _threads(kernel)
    if total > target.max_shared:
        return ""
    room = target.max_shared + 1024
    before, after = room // (total + 1024), room // (size(sizes, phases) + 1024)
    most = min(target.resident_blocks, target.resident_threads // threads)
    if min(most, before) == min(most, after):
        return f"each tile has its own: sharing would save {total - size(sizes, phases)} bytes, and no more blocks " \
               "would be on an SM for it"
    return ""


def _threads(kernel: ir.Kernel) -> int:
    return next((c.value for c in kernel.plan.constants if c.name == "THREADS"), 128)


def _bytes(buffer: ir.Buffer, env: dict) -> int | None:
    extents = [arith.evaluate(e, env) for e in buffer.shape]
    return None if None in extents else -(-prod(extents) * buffer.dtype.bytes // 16) * 16


def _spans(kernel: ir.Kernel, tiles: set[str]) -> Spans:
    """Where each tile is in use. What is copied in the background, or named by text of the target's own
    language, counts as in use throughout."""
    spans: Spans = {}
    background: set[str] = set()
    last = len(kernel.body)
    raw = [n.text for n in ir.walk(kernel.body) if isinstance(n, ir.Raw)]
    loads = {id(c) for n in ir.walk(kernel.body) if isinstance(n, ir.For) and isinstance(n.plan, PipelinePlan)
             for c in ir.walk(n.body[:n.plan.ahead])}
    for position, s in enumerate(kernel.body):
        if isinstance(s, ir.Alloc):
            continue
        for n in ir.walk(s):
            if isinstance(n, ir.Buffer) and (name := ir.owner(n).name) in tiles:
                spans[name] = (spans.get(name, (position, 0))[0], position)
            if isinstance(n, ir.Copy) and "asynchronous" in dict(n.options) and id(n) not in loads:
                background.add(ir.owner(n.dst.buffer).name)
    for name in tiles:
        if name not in spans or name in background or any(name in text for text in raw):
            spans[name] = (0, last)
    return spans


def _phases(spans: Spans, sizes: dict[str, int]) -> dict[str, int]:
    """The phase of each tile that lies in one phase, with the cuts that make the total least."""
    cuts: list[int] = []
    best: dict[str, int] = {}
    while True:
        tries = [sorted([*cuts, first]) for first, _ in spans.values() if first not in cuts and first > 0]
        found = min(tries, key=lambda c: size(sizes, _divided(spans, c)), default=None)
        if found is None or size(sizes, _divided(spans, found)) >= size(sizes, best):
            return best
        cuts, best = found, _divided(spans, found)


def _divided(spans: Spans, cuts: list[int]) -> dict[str, int]:
    """{tile: phase} for tiles that no cut divides."""
    def phase(position: int) -> int:
        return sum(1 for c in cuts if position >= c)

    found = {name: phase(first) for name, (first, last) in spans.items() if phase(first) == phase(last)}
    return found if len(set(found.values())) > 1 else {}
