"""How the elements of a tile are spread over threads and registers, as exact integer tables.

A fragment's layout is a product of one `Axis` per dimension. Along an axis of `extent` elements,
`threads` threads own runs of `vector` consecutive elements in turn:

    element = (slot // vector * threads + t) * vector + slot % vector

where `slot` counts a thread's own registers and `t` is the thread's number along the axis. Where elements come
in `pairs` (of rows that lie 8 apart, in the accumulator of wgmma), `t` counts rows of 8 threads each of which has
16 elements. Threads that share their number along every axis hold copies (replicas) of the same elements.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

# The arrangements in which each warp has 8 rows of 4 threads: those of the tensor cores' accumulators.
BY_WARP = ("mma", "quad", "wgmma")


def quad_place(lane: int) -> tuple[int, int]:
    """(row among 8, pair of columns among 4) of a lane in arrangement 'quad', see instructions.py."""
    return lane % 2 + lane // 4 % 2 * 2 + lane // 16 * 4, lane // 2 % 2 + lane // 8 % 2 * 2


@dataclass(frozen=True)
class Axis:
    """One dimension of a fragment. `digit` names the thread number that it uses: 'm' (slow), 'n'
    (fast), 'all' (the whole block) or '' (every thread holds the whole dimension)."""

    name: str                    # of the emitted layout function: C_row
    slots_name: str              # of the emitted constant: C_ROWS
    extent: int
    digit: str
    threads: int
    vector: int = 1
    vector_name: str = ""        # of the emitted constant: C_VEC
    count_name: str = ""         # of the constant that is `threads`: THREADS_M
    fast_name: str = ""          # of the constant that counts the threads of a row: THREADS_N
    arrangement: str = ""        # of the threads of a warp, see FragmentLayout
    warps_name: str = ""         # of the constant that counts the warps of a row, where one has 8 x 4 threads

    @property
    def pairs(self) -> bool:
        """Whether slots 2 i and 2 i + 1 are elements that lie 8 apart: the rows of wgmma, 16 of each warp."""
        return self.arrangement == "wgmma" and self.digit == "m"

    @property
    def slots(self) -> int:
        """Registers that a thread needs along this axis."""
        run = 2 if self.pairs else self.vector
        return -(-self.extent // (self.threads * run)) * run

    @property
    def padded(self) -> bool:
        """Whether some slots lie beyond the extent (and have to be guarded)."""
        return self.slots * self.threads != self.extent

    def element(self, thread: int, slot: int) -> int:
        """The element that `thread` (its number along this axis) holds in `slot`."""
        if self.pairs:
            return slot // 2 * 2 * self.threads + thread // 8 * 16 + slot % 2 * 8 + thread % 8
        return (slot // self.vector * self.threads + thread) * self.vector + slot % self.vector

    def owner(self, element: int) -> tuple[int, int]:
        """(thread, slot) of an element: the inverse of `element`."""
        if self.pairs:
            turn, within = divmod(element, 2 * self.threads)
            return within // 16 * 8 + within % 8, 2 * turn + within % 16 // 8
        run, within = divmod(element, self.vector)
        return run % self.threads, run // self.threads * self.vector + within


def thread_name(axis: Axis, digit: str) -> str:
    """The device function for a thread's number along 'm' or 'n' (without its parentheses)."""
    if axis.arrangement in BY_WARP:
        return f"{axis.arrangement}_{'row' if digit == 'm' else 'col'}<{axis.warps_name}>"
    return f"thread_{digit}<{axis.fast_name}>"


