"""Which copies between fragments are one call: each thread's registers, in the same order on both sides."""

from __future__ import annotations

from tilegen import arith, ir
from tilegen.passes.planner import Planner


def same_registers(planner: Planner, copy: ir.Copy) -> bool:
    """Whether both sides are whole fragments of one shape, which a thread holds in arrays of the same extents."""
    src, dst = copy.src, copy.dst
    if {src.buffer.scope, dst.buffer.scope} != {"fragment"} or src.extents != dst.extents:
        return False
    meet = arith.assignable(ir.Load(src.buffer, ()), dst.buffer.dtype)          # through float: not by itself
    slots = [[axis.slots_name for axis in planner.layout(r.buffer).axes] for r in (src, dst)]
    return slots[0] == slots[1] and isinstance(meet, ir.Load) and all(r.extents == r.buffer.shape for r in (src, dst))
