"""Reading and writing elements and boxes of buffers, with the rules for what lies outside.

Outside of a global tensor reads are zero and writes are dropped. Outside of shared, fragment or
local memory is a fault of the program: TG0105.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy

from tilegen import ir
from tilegen.errors import Loc, TilegenError
from tilegen.interpret.frame import Frame, Memory, at_lane, first_lane
from tilegen.interpret.values import Value, convert, numpy_dtype

Evaluate = Callable[[ir.Expr, Frame], Value]


def memory_of(buffer: ir.Buffer, frame: Frame, loc: Loc | None) -> Memory:
    """The storage of `buffer`; TG0112 where its allocation was not reached."""
    memory = frame.memory.get(buffer.name)
    if memory is None:
        raise TilegenError("TG0112", f"{buffer.name} is used before it is allocated", loc or buffer.loc)
    return memory


def alias(buffer: ir.Alias, frame: Frame, evaluate: Evaluate) -> Memory:
    """The storage of another buffer under a new shape and dtype; TG0404 for an array that is not in C order."""
    array = memory_of(buffer.base, frame, buffer.loc).array
    if not array.flags.c_contiguous:
        raise TilegenError("TG0404", f"{buffer.base.name} has to be contiguous for {buffer.name}", buffer.loc)
    shape = tuple(int(evaluate(n, frame)) for n in buffer.shape)
    return Memory(buffer, array.reshape(-1).view(numpy_dtype(buffer.dtype)).reshape(shape))


def _outside(memory: Memory, indices: tuple[int, ...], frame: Frame, loc: Loc | None) -> TilegenError:
    at = ", ".join(str(int(i)) for i in indices)
    message = f"{memory.buffer.name}[{at}] is outside of its shape {memory.shape}{frame.place()}"
    hint = "guard the access with an if, or allocate a larger buffer"
    return TilegenError("TG0105", message, loc, hint=hint)


# ---- One element for each lane -------------------------------------------------------------------
def load(node: ir.Load, frame: Frame, evaluate: Evaluate) -> Value:
    """The element (a scalar) or the elements of all lanes (an array that broadcasts over them)."""
    memory = memory_of(node.buffer, frame, node.loc)
    if memory.lanes == 0 and frame.axes:
        box = _box(node.indices, memory, frame, evaluate)
        if box is not None:
            return _align(_read_box(memory, *box[:2]), box[2], frame)
    indices = tuple(evaluate(i, frame) for i in node.indices)
    valid = _valid(indices, memory)
    if memory.buffer.scope != "global":
        _refuse_outside(indices, valid, memory, frame, node.loc)
    if valid is True:
        return memory.array[_positions(memory, indices, frame)][()]
    nearest = tuple(numpy.clip(i, 0, max(n - 1, 0)) for i, n in zip(indices, memory.shape))
    if 0 in memory.shape:
        return numpy.zeros(numpy.shape(valid), memory.array.dtype)[()]
    value = memory.array[_positions(memory, nearest, frame)]
    return numpy.where(valid, value, numpy.zeros((), memory.array.dtype))[()]


def store(node: ir.Store, value: Value, frame: Frame, evaluate: Evaluate) -> None:
    """Writes the value of each active lane; TG0114 where two lanes disagree about an element."""
    memory = memory_of(node.buffer, frame, node.loc)
    value = convert(value, node.buffer.dtype)
    if memory.lanes == 0 and frame.axes:
        box = _box(node.indices, memory, frame, evaluate)
        if box is not None and len(set(box[2])) == len(frame.grid):
            return _write_box(memory, box, value, frame)
    indices = tuple(evaluate(i, frame) for i in node.indices)
    positions = active_positions(memory, indices, frame, node.loc)
    if not frame.grid:
        if positions is not None:
            memory.array[positions[0]] = value
    elif positions is not None:
        where, lanes = positions
        value = numpy.broadcast_to(value, frame.grid)[lanes]
        memory.array[where] = value
        _refuse_conflict(memory, where, value, node)
    return None


def active_positions(memory: Memory, indices: tuple[Value, ...], frame: Frame, loc: Loc | None):
    """(index into the array, index into the lanes) of what the active lanes touch, without what lies
    outside of a global tensor; None if that is nothing."""
    valid = _valid(indices, memory)
    if memory.buffer.scope != "global":
        _refuse_outside(indices, valid, memory, frame, loc)
    active = numpy.logical_and(frame.mask, valid)
    if not frame.grid:
        return (tuple(int(i) for i in indices), ()) if active else None
    lanes = numpy.nonzero(numpy.broadcast_to(active, frame.grid))
    if lanes[0].size == 0:
        return None
    own = lanes[len(frame.grid) - memory.lanes:]
    return own + tuple(numpy.broadcast_to(i, frame.grid)[lanes] for i in indices), lanes


def _valid(indices: tuple[Value, ...], memory: Memory) -> Value:
    assert len(indices) == len(memory.shape), f"{memory.buffer.name}: {len(indices)} indices"
    valid = True
    for index, extent in zip(indices, memory.shape):
        valid = valid & (index >= 0) & (index < extent)
    return True if numpy.all(valid) else valid


def _refuse_outside(indices, valid: Value, memory: Memory, frame: Frame, loc: Loc | None) -> None:
    if valid is True:
        return
    fault = numpy.logical_and(frame.mask, numpy.logical_not(valid))
    if numpy.any(fault):
        lane = first_lane(fault, frame.grid)
        raise _outside(memory, tuple(at_lane(i, lane, frame.grid) for i in indices), frame, loc)


def _refuse_conflict(memory: Memory, where, value: Value, node: ir.Store) -> None:
    kept = memory.array[where]
    same = (kept == value) | ((kept != kept) & (value != value))
    if not numpy.all(same):
        at = ", ".join(str(int(w[numpy.argmin(same)])) for w in where[memory.lanes:])
        raise TilegenError(
            "TG0114", f"two iterations of T.Parallel write different values to {node.buffer.name}[{at}]",
            node.loc, hint="make the loop over that axis serial, or use T.reduce_* or T.atomic_*")


def _positions(memory: Memory, indices: tuple[Value, ...], frame: Frame) -> tuple:
    return frame.lanes[len(frame.lanes) - memory.lanes:] + tuple(indices) if memory.lanes else tuple(indices)


# ---- Whole boxes, when each index is uniform or one T.Parallel variable plus something uniform ----
def _box(indices, memory: Memory, frame: Frame, evaluate: Evaluate):
    """(starts, extents, axes): the box that the lanes touch, and the axis of each dimension that a
    T.Parallel variable runs along (uniform dimensions have extent -1). None if it is not a box, or
    not inside of on-chip memory."""
    starts, extents, axes = [], [], []
    for index, size in zip(indices, memory.shape):
        found = _axis_and_start(index, frame, evaluate)
        if found is None or found[0] in axes:
            return None
        axis, start = found
        extent = 1 if axis is None else frame.grid[axis]
        if memory.buffer.scope != "global" and not 0 <= start <= size - extent:
            return None
        starts.append(start)
        extents.append(-1 if axis is None else extent)
        if axis is not None:
            axes.append(axis)
    return starts, extents, axes


def _axis_and_start(index: ir.Expr, frame: Frame, evaluate: Evaluate) -> tuple[int | None, int] | None:
    match index:
        case ir.Var(name=name) if name in frame.axes:
            return len(frame.grid) - frame.axes[name], 0
        case ir.BinOp(op="+" | "-" as op, a=a, b=b):
            left, right = _axis_and_start(a, frame, evaluate), _axis_and_start(b, frame, evaluate)
            if left is None or right is None or right[0] is not None and (op == "-" or left[0] is not None):
                return None
            return (left[0] if right[0] is None else right[0],
                    left[1] + right[1] if op == "+" else left[1] - right[1])
        case _:
            value = evaluate(index, frame)
            return (None, int(value)) if numpy.ndim(value) == 0 else None


def _clip(starts, extents, shape) -> tuple[tuple[slice, ...], tuple[slice, ...]] | None:
    """The part of a box inside of `shape`: slices of the array and of the box; None if it is empty."""
    inner, outer = [], []
    for start, extent, size in zip(starts, extents, shape):
        low, high = max(start, 0), min(start + abs(extent), size)
        if low >= high:
            return None
        inner.append(slice(low, high))
        outer.append(slice(low - start, high - start))
    return tuple(inner), tuple(outer)


def _read_box(memory: Memory, starts, extents) -> numpy.ndarray:
    """The elements of a box, zero outside; dimensions with extent -1 are dropped. A view if it can be."""
    sizes = tuple(abs(e) for e in extents)
    drop = tuple(slice(None) if e >= 0 else 0 for e in extents)
    parts = _clip(starts, extents, memory.shape)
    if parts is not None:
        inside = memory.array[parts[0]]
        if inside.shape == sizes:
            return inside[drop]
    result = numpy.zeros(sizes, memory.array.dtype)
    if parts is not None:
        result[parts[1]] = inside
    return result[drop]


def _align(values: numpy.ndarray, axes: list[int], frame: Frame) -> numpy.ndarray:
    """`values`, whose dimensions run along the lane axes `axes`, with its dimensions in lane order."""
    if not axes:
        return values[()]
    if axes != sorted(axes):
        values = values.transpose(sorted(range(len(axes)), key=axes.__getitem__))
    if len(axes) < len(frame.grid):
        values = values[tuple(slice(None) if a in axes else None for a in range(len(frame.grid)))]
    return values[()]


def _write_box(memory: Memory, box, value: Value, frame: Frame) -> None:
    starts, extents, axes = box
    parts = _clip(starts, extents, memory.shape)
    if parts is None:
        return
    drop = tuple(slice(None) if e >= 0 else 0 for e in extents)
    target = _align(memory.array[parts[0]][drop], axes, frame)
    kept = [part for part, extent in zip(parts[1], extents) if extent >= 0]
    lanes = tuple(kept[axes.index(axis)] for axis in range(len(frame.grid)))
    value = numpy.broadcast_to(value, frame.grid)[lanes]
    mask = frame.mask if isinstance(frame.mask, bool) else numpy.broadcast_to(frame.mask, frame.grid)[lanes]
    numpy.copyto(target, value, where=mask)


# ---- Regions -------------------------------------------------------------------------------------
def region_box(region: ir.Region, frame: Frame, evaluate: Evaluate) -> tuple[Memory, list[int], list[int]]:
    """The storage, offsets and extents of a region; TG0105 where it leaves on-chip memory."""
    memory = memory_of(region.buffer, frame, region.loc)
    starts = [int(evaluate(o, frame)) for o in region.offsets]
    extents = [int(evaluate(e, frame)) for e in region.extents]
    if memory.buffer.scope != "global":
        for dimension, (start, extent, size) in enumerate(zip(starts, extents, memory.shape)):
            if start < 0 or start + extent > size:
                at = list(starts)
                at[dimension] = start if start < 0 else start + extent - 1
                raise _outside(memory, tuple(at), frame, region.loc)
    return memory, starts, extents


def read_region(region: ir.Region, frame: Frame, evaluate: Evaluate) -> numpy.ndarray:
    """The elements of a region, with all its dimensions; a view of the buffer if it can be."""
    return _read_box(*region_box(region, frame, evaluate))


def write_region(region: ir.Region, values: Value, frame: Frame, evaluate: Evaluate) -> None:
    """Stores `values` (the region's extents, or a scalar) with conversion to the buffer's dtype."""
    memory, starts, extents = region_box(region, frame, evaluate)
    parts = _clip(starts, extents, memory.shape)
    if parts is not None:
        values = convert(values, region.buffer.dtype)
        memory.array[parts[0]] = values[parts[1]] if numpy.ndim(values) else values
