"""name_offsets: elements of tensors that decide where a tile statement works, and that may not exist, get names.

Precondition: a simplified kernel. Effect: where the box of a tile statement begins at an element of a global tensor
that may not exist, or a tile is filled with it, the element is read before the statement; later passes guard what a
name reads, so that an element outside is zero here as everywhere.
Before: T.copy(P[Ids[k], 0], P_shared)    After: start = Ids[k]; T.copy(P[start, 0], P_shared)
"""

from __future__ import annotations

from dataclasses import replace

from tilegen import ir
from tilegen.passes.accesses import conditions
from tilegen.passes.ranges import Ranges, collect
from tilegen.targets.base import Target

_TILES = (ir.Copy, ir.Fill, ir.Gemm, ir.Reduce, ir.Scan, ir.Vote)


def name_offsets(kernel: ir.Kernel, target: Target) -> ir.Kernel:
    known = collect(kernel)
    taken = {n.name for n in ir.walk(kernel) if isinstance(n, (ir.Var, ir.Buffer, ir.Knob))}

    def rule(node):
        return _named(node, known, taken) if isinstance(node, _TILES) else None

    return replace(kernel, body=ir.rewrite(kernel.body, rule))


def _named(s: ir.Stmt, known: Ranges, taken: set[str]) -> tuple[ir.Stmt, ...] | None:
    """The statement with a name for each element that may be missing, after what gives the names."""
    lets: dict[ir.Expr, ir.Let] = {}

    def element(node):
        if not (isinstance(node, ir.Load) and node.buffer.scope == "global"):
            return None
        if node not in lets and not conditions(node.buffer, node.indices, known):
            return None
        if node not in lets:
            name = ir.take_name(taken, "start", f"start_{node.buffer.name}", f"{node.buffer.name}_start")
            lets[node] = ir.Let(ir.Var(name, node.dtype), node, loc=s.loc)
        return lets[node].var

    def box(node):
        if isinstance(node, ir.Fill):
            return replace(node, value=ir.rewrite(node.value, element))
        return replace(node, offsets=ir.rewrite(node.offsets, element)) if isinstance(node, ir.Region) else None

    changed = ir.rewrite(s, box)
    return (*lets.values(), changed) if lets else None
