"""place_shared: the members of Smem, their size, and whether it fits.

Precondition: everything planned. Effect: `kernel.plan.shared` lists the shared buffers in order of
allocation, each aligned to 16 bytes; SMEM_BYTES and the room for reductions are counted.
TG0201 with the ledger where the target has less.
"""

from __future__ import annotations

from dataclasses import replace
from math import prod

from tilegen import arith, ir
from tilegen.errors import Note, TilegenError
from tilegen.dtypes import DTYPES
from tilegen.plan import SharedBuffer
from tilegen.targets.base import Target


def place_shared(kernel: ir.Kernel, target: Target) -> ir.Kernel:
    env = {k.name: k.value for k in kernel.knobs} | {c.name: c.value for c in kernel.plan.constants}
    placed: list[SharedBuffer] = []
    for node in ir.walk(kernel.body):
        if isinstance(node, ir.Alloc) and node.buffer.scope == "shared" and not isinstance(node.buffer, ir.Alias):
            placed.append(_place(node.buffer, env))
    for dtype, (member, count) in kernel.plan.scratch:
        room = ir.Buffer(member.partition(".")[2], (ir.Var("THREADS", kind="knob"),), DTYPES[dtype], "shared")
        placed.append(SharedBuffer(room, count * DTYPES[dtype].bytes,
                                   "values on their way between the warps of a reduction"))
    total = sum(p.bytes for p in placed)
    if total > target.max_shared:
        _refuse(kernel, target, placed, total)
    return replace(kernel, plan=replace(kernel.plan, shared=tuple(placed)))


def _place(buffer: ir.Buffer, env) -> SharedBuffer:
    extents = [arith.evaluate(e, env) for e in buffer.shape]
    if None in extents:
        raise TilegenError("TG0109", f"the shape of {buffer.name} has to be known at compile time", buffer.loc,
                           hint="shared memory has a fixed size: use a knob, and loop over the rest")
    return SharedBuffer(buffer, prod(extents) * buffer.dtype.bytes)


def _refuse(kernel: ir.Kernel, target: Target, placed: list[SharedBuffer], total: int) -> None:
    notes = tuple(Note(f"{p.buffer.name}: {p.bytes} bytes", p.buffer.loc)
                  for p in sorted(placed, key=lambda p: -p.bytes))
    largest = max(placed, key=lambda p: p.bytes)
    raise TilegenError("TG0201", f"{total} bytes of shared memory per block; {target.name} {target.arch} has "
                       f"{target.max_shared}", largest.buffer.loc or kernel.launch_loc, notes=notes,
                       hint="smaller tiles or a narrower dtype for the largest of them")
