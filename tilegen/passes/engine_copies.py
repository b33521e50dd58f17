"""Copies from global to shared memory by the copy engine (TMA), and what it cannot copy."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from tilegen import arith, ir
from tilegen.dtypes import DType
from tilegen.passes.pipeline_loads import uses
from tilegen.passes.planner import Planner
from tilegen.plan import EngineTile, OpPlan, SlabStore, TensorMapPlan
from tilegen.strided import StridedBuffer
from tilegen.wgmma import WGMMA_ROWS

ROW_BYTES = 128                                 # of a swizzled row in shared memory
_MOST = 256                                     # extent of a box
# The helper that gives what a load tells the L2 cache.
_POLICIES = {"evict_first": "l2_evict_first", "evict_last": "l2_evict_last"}
_GROUP = ir.Const(128)                          # threads of a warpgroup


@dataclass(frozen=True)
class Share:
    """How `cluster` blocks load a tile together: along its "rows" or "columns", this block the part `rank`, for all
    blocks whose bit is set in `mask`."""

    along: str
    cluster: ir.Expr
    rank: ir.Expr
    mask: ir.Var


def why_no_engine(planner: Planner, copy: ir.Copy) -> str:
    """Why the copy engine cannot make a load; '' where it can."""
    source, tile = copy.src.buffer, copy.dst.buffer
    name = f"{source.name} to {tile.name}"
    if isinstance(source, StridedBuffer):
        return f"{source.name} has strides of the caller's"
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
    if isinstance(target, StridedBuffer):
        return f"{target.name} has strides of the caller's"
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
    if size != 4 and not (size == 2 and target.dtype.is_float):
        return f"{target.dtype} is neither a float of 16 bits nor of 32 bits"
    if rows % WGMMA_ROWS or cols * size % ROW_BYTES:
        return f"{rows} rows of {cols * size} bytes are not made of {WGMMA_ROWS} rows of {ROW_BYTES} bytes"
    pitch = planner.value(target.shape[-1])
    if pitch is not None and pitch * size % 16:
        return f"rows of {target.name} do not start at multiples of 16 bytes"
    return ""


def slabs_of(planner: Planner, copy: ir.Copy, groups: int, most: int) -> int:
    """How many slabs each of `groups` warpgroups uses in turn for a store: up to `most`, always in the same turn."""
    size = planner.value(arith.product(copy.src.buffer.shape)) or 0
    pieces = size * copy.dst.buffer.dtype.bytes // (groups * WGMMA_ROWS * ROW_BYTES)
    return max(n for n in range(1, most + 1) if pieces % n == 0)


def store_plan(planner: Planner, copy: ir.Copy, maps: dict[str, TensorMapPlan], groups: ir.Expr, slabs: int,
               group: ir.Var, steps: ir.Var) -> tuple[ir.Alloc, SlabStore]:
    """The slabs of a store, `slabs` for each of `groups` warpgroups, and how the copy uses them; `group` is the
    number of a thread's warpgroup, `steps` are those of the loop whose products it may leave in."""
    target = copy.dst.buffer
    width = _piece(planner, target.dtype)
    planner.check_multiple(copy.src.buffer.shape[-1], width, "the copy engine moves 128 bytes of a row at a time")
    rows, size = ir.Const(WGMMA_ROWS), arith.product(copy.src.buffer.shape)
    count = planner.constant("SLABS", slabs, "pieces of a warpgroup's result on their way", "a divisor of all of them")
    expr = arith.divide(size, arith.product((groups, rows, width)))
    threads = arith.product(planner.kernel.threads)
    number = planner.value(arith.divide(size, arith.product((arith.divide(threads, _GROUP), rows, width))))
    pieces = planner.constant(f"{target.name.upper()}_PIECES", number, f"pieces of a warpgroup's part of {target.name}",
                              knob=False, expr=expr)
    planner.check_multiple(pieces, count, "slabs are used in turn, from one tile to the next")
    tile = EngineTile(planner.fresh(f"{target.name}_out", f"{target.name}_tile_out"), (groups, count, rows, width),
                      target.dtype, "shared", loc=copy.loc)
    _add_map(maps, target.name, (*(ir.Const(1) for _ in copy.dst.offsets[2:]), rows, width))
    ends = "xyzuv"[:len(copy.dst.offsets)]
    values = {"width": width, "tensor": target.name, "helper": f"tma_store_{len(ends)}d", "pieces": pieces,
              "steps": steps, "group": group,
              "store": planner.fresh(f"store_{target.name}", f"store_piece_of_{target.name}"),
              "packed": planner.fresh(f"{target.name}_pairs", f"{target.name}_tile_pairs"),
              "at_names": tuple(planner.fresh(f"{target.name}_{end}", f"{target.name}_tile_{end}") for end in ends)}
    return ir.Alloc(tile, loc=copy.loc), SlabStore(tile, values)


