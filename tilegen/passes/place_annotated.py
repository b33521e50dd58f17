"""place_annotated: shared tiles that T.annotate_layout places get a function that finds their elements.

Precondition: a checked kernel. Effect: such a tile is a PlacedBuffer everywhere, and `kernel.plan.places` has
its function; no pass pads or swizzles it, and vectors move only neighbours that stay together.
Before: A_shared[i, j]    After: A_shared_at(s.A_shared, i, j)
"""

from __future__ import annotations

from dataclasses import replace

from tilegen import arith, ir
from tilegen.errors import Note, TilegenError
from tilegen.passes.ranges import knob_values
from tilegen.plan import Check, KernelPlan, PlacedBuffer
from tilegen.targets.base import Target
from tilegen.wishes import Placement


def place_annotated(kernel: ir.Kernel, target: Target) -> ir.Kernel:
    wanted = {w.buffer: w for w in kernel.wishes if isinstance(w, Placement) and w.slot is None}
    if not wanted:
        return kernel
    _refuse_views(kernel, wanted)
    taken = {n.name for n in ir.walk(kernel) if isinstance(n, (ir.Buffer, ir.Var))}
    places: dict[str, Placement] = {}
    buffers: dict[str, PlacedBuffer] = {}
    checks: dict[Check, None] = {}
    for node in ir.walk(kernel.body):
        if isinstance(node, ir.Alloc) and node.buffer.name in wanted:
            buffer, wish = node.buffer, wanted[node.buffer.name]
            name = ir.fresh_name(taken, f"{buffer.name}_at")
            places[name] = wish
            buffers[buffer.name] = PlacedBuffer(buffer.name, buffer.shape, buffer.dtype, buffer.scope, name,
                                                len(buffer.shape), wish.run, loc=buffer.loc)
            checks.update(dict.fromkeys(_checks(kernel, buffer, wish)))

    def rule(node):
        return buffers.get(node.name) if type(node) is ir.Buffer else None

    plan = kernel.plan or KernelPlan()
    notes = tuple((f"layout of {name}", f"as the kernel asks; {wanted[name].run} neighbours of a row stay together")
                  for name in buffers)
    plan = replace(plan, places=places, notes=(*plan.notes, *notes), checks=(*plan.checks, *checks))
    return replace(kernel, body=ir.rewrite(kernel.body, rule), plan=plan)


def stay_together(buffer: ir.Buffer, width: int) -> bool:
    """Whether `width` neighbours of a row, from a multiple of their number on, lie beside each other."""
    return not isinstance(buffer, PlacedBuffer) or not buffer.run or buffer.run % width == 0


def _checks(kernel: ir.Kernel, buffer: ir.Buffer, wish: Placement):
    """The knobs that the function was looked at with stay as they are."""
    env = knob_values(kernel)
    for name in sorted(arith.names((wish.value, *buffer.shape)) - {v.name for v in wish.vars}):
        condition = arith.binary("==", ir.Var(name, kind="knob"), ir.Const(env[name]))
        yield Check(condition, f"the layout of {buffer.name} was checked for this number")


def _refuse_views(kernel: ir.Kernel, wanted: dict[str, Placement]) -> None:
    for node in ir.walk(kernel.body):
        if isinstance(node, ir.Alloc) and isinstance(node.buffer, ir.Alias) and node.buffer.base.name in wanted:
            name = node.buffer.base.name
            raise TilegenError("TG0203", f"{node.buffer.name} sees {name} in another shape, and {name} has a layout of "
                               "its own", node.loc, "T.copy it into a tile without a layout, and view that",
                               (Note("the layout is", wanted[name].loc),))