@dataclass(frozen=True)
class FragmentLayout:
    """The axes of a fragment, one per dimension. `arrangement` says how threads stand in rows:
    '' row by row; 'fma' in blocks of 4 x 8 in which neighbours are two rows of one column;
    'mma' in blocks of 8 x 4, the accumulator of the mma instructions; 'quad' in blocks of 8 x 4 with the
    lanes of Volta's; 'wgmma' in blocks of 8 x 4 below each other, with 16 rows of the tile for each."""

    axes: tuple[Axis, ...]
    threads_m: int
    threads_n: int
    arrangement: str = ""

    def digit(self, axis: Axis, thread: int) -> int:
        """The number of `thread` along `axis`."""
        m, n = divmod(thread, self.threads_n)
        warp, lane = divmod(thread, 32)
        if self.arrangement == "fma":
            m = warp // (self.threads_n // 8) * 4 + lane // 16 * 2 + lane % 2
            n = warp % (self.threads_n // 8) * 8 + lane % 16 // 2
        elif self.arrangement in BY_WARP:
            row, pair = quad_place(lane) if self.arrangement == "quad" else divmod(lane, 4)
            m = warp // (self.threads_n // 4) * 8 + row
            n = warp % (self.threads_n // 4) * 4 + pair
        return {"m": m, "n": n, "all": thread, "": 0}[axis.digit]

    def table(self) -> dict[tuple[int, tuple[int, ...]], tuple[int, ...]]:
        """{(thread, slots): element} for every thread and register that holds an element."""
        result: dict = {}
        for thread in range(self.threads_m * self.threads_n):
            for slots in _grid([axis.slots for axis in self.axes]):
                element = tuple(a.element(self.digit(a, thread), s) for a, s in zip(self.axes, slots))
                if all(e < a.extent for e, a in zip(element, self.axes)):
                    result[thread, slots] = element
        return result

    @property
    def registers(self) -> int:
        """Elements that one thread holds."""
        return math.prod(axis.slots for axis in self.axes)

    def map(self, rows: int = 8, columns: int = 16) -> list[str]:
        """The upper left corner as text: which thread holds each element."""
        owners: dict[tuple[int, ...], int] = {}
        for (thread, _), element in self.table().items():
            owners.setdefault(element, thread)
        return drawn(owners, [axis.extent for axis in self.axes], rows, columns)


def drawn(owners: dict[tuple[int, ...], int], shape: Sequence[int], rows: int, columns: int) -> list[str]:
    """A number for each element of the upper left corner, a line for each row; "..." where there is more."""
    if len(shape) == 1:
        more = " ..." if shape[0] > columns else ""
        return [" ".join(f"{owners[i,]:3d}" for i in range(min(shape[0], columns))) + more]
    lead, more = (0,) * (len(shape) - 2), " ..." if shape[-1] > columns else ""
    lines = [" ".join(f"{owners[lead + (i, j)]:3d}" for j in range(min(shape[-1], columns))) + more
             for i in range(min(shape[-2], rows))]
    return lines + ["..."] * (shape[-2] > rows)


@dataclass(frozen=True)
class Swizzle:
    """Rows whose pieces of `piece` elements (16 bytes) change places among `group` neighbours, by the row, so that
    eight rows below each other start in eight different groups of four banks. Source: the XOR of chunk and row
    that NVIDIA's ldmatrix samples use; the emitted device function is templates/cuda/helpers/swizzle.cu."""

    piece: int
    group: int

    @staticmethod
    def of(cols: int, piece: int) -> Swizzle:
        """For rows of `cols` elements: groups of 8 pieces, or of the largest power of two that divides a row."""
        pieces = cols // piece
        return Swizzle(piece, min(8, pieces & -pieces))

    def place(self, row: int, col: int) -> int:
        """The column at which element `col` of a row lies."""
        return col ^ row // (8 // self.group) % self.group * self.piece


def _grid(extents: Sequence[int]):
    if not extents:
        yield ()
        return
    for first in range(extents[0]):
        for rest in _grid(extents[1:]):
            yield (first, *rest)


def bank_conflicts(addresses: Sequence[int], bytes_each: int, banks: int = 32) -> int:
    """Passes that shared memory needs for one access of a warp: 1 means no conflict.

    `addresses` are byte addresses, one per lane; lanes that touch the same 4-byte word share it.
    An access of 8 or 16 bytes a lane is served in 2 or 4 phases of consecutive lanes; the result is
    the worst phase (rule from NVIDIA's CUDA C++ Programming Guide, shared memory)."""
    lanes = max(1, len(addresses) * 4 // max(4, bytes_each))
    worst = 1
    for start in range(0, len(addresses), lanes):
        words: dict[int, set[int]] = {}
        for address in addresses[start:start + lanes]:
            for word in range(address // 4, (address + bytes_each - 1) // 4 + 1):
                words.setdefault(word % banks, set()).add(word)
        worst = max(worst, max((len(w) for w in words.values()), default=1))
    return worst
