"""order_blocks: which block computes which part of the grid.

Precondition: everything else planned. Effect: where the kernel asks for panels (T.use_swizzle), a BlockOrder
on its plan; the names of the block's place in the grid mean what they meant. On a CPU it is only noted.
Before: bx = blockIdx.x, by = blockIdx.y    After: row_panels<PANEL>(bx, by)
"""

from __future__ import annotations

from dataclasses import replace

from tilegen import arith, ir
from tilegen.passes.planner import Planner
from tilegen.plan import BlockOrder
from tilegen.targets.base import Target

_SIDES = {"row_panels": ("rows", "columns"), "column_panels": ("columns", "rows")}


def order_blocks(kernel: ir.Kernel, target: Target) -> ir.Kernel:
    wish = next((w for w in kernel.wishes if w.name in _SIDES), None)
    if wish is None or kernel.plan and kernel.plan.walk:       # a walk over the tiles has its own order
        return kernel
    if target.family != "gpu":
        note = ("order of blocks", "T.use_swizzle changes nothing: each thread takes the next block of a row")
        return replace(kernel, plan=replace(kernel.plan, notes=(*kernel.plan.notes, note)))
    planner = Planner(kernel, target)
    across, along = _SIDES[wish.name]
    size: ir.Expr = wish.value
    if isinstance(size, ir.Const):
        size = planner.constant("PANEL", size.value, f"{across} of blocks that run together and share the L2 cache",
                                "1 and up")
    planner.check(arith.binary(">=", size, ir.Const(1)), f"a panel has at least one of the grid's {across}")
    note = ("order of blocks", f"panels of {planner.value(size)} {across} of blocks, each walked along the {along}")
    return planner.finish(kernel.body, notes=(*kernel.plan.notes, note), order=BlockOrder(wish.name, size, wish))
