"""check_complete: every tile statement has a plan, and the block fits the target.

Precondition: all passes have run. Effect: none; TG0207 where a thread would need more registers for
the fragments that live at once than it can have; an AssertionError names a statement without a plan (a fault of ours).
"""

from __future__ import annotations

from tilegen import ir
from tilegen.errors import Note, TilegenError
from tilegen.passes.live_registers import most_registers
from tilegen.targets.base import Target

_PLANNED = (ir.Copy, ir.Fill, ir.Gemm, ir.Reduce, ir.Scan, ir.Vote, ir.Finalize, ir.Parallel)


def check_complete(kernel: ir.Kernel, target: Target) -> ir.Kernel:
    for node in ir.walk(kernel.body):
        if isinstance(node, _PLANNED) and node.plan is None:
            raise AssertionError(f"{type(node).__name__} at {node.loc} has no plan")
    alive = most_registers(kernel)
    total = sum(alive.values())
    if total > target.max_registers:
        buffers = {n.buffer.name: n.buffer for n in ir.walk(kernel.body) if isinstance(n, ir.Alloc)}
        raise TilegenError(
            "TG0207", f"the fragments need {total} registers in each thread; a thread has {target.max_registers}",
            buffers[max(alive, key=alive.get)].loc,
            hint="more threads=, smaller tiles, or a shared buffer for what is rarely used",
            notes=tuple(Note(f"{name}: {count} registers", buffers[name].loc) for name, count in alive.items()))
    return kernel
