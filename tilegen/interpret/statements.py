"""Statement by statement: what each kind of statement does to a frame."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy

from tilegen import ir
from tilegen.dtypes import bool_
from tilegen.errors import TilegenError
from tilegen.interpret import memory, tiles
from tilegen.interpret.expressions import evaluate
from tilegen.interpret.frame import (PRIVATE, Frame, Loop, Mask, Memory, at_lane, both, either, first_lane,
                                     negate)
from tilegen.interpret.values import Value, convert, numpy_dtype, poison

_WHOLE_BLOCK = {ir.Copy: "T.copy", ir.Fill: "T.fill", ir.Gemm: "T.gemm", ir.Reduce: "T.reduce",
                ir.Scan: "T.cumsum", ir.Vote: "T.any_of", ir.Finalize: "T.finalize_reducer"}
# What the tile operations mean.
_TILES = {ir.Copy: tiles.copy, ir.Gemm: tiles.gemm, ir.Fill: tiles.fill, ir.Reduce: tiles.reduce,
          ir.Scan: tiles.scan, ir.Vote: tiles.vote, ir.Atomic: tiles.atomic, ir.Sync: tiles.sync,
          ir.Finalize: lambda node, frame: None}


def execute(body: tuple[ir.Stmt, ...], frame: Frame) -> None:
    """Runs the statements for the active lanes, until no lane is active any more."""
    for node in body:
        if frame.mask is False:
            return
        if frame.grid and type(node) in _WHOLE_BLOCK:
            raise TilegenError("TG0006", f"{_WHOLE_BLOCK[type(node)]} inside of T.Parallel", node.loc,
                               hint="a tile operation is done by the whole block; put it outside of the loop")
        _step(node, frame)


def _step(node: ir.Stmt, frame: Frame) -> None:
    if type(node) in _TILES:
        _TILES[type(node)](node, frame)
        return
    match node:
        case ir.Store():
            memory.store(node, evaluate(node.value, frame), frame, evaluate)
        case ir.Let():
            _let(node, frame)
        case ir.For():
            _for(node, frame)
        case ir.Parallel():
            _parallel(node, frame)
        case ir.If():
            _if(node, frame)
        case ir.Alloc():
            _allocate(node, frame)
        case ir.While():
            _while(node, frame)
        case ir.Break() | ir.Continue():
            _leave(node, frame)
        case ir.Print():
            _print(node, frame)
        case ir.Assert():
            _assert(node, frame)
        case ir.Raw():
            raise TilegenError("TG0204", "the interpreter cannot run a line of a target's own language",
                               node.loc, hint="write it with the operations of T to run it everywhere")
        case _:
            raise AssertionError(f"the interpreter has no meaning for {type(node).__name__}")


def _allocate(node: ir.Alloc, frame: Frame) -> None:
    buffer = node.buffer
    if isinstance(buffer, ir.Alias):
        frame.memory[buffer.name] = memory.alias(buffer, frame, evaluate)
        return
    shape = tuple(int(evaluate(n, frame)) for n in buffer.shape)
    frame.memory[buffer.name] = Memory.fresh(buffer, shape, frame.grid if buffer.scope in PRIVATE else ())
    if node.init is not None:
        frame.memory[buffer.name].array[...] = convert(evaluate(node.init, frame), buffer.dtype)


def _let(node: ir.Let, frame: Frame) -> None:
    """The value is copied: it must not change when the buffer that it came from does."""
    value = convert(evaluate(node.value, frame), node.var.dtype)
    frame.scalars[node.var.name] = numpy.array(value)[()] if numpy.ndim(value) else value


# ---- Control flow --------------------------------------------------------------------------------
def _if(node: ir.If, frame: Frame) -> None:
    entry = frame.mask
    condition = both(True, convert(evaluate(node.condition, frame), bool_))
    for mask, body in ((condition, node.then), (negate(condition), node.otherwise)):
        frame.mask = both(entry, mask)
        execute(body, frame)
    frame.mask = frame.live(entry)


def _for(node: ir.For, frame: Frame) -> None:
    entry, loop = frame.mask, Loop()
    frame.loops.append(loop)
    for value, running in _iterations(node, frame):
        loop.skipped = False
        frame.mask = both(both(entry, negate(loop.stopped)), running)
        if frame.mask is False:
            break
        frame.scalars[node.var.name] = value
        execute(node.body, frame)
    frame.loops.pop()
    frame.mask = entry


def _iterations(node: ir.For, frame: Frame) -> Iterator[tuple[Value, Mask]]:
    """The values of the loop variable, each with the lanes that are still in range. Where these differ
    between lanes there is no end: the caller stops when no lane is left."""
    dtype = numpy_dtype(node.var.dtype)
    start, stop, step = (evaluate(e, frame) for e in (node.start, node.stop, node.step))
    if not numpy.all(step):
        raise TilegenError("TG0111", "the step of a loop is zero", node.step.loc or node.loc)
    if all(numpy.ndim(v) == 0 for v in (start, stop, step)):
        for value in range(int(start), int(stop), int(step)):
            yield dtype.type(value), True
        return
    start, stop, step = (numpy.asarray(v, dtype="int64") for v in (start, stop, step))
    value = start
    while True:
        yield value.astype(dtype), both(True, numpy.where(step > 0, value < stop, value > stop))
        value = value + step


def _while(node: ir.While, frame: Frame) -> None:
    entry, loop = frame.mask, Loop()
    frame.loops.append(loop)
    while True:
        loop.skipped = False
        frame.mask = both(entry, negate(loop.stopped))
        if frame.mask is False:
            break
        condition = both(frame.mask, convert(evaluate(node.condition, frame), bool_))
        if condition is False:
            break
        loop.stopped = either(loop.stopped, negate(condition))
        frame.mask = condition
        execute(node.body, frame)
    frame.loops.pop()
    frame.mask = entry


def _leave(node: ir.Break | ir.Continue, frame: Frame) -> None:
    loop = frame.loops[-1]
    if isinstance(node, ir.Break):
        loop.stopped = either(loop.stopped, frame.mask)
    else:
        loop.skipped = either(loop.skipped, frame.mask)
    frame.mask = False


# ---- T.Parallel ----------------------------------------------------------------------------------
def _parallel(node: ir.Parallel, frame: Frame) -> None:
    """All iterations in lock step. Each has its own copy of the local buffers that it writes; after
    the loop these hold poison, because their values differ between threads."""
    extents = tuple(int(evaluate(e, frame)) for e in node.extents)
    if any(n <= 0 for n in extents):
        return
    inner = _lanes(node, extents, frame)
    written = [m for name, m in frame.memory.items()
               if m.buffer.scope in PRIVATE and name in _stored_names(node, frame)]
    inner.memory.update((m.buffer.name, m.private_copy(inner.grid)) for m in written)
    execute(node.body, inner)
    for outer in written:
        outer.array[...] = poison(outer.buffer.dtype)


def _lanes(node: ir.Parallel, extents: tuple[int, ...], frame: Frame) -> Frame:
    """The frame of the loop's body: its axes go in front of those that are open already."""
    grid = extents + frame.grid
    depth = len(grid)
    own = tuple(numpy.arange(n, dtype=numpy_dtype(v.dtype)).reshape([-1] + [1] * (depth - 1 - axis))
                for axis, (n, v) in enumerate(zip(extents, node.vars)))
    scalars = frame.scalars | {v.name: values for v, values in zip(node.vars, own)}
    axes = frame.axes | {v.name: depth - axis for axis, v in enumerate(node.vars)}
    return replace(frame, scalars=scalars, memory=dict(frame.memory), grid=grid, lanes=own + frame.lanes,
                   axes=axes, loops=[])


