"""Which copies of a pipelined loop may run ahead of their step, and why the others may not.

A copy from global to shared memory may run ahead when it fills its whole tile, when nothing in the loop
changes what it reads or decides its place, and when every other use of the tile in the loop comes after it
in the same step. Names that it needs are computed again for the step that it loads; conditions around it
go with it. What the step does to the tile afterwards does not matter: the tile is the step's own.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from tilegen import arith, ir
from tilegen.dtypes import bool_
from tilegen.passes.divergence import depends_on_thread
from tilegen.passes.find_gathers import Gather


@dataclass
class Loads:
    """`ahead`: the statements that fill a stage; `rest`: those of the step itself; `tiles`: what is filled;
    `refused`: (tile, reason) for each copy that stays in its step."""

    ahead: tuple[ir.Stmt, ...] = ()
    rest: tuple[ir.Stmt, ...] = ()
    tiles: list[ir.Buffer] = field(default_factory=list)
    refused: list[tuple[str, str]] = field(default_factory=list)


@dataclass
class Finder:
    """Looks through one loop. `aliased`: tiles with a second name; `outside`: reasons by tile, from uses
    outside of the loop; `differ`: names whose values differ between threads."""

    loop: ir.For
    aliased: set[str]
    outside: dict[str, str]
    differ: set[str]
    same_dtype: bool = True

    def __post_init__(self) -> None:
        self.counts = uses(self.loop.body)
        self.written = _written(self.loop.body)
        self.bound = {n.var.name for n in ir.walk(self.loop.body) if isinstance(n, (ir.Let, ir.For))}
        self.bound |= {v.name for n in ir.walk(self.loop.body) if isinstance(n, ir.Parallel) for v in n.vars}
        self.raw = [n.text for n in ir.walk(self.loop.body) if isinstance(n, ir.Raw)]
        self.found = Loads()

    def find(self) -> Loads:
        """The loads of the loop."""
        ahead, rest = self._split(self.loop.body, {})
        named = [n.name for n in ir.walk(rest) if isinstance(n, ir.Var)]
        self.found.rest = tuple(s for s in rest if not (isinstance(s, ir.Let) and s in ahead
                                                        and named.count(s.var.name) == 1))
        self.found.ahead = _needed(ahead)
        return self.found

    def _split(self, statements, lets: dict[str, ir.Let]) -> tuple[tuple[ir.Stmt, ...], tuple[ir.Stmt, ...]]:
        """(what runs ahead, what stays); `lets` are the names known so far that can be computed ahead."""
        ahead: list[ir.Stmt] = []
        rest: list[ir.Stmt] = []
        lets = dict(lets)
        for position, s in enumerate(statements):
            if isinstance(s, ir.Let) and not self._obstacle(s.value, lets):
                lets[s.var.name] = s
                ahead.append(s)
            if isinstance(s, ir.If):
                self._condition(s, lets, ahead, rest)
                continue
            if isinstance(s, ir.Copy) and is_load(s):
                reason = self._why_not(s, statements[position + 1:], lets)
                if not reason:
                    self.found.tiles.append(s.dst.buffer)
                    ahead.append(s)
                    continue
                self.found.refused.append((s.dst.buffer.name, reason))
            rest.append(s)
        return tuple(ahead), tuple(rest)

    def _condition(self, s: ir.If, lets, ahead: list[ir.Stmt], rest: list[ir.Stmt]) -> None:
        """Copies under a condition that is known ahead run ahead under it."""
        if self._obstacle(s.condition, lets):
            self.found.refused += [(n.dst.buffer.name, "it is loaded under a condition that the step decides")
                                   for n in ir.walk(s) if isinstance(n, ir.Copy) and is_load(n)]
            rest.append(s)
            return
        then, remains = self._split(s.then, lets)
        otherwise, others = self._split(s.otherwise, lets)
        if _copies(then) or _copies(otherwise):
            then, otherwise = _needed(then), _needed(otherwise)
            ahead.append(replace(s, then=then, otherwise=otherwise) if then else
                         replace(s, condition=ir.UnOp("not", s.condition, bool_), then=otherwise, otherwise=()))
        if remains or others:
            rest.append(replace(s, then=remains, otherwise=others))

    def _why_not(self, copy: ir.Copy, after, lets) -> str:
        tile, source = copy.dst.buffer, ir.owner(copy.src.buffer).name
        if "stays" in dict(copy.options):
            return "stage= keeps it there"
        if copy.dst.extents != tile.shape:
            return "only a part of the tile is filled"
        if self.same_dtype and copy.src.buffer.dtype != tile.dtype:
            return "the elements are converted on their way"
        if isinstance(copy, Gather) and not self.same_dtype:
            return "its rows lie apart, and go through no registers"
        if tile.name in self.aliased:
            return "the tile has a second name"
        if any(tile.name in text for text in self.raw):
            return "text of the target's own language names the tile"
        if source in self.written:
            return f"the loop writes {source}"
        if self.counts[tile.name] != 1 + uses(after).get(tile.name, 0):
            again = sum(1 for n in ir.walk(self.loop.body) if isinstance(n, ir.Copy) and is_load(n)
                        and n.dst.buffer.name == tile.name)
            return "two copies fill one buffer" if again > 1 else "the tile is used before it is loaded in a step"
        return self._obstacle(copy, lets) or self.outside.get(tile.name, "")

    def _obstacle(self, node: ir.Node, lets) -> str:
        """Why a value cannot be computed some steps ahead; '' where it can."""
        own = {v.name for v in node.rows} | {let.var.name for let in node.lets} if isinstance(node, Gather) else set()
        for n in ir.walk(node):
            if isinstance(n, ir.Var) and n.name in self.bound - own and n.name not in lets:
                return f"its place depends on {n.name}, which the step computes"
            if isinstance(n, ir.Load) and ir.owner(n.buffer).name in self.written:
                return f"its place depends on {n.buffer.name}, which the loop writes"
            if isinstance(n, ir.Load) and n.buffer.scope == "fragment":
                return f"its place depends on {n.buffer.name}, which is spread over the threads"
        return "its place differs between threads" if depends_on_thread(node, self.differ) else ""


def is_load(s: ir.Copy) -> bool:
    """Whether a copy goes from global to shared memory."""
    return s.src.buffer.scope == "global" and s.dst.buffer.scope == "shared"


def uses(node) -> dict[str, int]:
    """How often each buffer is named in `node`."""
    found: dict[str, int] = {}
    for n in ir.walk(node):
        if isinstance(n, ir.Buffer):
            found[n.name] = found.get(n.name, 0) + 1
    return found


def copies(statements) -> list[ir.Copy]:
    """The copies among the statements that fill a stage."""
    return [n for n in ir.walk(statements) if isinstance(n, ir.Copy)]


def _copies(statements) -> bool:
    return bool(copies(statements))


def _needed(ahead: tuple[ir.Stmt, ...]) -> tuple[ir.Stmt, ...]:
    """The statements without names that none of them needs."""
    while True:
        names = arith.names(tuple(s.value if isinstance(s, ir.Let) else s for s in ahead))
        kept = tuple(s for s in ahead if not isinstance(s, ir.Let) or s.var.name in names)
        if len(kept) == len(ahead):
            return kept
        ahead = kept


def _written(statements) -> set[str]:
    """The memory that the loop writes."""
    found = set()
    for n in ir.walk(statements):
        if isinstance(n, (ir.Copy, ir.Fill, ir.Reduce, ir.Scan, ir.Finalize)):
            found.add(ir.owner(n.dst.buffer).name)
        elif isinstance(n, ir.Gemm):
            found.add(ir.owner(n.c.buffer).name)
        elif isinstance(n, (ir.Store, ir.Atomic)):
            found.add(ir.owner(n.buffer).name)
        elif isinstance(n, ir.Vote):
            found.add(n.dst.name)
        elif isinstance(n, ir.Alloc):
            found.add(n.buffer.name)
    return found
