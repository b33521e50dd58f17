"""What the interpreter knows while one block runs: scalars, memory, and the active lanes.

A block runs as one lane. Inside a T.Parallel it runs as one lane per iteration, in lock step: an
index variable is an open grid, a value that depends on it is an array that broadcasts over the
lanes, and `mask` says which lanes are active. A nested T.Parallel adds its axes in front, so that
what was computed outside of it still broadcasts.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy

from tilegen import ir
from tilegen.interpret.values import Value, numpy_dtype, poison

Mask = Any       # True, False, or a bool array that broadcasts over the lanes

PRIVATE = ("local", "var")


@dataclass
class Memory:
    """The storage of a buffer. `lanes` leading axes of `array` are the lanes that own a copy each."""
    buffer: ir.Buffer
    array: numpy.ndarray
    lanes: int = 0

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape that indices refer to."""
        return self.array.shape[self.lanes:]

    @classmethod
    def fresh(cls, buffer: ir.Buffer, shape: tuple[int, ...], grid: tuple[int, ...]) -> Memory:
        """Poisoned memory; each lane of `grid` gets its own."""
        array = numpy.full(grid + shape, poison(buffer.dtype), dtype=numpy_dtype(buffer.dtype))
        return cls(buffer, array, len(grid))

    def private_copy(self, grid: tuple[int, ...]) -> Memory:
        """A copy for each lane of `grid`, whose last axes are the lanes that own this memory."""
        new = grid[:len(grid) - self.lanes]
        return Memory(self.buffer, numpy.broadcast_to(self.array, new + self.array.shape).copy(), len(grid))


@dataclass
class Loop:
    """The lanes that left a running loop by break, or its present iteration by continue."""
    stopped: Mask = False
    skipped: Mask = False


@dataclass
class Frame:
    scalars: dict[str, Value]
    memory: dict[str, Memory]
    block: tuple[int, ...] = ()
    grid: tuple[int, ...] = ()                               # the extents of the lanes
    lanes: tuple[numpy.ndarray, ...] = ()                    # an open grid of indices for each axis
    axes: dict[str, int] = field(default_factory=dict)       # T.Parallel variable -> its axis from the end
    mask: Mask = True
    loops: list[Loop] = field(default_factory=list)
    stored: dict[int, frozenset[str]] = field(default_factory=dict)   # id of a Parallel -> names it writes
    pending: list[tuple[Value, Value]] = field(default_factory=list)  # asynchronous copies: (place, its values)

    def place(self) -> str:
        """Words for an error: the block that was running."""
        return f" in block {tuple(int(b) for b in self.block)}" if self.block else ""

    def live(self, entry: Mask) -> Mask:
        """The lanes of `entry` that neither left the innermost loop nor its present iteration."""
        if not self.loops:
            return entry
        loop = self.loops[-1]
        return both(both(entry, negate(loop.stopped)), negate(loop.skipped))


def both(a: Mask, b: Mask) -> Mask:
    """The lanes in `a` and in `b`; a plain bool where that says it all. Never an alias of a buffer."""
    if isinstance(a, bool):
        return _plain(b) if a else False
    if isinstance(b, bool):
        return a if b else False
    return _plain(numpy.logical_and(a, b))


def either(a: Mask, b: Mask) -> Mask:
    """The lanes in `a` or in `b`."""
    return negate(both(negate(a), negate(b)))


def negate(a: Mask) -> Mask:
    """The lanes that are not in `a`."""
    return not a if isinstance(a, bool) else numpy.logical_not(a)


def _plain(mask: Mask) -> Mask:
    if numpy.ndim(mask) == 0:
        return bool(mask)
    return numpy.array(mask) if mask.any() else False


def first_lane(fault: Value, grid: tuple[int, ...]) -> tuple[int, ...]:
    """The first lane for which `fault` is true."""
    full = numpy.broadcast_to(fault, grid)
    return tuple(int(i) for i in numpy.unravel_index(int(numpy.argmax(full)), grid)) if grid else ()


def at_lane(value: Value, lane: tuple[int, ...], grid: tuple[int, ...]) -> Value:
    """The value of one lane."""
    return numpy.broadcast_to(value, grid)[lane]