def _stored_names(node: ir.Parallel, frame: Frame) -> frozenset[str]:
    """The names of the buffers that the body writes (found once for each run)."""
    names = frame.stored.get(id(node))
    if names is None:
        names = frozenset(n.buffer.name for n in ir.walk(node.body) if isinstance(n, (ir.Store, ir.Atomic)))
        frame.stored[id(node)] = names
    return names


# ---- Talking to the user -------------------------------------------------------------------------
def _print(node: ir.Print, frame: Frame) -> None:
    """One line for each active lane, in the order of the iterations."""
    values = [memory.read_region(v, frame, evaluate) if isinstance(v, ir.Region) else evaluate(v, frame)
              for v in node.values]
    mask = numpy.broadcast_to(frame.mask, frame.grid)
    for lane in numpy.ndindex(frame.grid):
        if mask[lane]:
            print(_filled(node.message, [v if isinstance(source, ir.Region) else at_lane(v, lane, frame.grid)
                                         for source, v in zip(node.values, values)]))


def _filled(message: str, values: list[Value]) -> str:
    pieces = message.split("{}")
    texts = [str(v) for v in values] + ["{}"] * len(pieces)
    return pieces[0] + "".join(text + piece for text, piece in zip(texts, pieces[1:]))


def _assert(node: ir.Assert, frame: Frame) -> None:
    holds = convert(evaluate(node.condition, frame), bool_)
    fault = numpy.logical_and(frame.mask, numpy.logical_not(holds))
    if numpy.any(fault):
        lane = first_lane(fault, frame.grid)
        where = f"{frame.place()}, iteration {lane}" if lane else frame.place()
        raise TilegenError("TG0414", f"{node.message or 'the assertion does not hold'}{where}", node.loc)
