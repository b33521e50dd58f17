"""place_shared: the members of Smem, their size, and whether it fits.

Precondition: everything planned. Effect: `kernel.plan.shared` lists the shared buffers in order of
allocation, each aligned to 16 bytes; SMEM_BYTES and the room for reductions are counted.
TG0201 where the target has less, with a ledger of every buffer and the knobs whose turning makes it fit.
"""

from __future__ import annotations

from dataclasses import replace
from math import prod

from tilegen import arith, ir
from tilegen.errors import Note, TilegenError
from tilegen.dtypes import DTYPES
from tilegen.plan import EngineTile, PipelinePlan, SharedBuffer
from tilegen.targets.base import Target


_SWIZZLED = 1024                                # bytes after which the copy engine's swizzle repeats


def place_shared(kernel: ir.Kernel, target: Target) -> ir.Kernel:
    env = _numbers(kernel)
    placed: list[SharedBuffer] = []
    for node in ir.walk(kernel.body):
        if isinstance(node, ir.Alloc) and node.buffer.scope == "shared" and not isinstance(node.buffer, ir.Alias):
            placed.append(_place(node.buffer, env))
    placed.sort(key=lambda p: -p.alignment)
    for dtype, (member, count) in kernel.plan.scratch:
        room = ir.Buffer(member.partition(".")[2], (ir.Var("THREADS", kind="knob"),), DTYPES[dtype], "shared")
        placed.append(SharedBuffer(room, count * DTYPES[dtype].bytes,
                                   "values on their way between the warps of a reduction"))
    plan = replace(kernel.plan, shared=tuple(placed))
    if plan.shared_bytes > target.max_shared:
        _refuse(replace(kernel, plan=plan), target)
    return replace(kernel, plan=plan)


def _numbers(kernel: ir.Kernel) -> dict:
    return {k.name: k.value for k in kernel.knobs} | {c.name: c.value for c in kernel.plan.constants}


def _place(buffer: ir.Buffer, env) -> SharedBuffer:
    extents = [arith.evaluate(e, env) for e in buffer.shape]
    if None in extents:
        raise TilegenError("TG0109", f"the shape of {buffer.name} has to be known at compile time", buffer.loc,
                           hint="shared memory has a fixed size: use a knob, and loop over the rest")
    alignment = _SWIZZLED if isinstance(buffer, EngineTile) else 16
    return SharedBuffer(buffer, prod(extents) * buffer.dtype.bytes, alignment=alignment)


# ---- The ledger ----------------------------------------------------------------------------------
def _refuse(kernel: ir.Kernel, target: Target) -> None:
    placed, total, limit = kernel.plan.shared, kernel.plan.shared_bytes, target.max_shared
    pipelines = [n for n in ir.walk(kernel.body) if isinstance(n, ir.For) and isinstance(n.plan, PipelinePlan)]
    stages = {name: n.plan.stages for n in pipelines for name in n.plan.buffers}
    notes = [Note(_entry(p, stages.get(p.buffer.name), _numbers(kernel)), p.buffer.loc)
             for p in sorted(placed, key=lambda p: -p.bytes)]
    notes.append(Note(f"together {total} bytes, {total - limit} more than {limit}"))
    largest = max(placed, key=lambda p: p.bytes)
    message = f"{total} bytes of shared memory per block; {target.name} {target.arch} has {limit}"
    raise TilegenError("TG0201", message, largest.buffer.loc or kernel.launch_loc, notes=tuple(notes),
                       hint=_advice(kernel, pipelines, limit))


def _entry(place: SharedBuffer, stages: ir.Expr | None, env: dict) -> str:
    """`A_shared: 4 stages x 128 x 64 float16, 16384 bytes a stage: 65536 bytes`"""
    extents = [arith.evaluate(e, env) for e in place.buffer.shape]
    shape = " x ".join(str(e) for e in extents)
    if stages is None:
        return f"{place.buffer.name}: {shape} {place.buffer.dtype}: {place.bytes} bytes"
    return f"{place.buffer.name}: {extents[0]} stages x {' x '.join(str(e) for e in extents[1:])} " \
           f"{place.buffer.dtype}, {place.exact // extents[0]} bytes a stage: {place.bytes} bytes"


def _advice(kernel: ir.Kernel, pipelines: list[ir.For], limit: int) -> str:
    """The single turns of a knob that make the tiles fit."""
    env = _numbers(kernel)
    turns = []
    for name in dict.fromkeys(loop.plan.stages.name for loop in pipelines if isinstance(loop.plan.stages, ir.Var)):
        asked = name if name in {k.name for k in kernel.knobs} else "num_stages"
        fitting = [n for n in range(2, env[name]) if _total(kernel, env | {name: n}) <= limit]
        if fitting:
            turns.append(f"{asked}={max(fitting)} instead of {env[name]} "
                         f"({_total(kernel, env | {name: max(fitting)})} bytes)")
    for knob in kernel.knobs:
        half = env[knob.name]
        if not isinstance(half, int) or isinstance(half, bool) or knob.name in {n.plan.stages.name for n in pipelines
                                                                             if isinstance(n.plan.stages, ir.Var)}:
            continue
        while half > 16 and half % 2 == 0 and _total(kernel, env | {knob.name: half}) > limit:
            half //= 2
        if half != env[knob.name] and _total(kernel, env | {knob.name: half}) <= limit:
            turns.append(f"{knob.name}={half} instead of {env[knob.name]} "
                         f"({_total(kernel, env | {knob.name: half})} bytes)")
    return "this fits: " + ", or ".join(turns) if turns else "smaller tiles or a narrower dtype for the largest of them"


def _total(kernel: ir.Kernel, env: dict) -> int:
    """Bytes of all tiles with other values of knobs."""
    plan = kernel.plan
    derived = {k.name: arith.evaluate(k.expr, env) for k in kernel.knobs if k.expr is not None}
    env = env | derived
    sizes = (replace(p, exact=prod(arith.evaluate(e, env) or 1 for e in p.buffer.shape) * p.buffer.dtype.bytes)
             for p in plan.shared)
    return replace(plan, shared=tuple(sizes)).shared_bytes
