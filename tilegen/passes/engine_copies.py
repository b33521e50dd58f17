"""Copies from global to shared memory by the copy engine (TMA), and what it cannot copy."""

from __future__ import annotations

from dataclasses import replace

from tilegen import arith, ir
from tilegen.passes.pipeline_loads import uses
from tilegen.passes.planner import Planner
from tilegen.plan import EngineTile, Fence, OpPlan, PipelinePlan, TensorMapPlan

ROW_BYTES = 128                                 # of a swizzled row in shared memory
_MOST = 256                                     # extent of a box


def why_no_engine(planner: Planner, copy: ir.Copy) -> str:
    """Why the copy engine cannot make a load; '' where it can."""
    source, tile = copy.src.buffer, copy.dst.buffer
    name = f"{source.name} to {tile.name}"
    if isinstance(source, ir.Alias) or not any(p.buffer and p.buffer.name == source.name
                                               for p in planner.kernel.params):
        return f"{source.name} is no parameter of the kernel"
    if not 2 <= len(source.shape) <= 5:
        return f"{name}: the copy engine takes tensors of 2 to 5 dimensions"
    if source.dtype != tile.dtype:
        return f"{name}: the elements are converted on their way"
    rows, cols = (planner.value(e) or 0 for e in copy.dst.extents[-2:])
    outer = [planner.value(e) for e in copy.src.extents[:-2]]
    inner = [planner.value(e) for e in copy.src.extents[-2:]]
    if any(e != 1 for e in outer) or inner != [rows, cols]:
        return f"{name}: the tile is no box of rows and columns of the tensor"
    if rows > _MOST or rows % 8:
        return f"{name}: boxes have up to {_MOST} rows, in groups of 8"
    if cols * tile.dtype.bytes % ROW_BYTES:
        return f"{name}: rows of {cols * tile.dtype.bytes} bytes are not made of {ROW_BYTES}"
    pitch = planner.value(source.shape[-1])
    if pitch is not None and pitch * tile.dtype.bytes % 16:
        return f"{name}: rows of the tensor do not start at multiples of 16 bytes"
    return ""


def why_no_store(planner: Planner, copy: ir.Copy) -> str:
    """Why the copy engine cannot store an accumulator to global memory; '' where it can."""
    target, source = copy.dst.buffer, copy.src.buffer
    param = next((p for p in planner.kernel.params if p.buffer and p.buffer.name == target.name), None)
    if param is None or isinstance(target, ir.Alias) or param.access != "write":
        return f"{target.name} is not only written"
    if uses(planner.kernel.body)[target.name] != 1:
        return f"{target.name} is written in several places"
    if copy.src.extents != source.shape or len(source.shape) != 2:
        return f"a part of {source.name} is stored"
    rows, cols = (planner.value(e) or 0 for e in source.shape)
    boxes = [planner.value(e) for e in copy.dst.extents]
    if not 2 <= len(boxes) <= 5 or boxes[-2:] != [rows, cols] or any(e != 1 for e in boxes[:-2]):
        return f"{source.name} is no box of rows and columns of {target.name}"
    size = target.dtype.bytes
    if size not in (2, 4) or rows > _MOST or rows % 8 or cols * size % ROW_BYTES:
        return f"{rows} rows of {cols * size} bytes are no boxes of {ROW_BYTES} bytes a row"
    pitch = planner.value(target.shape[-1])
    if pitch is not None and pitch * size % 16:
        return f"rows of {target.name} do not start at multiples of 16 bytes"
    return ""


def store_plan(planner: Planner, copy: ir.Copy, maps: dict[str, TensorMapPlan]) -> tuple[ir.Stmt, ...]:
    """The accumulator to a tile in shared memory, and the tile to global memory column by column of 128 bytes."""
    source, target = copy.src, copy.dst
    tile = EngineTile(planner.fresh(f"{target.buffer.name}_out", f"{target.buffer.name}_tile_out"),
                      source.buffer.shape, target.buffer.dtype, "shared", loc=copy.loc)
    whole = ir.Region(tile, (ir.Const(0), ir.Const(0)), tile.shape)
    values = {**_pieces(planner, target, tile, maps, "store"), "tile": tile}
    reason = "by the copy engine, which writes whole lines and knows where the tensor ends"
    return (ir.Alloc(tile, loc=copy.loc), replace(copy, dst=whole), Fence(loc=copy.loc),
            replace(copy, src=whole, plan=OpPlan("engine_store", values, reason)))


def _pieces(planner: Planner, region: ir.Region, tile: EngineTile, maps: dict[str, TensorMapPlan], verb: str) -> dict:
    """A loop over the columns of 128 bytes of a tile, and the map of the tensor."""
    rows, cols = tile.shape[-2:]
    count = ROW_BYTES // tile.dtype.bytes
    piece = planner.constant("PIECE", count, "elements in 128 bytes of a row", knob=False)
    planner.check_multiple(cols, piece, "the copy engine moves 128 bytes of a row at a time")
    at = ir.Var(planner.fresh("c", "column"), kind="loop")
    *outer, last = region.offsets
    places = [arith.add(last, at), *reversed(outer)]
    maps[region.buffer.name] = TensorMapPlan((*(ir.Const(1) for _ in outer[:-1]), rows, piece))
    return {"tensor": region.buffer.name, "at": at.name, "cols": cols, "piece": piece,
            "place": arith.multiply(at, rows), "places": places, "helper": f"tma_{verb}_{len(places)}d"}


def load_plan(planner: Planner, copy: ir.Copy, tile: EngineTile, plan: PipelinePlan, full: ir.Buffer,
              maps: dict[str, TensorMapPlan]) -> ir.Copy:
    """The copy, column by column of 128 bytes; `maps` gets what the host has to know of the tensor."""
    values = {**_pieces(planner, copy.src, tile, maps, "load"), "tile": tile, "stage": plan.stage, "full": full}
    return replace(copy, options=(), plan=OpPlan("engine_load", values, "by the copy engine"))
