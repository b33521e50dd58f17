"""Which tile of the kernel an element of an output belongs to, as the Python says it."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from tilegen import arith, ir
from tilegen.errors import Loc

_MOST_BLOCKS = 1 << 14


@dataclass(frozen=True)
class Tile:
    """The block (x, y, z) whose statement at `loc` writes an element, and the first element that it writes."""

    block: tuple[int, int, int]
    origin: tuple[int, ...]
    loc: Loc | None


@dataclass(frozen=True)
class _Write:
    """A statement that writes a tensor: the first index in each dimension and how many follow, and the ranges
    of the variables of the loops around it."""

    first: tuple[ir.Expr, ...]
    extents: tuple[ir.Expr, ...]
    loops: Mapping[str, arith.Range]
    loc: Loc | None


def tile_of(kernel: ir.Kernel, name: str, index: tuple[int, ...], values: Mapping[str, int]) -> Tile | None:
    """The tile of element `index` of the tensor `name`; `values` are knobs and sizes by name. None where the
    indices are not known before the kernel runs."""
    for launch in reversed(kernel.launches):                # the last one that writes it
        if found := tile_of(launch, name, index, values):
            return found
    fixed = {key: (value, value) for key, value in values.items()}
    grid = [int(arith.evaluate(extent, dict(values)) or 0) for extent in kernel.grid]
    if math.prod(grid) > _MOST_BLOCKS:
        return None
    writes = list(_writes(kernel.body, name, fixed))
    for block in itertools.product(*(range(extent) for extent in reversed(grid))):
        block = block[::-1]
        names = {v.name: (b, b) for v, b in zip(kernel.block_vars, block)}
        for write in writes:
            ranges = _ranges(write, {**fixed, **names})
            if ranges and all(low <= i <= high for i, (low, high) in zip(index, ranges)):
                return Tile((*block, 0, 0)[:3], tuple(int(low) for low, _ in ranges), write.loc)
    return None


def _ranges(write: _Write, env: Mapping[str, arith.Range]) -> list[arith.Range] | None:
    env = {**env, **write.loops}
    result = []
    for first, extent in zip(write.first, write.extents):
        (low, high), (_, count) = arith.bounds(first, env), arith.bounds(extent, env)
        if not all(map(math.isfinite, (low, high, count))):
            return None
        result.append((low, high + count - 1))
    return result


def _writes(body: tuple[ir.Stmt, ...], name: str, env: dict) -> Iterator[_Write]:
    loops: dict[str, arith.Range] = {k: r for k, r in env.items()}
    for s in body:
        match s:
            case ir.For():
                (low, _), (_, high) = arith.bounds(s.start, loops), arith.bounds(s.stop, loops)
                yield from _writes(s.body, name, {**loops, s.var.name: (low, high - 1)})
            case ir.Parallel():
                inner = {v.name: (0, arith.bounds(e, loops)[1] - 1) for v, e in zip(s.vars, s.extents)}
                yield from _writes(s.body, name, {**loops, **inner})
            case ir.If():
                yield from _writes(s.then + s.otherwise, name, loops)
            case ir.While():
                yield from _writes(s.body, name, loops)
            case ir.Let():
                loops[s.var.name] = arith.bounds(s.value, loops)
            case ir.Copy() | ir.Fill() if s.dst.buffer.name == name:
                yield _Write(s.dst.offsets, s.dst.extents, dict(loops), s.loc)
            case ir.Store() | ir.Atomic() if s.buffer.name == name:
                yield _Write(s.indices, (ir.Const(1),) * len(s.indices), dict(loops), s.loc)