def slab_bytes(groups: int) -> int:
    """Bytes of one slab of each of so many warpgroups."""
    return groups * WGMMA_ROWS * ROW_BYTES


def _piece(planner: Planner, dtype: DType) -> ir.Var:
    return planner.constant("PIECE", ROW_BYTES // dtype.bytes, "elements in 128 bytes of a row", knob=False)


def _add_map(maps: dict[str, TensorMapPlan], tensor: str, box: tuple[ir.Expr, ...]) -> None:
    """Notes how the engine sees a tensor. Every copy of it has the same box, see `why_boxes_differ`."""
    maps[tensor] = TensorMapPlan(box)


def why_boxes_differ(loads: Iterable[ir.Copy]) -> str:
    """Why the copies of one tensor have no box in common; '' where they have. A tensor has one map."""
    shapes: dict[str, tuple] = {}
    for copy in loads:
        name = copy.src.buffer.name
        if shapes.setdefault(name, copy.dst.extents[-2:]) != copy.dst.extents[-2:]:
            return f"{name} is loaded in boxes of two shapes"
    return ""


def load_plan(planner: Planner, copy: ir.Copy, tile: EngineTile, stage: ir.Var | None, full: ir.Buffer,
              maps: dict[str, TensorMapPlan], share: Share | None = None) -> ir.Copy:
    """The copy, column by column of 128 bytes; `maps` gets what the host has to know of the tensor. With `share` each
    block of a cluster loads its part for all. Without `stage` the tile has one place."""
    rows, cols = tile.shape[-2:]
    piece = _piece(planner, tile.dtype)
    planner.check_multiple(cols, piece, "the copy engine moves 128 bytes of a row at a time")
    at = ir.Var(planner.fresh("c", "column"), kind="loop")
    *outer, first, last = copy.src.offsets
    column: ir.Expr = at
    below: ir.Expr = ir.Const(0)
    box = rows
    if share and share.along == "columns":
        cols = arith.divide(cols, share.cluster)
        planner.check_multiple(cols, piece, "blocks share whole columns of 128 bytes")
        column = arith.add(arith.multiply(share.rank, cols), at)
    elif share:
        box = arith.divide(rows, share.cluster)
        planner.check_multiple(box, ir.Const(8), "blocks share rows by eights")
        below = arith.multiply(share.rank, box)
    _add_map(maps, copy.src.buffer.name, (*(ir.Const(1) for _ in outer), box, piece))
    place = arith.add(arith.multiply(column, rows), arith.multiply(below, piece))
    places = [arith.add(last, column), arith.add(first, below), *reversed(outer)]
    policy = _POLICIES.get(dict(copy.options).get("eviction_policy", ""), "")
    helper = f"tma_load_{len(places)}d{'_multicast' if share else ''}{'_hinted' if policy else ''}"
    values = {"tensor": copy.src.buffer.name, "at": at.name, "cols": cols, "piece": piece, "place": place,
              "places": places, "helper": helper, "policy": policy,
              "mask": share.mask if share else None, "tile": tile, "full": full,
              "at_stage": f"[{stage.name}]" if stage else ""}
    how = "by the copy engine" + (f", each block of a cluster a part of the {share.along}" if share else "")
    how += f", {policy.removeprefix('l2_').replace('_', ' ')} in the L2 cache" if policy else ""
    return replace(copy, options=(), plan=OpPlan("engine_load", values, how))
