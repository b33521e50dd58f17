"""Which fragments a thread holds at the same time, and in how many registers.

A fragment lives from its first to its last use. What a loop uses lives throughout the loop, unless each step
writes it anew before reading it and nothing reads it afterwards. A 16-bit fragment counts half a register an
element, since matrix instructions and vector accesses take pairs. Where one fragment's values are converted
into another, the first dies element by element, so that its room serves both.
"""

from __future__ import annotations

from collections.abc import Iterator

from tilegen import ir

Spans = dict[str, list[int]]


def most_registers(kernel: ir.Kernel) -> dict[str, int]:
    """{buffer: registers} of the fragments that are alive where most registers are."""
    layouts = kernel.plan.layouts
    sizes = {n.buffer.name: -(-layouts[n.buffer.name].registers * n.buffer.dtype.bits // 32)
             for n in ir.walk(kernel.body) if isinstance(n, ir.Alloc) and n.buffer.name in layouts}
    steps: list[ir.Stmt] = []
    spans: Spans = {}
    _visit(kernel.body, steps, spans, frozenset(sizes))
    moves = {position: (s.src.buffer.name, s.dst.buffer.name) for position, s in enumerate(steps)
             if isinstance(s, ir.Copy)}
    best: dict[str, int] = {}
    for position in range(len(steps)):
        alive = {name: sizes[name] for name, (first, last) in spans.items() if first <= position <= last}
        source, target = moves.get(position, ("", ""))
        if {source, target} <= set(alive) and spans[source][1] == position == spans[target][0]:
            del alive[min(source, target, key=alive.get)]
        if sum(alive.values()) > sum(best.values()):
            best = alive
    return best


def _visit(statements: tuple[ir.Stmt, ...], steps: list[ir.Stmt], spans: Spans, names: frozenset[str]) -> None:
    """Numbers the statements in order, and widens the span of what each of them uses."""
    for s in statements:
        if isinstance(s, ir.Alloc):
            continue
        if not isinstance(s, (ir.For, ir.While, ir.If)):
            for name in _used(s, names):
                spans.setdefault(name, [len(steps), len(steps)])[1] = len(steps)
            steps.append(s)
            continue
        start = len(steps)
        bodies = (s.then, s.otherwise) if isinstance(s, ir.If) else (s.body,)
        for body in bodies:
            _visit(body, steps, spans, names)
        if not isinstance(s, ir.If):
            _carry(s, start, len(steps) - 1, spans, names)


def _carry(loop: ir.For | ir.While, start: int, stop: int, spans: Spans, names: frozenset[str]) -> None:
    """What a loop takes from one step to the next lives in all of it; so does what came in from before."""
    for name in _used(loop, names):
        first = next(s for s in loop.body if name in _used(s, names))
        if spans[name][0] < start or not overwrites(first, name):
            spans[name][0] = min(spans[name][0], start)
            spans[name][1] = max(spans[name][1], stop)


def _used(node: ir.Stmt, names: frozenset[str]) -> set[str]:
    return {n.name for n in ir.walk(node) if isinstance(n, ir.Buffer)} & names


def overwrites(s: ir.Stmt, name: str) -> bool:
    """Whether a statement gives every element of a buffer a new value, without reading an old one."""
    match s:
        case ir.Copy() | ir.Fill() | ir.Finalize():
            written = s.dst
        case ir.Reduce(clear=True):
            written = s.dst
        case ir.Gemm(clear=True):
            written = s.c
        case ir.Parallel():
            return any(_stores_all(x, s, name) for x in s.body) and name not in set(_loaded(s))
        case _:
            return False
    return written.buffer.name == name and written.extents == written.buffer.shape and name not in set(_loaded(s))


def _loaded(s: ir.Stmt) -> Iterator[str]:
    yield from (n.buffer.name for n in ir.walk(s) if isinstance(n, ir.Load))
    yield from (r.buffer.name for r in (getattr(s, "src", None), getattr(s, "a", None), getattr(s, "b", None))
                if isinstance(r, ir.Region))


def _stores_all(s: ir.Stmt, nest: ir.Parallel, name: str) -> bool:
    return isinstance(s, ir.Store) and s.buffer.name == name and s.indices == nest.vars and \
        s.buffer.shape == nest.extents
