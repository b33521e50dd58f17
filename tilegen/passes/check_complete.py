"""check_complete: every tile statement has a plan, and the block fits the target.

Precondition: all passes have run. Effect: none; TG0207 where a thread would need more registers for
its fragments than it can have; an AssertionError names a statement without a plan (a fault of ours).
"""

from __future__ import annotations

from tilegen import ir
from tilegen.errors import Note, TilegenError
from tilegen.targets.base import Target

_PLANNED = (ir.Copy, ir.Fill, ir.Gemm, ir.Reduce, ir.Scan, ir.Vote, ir.Parallel)


def check_complete(kernel: ir.Kernel, target: Target) -> ir.Kernel:
    for node in ir.walk(kernel.body):
        if isinstance(node, _PLANNED) and node.plan is None:
            raise AssertionError(f"{type(node).__name__} at {node.loc} has no plan")
    layouts = kernel.plan.layouts
    needed = {n.buffer.name: (layouts[n.buffer.name].registers * max(4, n.buffer.dtype.bytes) // 4, n.buffer)
              for n in ir.walk(kernel.body) if isinstance(n, ir.Alloc) and n.buffer.name in layouts}
    total = sum(count for count, _ in needed.values())
    if total > target.max_registers:
        largest = max(needed.values(), key=lambda x: x[0])[1]
        raise TilegenError(
            "TG0207", f"the fragments need {total} registers in each thread; a thread has {target.max_registers}",
            largest.loc, hint="more threads=, smaller tiles, or a shared buffer for what is rarely used",
            notes=tuple(Note(f"{name}: {count} registers", buffer.loc) for name, (count, buffer) in needed.items()))
    return kernel
