"""The launch (T.Kernel) and the loops (T.serial, T.Parallel, T.Pipelined and their kin).

A loop operation gives a description, which the `for` statement around it turns into IR.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tilegen import arith, ir
from tilegen.errors import TilegenError
from tilegen.language.builder import current, operation
from tilegen.language.raw import import_source
from tilegen.language.values import as_index, as_number, as_shape


@dataclass(frozen=True)
class Launch:
    """`with T.Kernel(...)`."""

    grid: tuple[ir.Expr, ...]
    threads: tuple[ir.Expr, ...]


@dataclass(frozen=True)
class Loop:
    """One loop with bounds. kind as in ir.For."""

    kind: str
    start: ir.Expr
    stop: ir.Expr
    step: ir.Expr
    options: tuple[tuple[str, Any], ...] = ()


@dataclass(frozen=True)
class Nest:
    """Several loops over 0 .. extent - 1: parallel, or serial for T.grid."""

    kind: str
    extents: tuple[ir.Expr, ...]
    options: tuple[tuple[str, Any], ...] = ()


@dataclass(frozen=True)
class PersistentLoop:
    """T.Persistent: `count` workers walk over a domain of tiles."""

    domain: tuple[ir.Expr, ...]
    count: ir.Expr
    index: ir.Expr
    group_size: int


@operation("function")
def Kernel(*blocks, threads=128, prelude=None) -> Launch:
    """Launches a grid of 1 to 3 extents: `with T.Kernel(T.ceildiv(N, BN), T.ceildiv(M, BM)) as (bx, by):`.

    threads is their number per block, or a tuple (x, y, z). prelude is text of the target's own language, which stands
    before the kernel as that of T.import_source does. Raises TG0005 for more than three extents, TG0110 for an extent
    that is not positive.
    """
    builder = current()
    if prelude is not None:
        import_source(prelude)
    if not 1 <= len(blocks) <= 3:
        raise TilegenError("TG0005", f"T.Kernel takes 1 to 3 grid extents, not {len(blocks)}", builder.loc,
                           "fold the others into one: b // heads, b % heads")
    shape = as_shape(threads, "threads", builder.argument("threads"))
    if len(shape) > 3:
        raise TilegenError("TG0005", f"threads has 1 to 3 extents, not {len(shape)}",
                           builder.argument("threads"))
    for extent in shape:
        as_number(extent, "the number of threads", builder.argument("threads"))
    extents = as_shape(blocks, "T.Kernel", builder.loc)
    if any(isinstance(node, ir.Load) for node in ir.walk(extents)):
        raise TilegenError("TG0109", "the grid depends on the data of a tensor", builder.loc,
                           "launch as many blocks as there can be; let the others do nothing")
    return Launch(extents, shape)


def _bounds(start, stop, step=1) -> tuple[ir.Expr, ir.Expr, ir.Expr]:
    builder = current()
    if stop is None:
        start, stop = 0, start
    if builder.number(step) == 0:
        raise TilegenError("TG0005", "the step of a loop is zero", builder.argument("step"))
    return (as_index(start, builder.argument("start")), as_index(stop, builder.argument("stop")),
            as_index(step, builder.argument("step")))


@operation()
def serial(start, stop=None, step=1) -> Loop:
    """A loop that runs in order, as `range` does: `for i in T.serial(n)`."""
    return Loop("serial", *_bounds(start, stop, step))


@operation()
def unroll(start, stop=None, step=1, explicit=False, unroll_factor=None) -> Loop:
    """A loop whose body is repeated by the compiler, `unroll_factor` times where that is given."""
    factor = None if unroll_factor is None else as_number(unroll_factor, "unroll_factor")
    options = () if factor is None else (("unroll_factor", factor),)
    return Loop("unrolled", *_bounds(start, stop, step), options)


@operation()
def vectorized(start, stop=None) -> Loop:
    """A loop over neighbouring elements that become one vector access: `for v in T.vectorized(4)`."""
    return Loop("vectorized", *_bounds(start, stop))


@operation()
def Pipelined(start, stop=None, num_stages=0, order=None, stage=None, sync=None, group=None) -> Loop:
    """A serial loop whose copies into shared memory run ahead of their use: num_stages tiles of each are kept,
    so that copies run num_stages - 1 steps ahead; with 1, and 0, a step loads and then computes.

    order and stage (one integer for each statement of the body, or for each list of statements in group) give a
    schedule: the place in the step, and the pipeline stage; a statement of stage s runs max(stage) - s steps ahead.
    -1 leaves a copy to the planner. sync is accepted: barriers follow from what statements read and write.
    Raises TG0110 for a negative num_stages, TG0005 for lists that do not fit the loop, TG0209 for a schedule that
    would change the result.
    """
    builder = current()
    stages = as_index(num_stages, builder.argument("num_stages"))
    if as_number(stages, "num_stages", builder.argument("num_stages")) < 0:
        raise TilegenError("TG0110", "num_stages is negative", builder.argument("num_stages"))
    options: tuple = (("num_stages", stages),)
    if (order is None) != (stage is None):
        given = "order" if stage is None else "stage"
        raise TilegenError("TG0005", "order= and stage= belong together", builder.argument(given))
    if order is not None:
        options += (("order", _integers(order, "order")), ("stage", _integers(stage, "stage")))
        options += () if group is None else (("group", tuple(_integers(g, "group") for g in group)),)
    return Loop("pipelined", *_bounds(start, stop), options)


def _integers(values, name: str) -> tuple[int, ...]:
    """A list of integers that a loop was given."""
    if not isinstance(values, (tuple, list)):
        raise TilegenError("TG0005", f"{name}= is a list of integers", current().argument(name))
    return tuple(int(as_number(v, f"an entry of {name}=", current().argument(name))) for v in values)


@operation()
def Parallel(*extents, coalesced_width=None, loop_layout=None, prefer_async=None) -> Nest:
    """A nest of independent iterations, divided among the threads and vectorised:
    `for i, j in T.Parallel(BM, BN)`. The extents are fixed; accesses outside of a tensor are guarded.

    Raises TG0109 for an extent that is known at launch only, TG0110 for one that is not positive.
    """
    builder = current()
    if not extents:
        raise TilegenError("TG0005", "T.Parallel needs an extent", builder.loc)
    shape = as_shape(extents, "T.Parallel", builder.loc)
    for extent in shape:
        as_number(extent, "an extent of T.Parallel", builder.loc)
    width = None if coalesced_width is None else as_number(coalesced_width, "coalesced_width")
    return Nest("parallel", shape, () if width is None else (("coalesced_width", width),))


@operation()
def grid(*extents) -> Nest:
    """Nested serial loops: `for i, j in T.grid(m, n)`."""
    builder = current()
    if not extents:
        raise TilegenError("TG0005", "T.grid needs an extent", builder.loc)
    return Nest("serial", tuple(as_index(extent, builder.loc) for extent in extents))


@operation()
def Persistent(domain, wave_size, index, group_size=8) -> PersistentLoop:
    """The tiles of `domain` dealt out to `wave_size` blocks: block `index` takes every wave_size-th.

    `for bx, by in T.Persistent([m_tiles, n_tiles], workers, block)`; groups of `group_size` rows of tiles
    are walked together, so that they share what the cache holds.
    """
    builder = current()
    extents = domain if isinstance(domain, tuple) else (domain,)
    shape = tuple(as_index(extent, builder.argument("domain")) for extent in extents)
    count = as_index(wave_size, builder.argument("wave_size"))
    first = as_index(index, builder.argument("index"))
    return PersistentLoop(shape, count, first, int(as_number(group_size, "group_size")))


def leave_loop(word: str) -> None:
    """`break` or `continue` of the innermost loop, which has to be a serial one: TG0011."""
    builder = current()
    kind = builder.loops[-1] if builder.loops else ""
    if kind != "serial":
        where = f"a {kind} loop" if kind else "no loop"
        raise TilegenError("TG0011", f"{word} in {where}", builder.loc,
                           "only range, T.serial and while loops can be left: use an if")
    builder.emit((ir.Break if word == "break" else ir.Continue)(loc=builder.loc))


@operation()
def loop_break() -> None:
    """`break` of the innermost serial loop."""
    leave_loop("break")


def coordinates(loop: PersistentLoop, tile: ir.Expr) -> tuple[ir.Expr, ...]:
    """The position in the domain of the tile number `tile`."""
    if len(loop.domain) == 1:
        return (tile,)
    *outer, rows, columns = loop.domain
    plane = arith.multiply(rows, columns)
    parts: list[ir.Expr] = []
    for k in range(len(outer)):
        below = arith.product((*outer[k + 1:], plane))
        parts.append(arith.divide(tile, below))
        tile = arith.modulo(tile, below)
    in_group = arith.multiply(ir.Const(loop.group_size), columns)
    first = arith.multiply(arith.divide(tile, in_group), loop.group_size)
    height = arith.binary("min", arith.subtract(rows, first), ir.Const(loop.group_size))
    within = arith.modulo(tile, in_group)
    return (*parts, arith.add(first, arith.modulo(within, height)), arith.divide(within, height))


class TileScheduler:
    """What T.PersistentTileScheduler gives. Its methods are operations; the present tile is a variable."""

    def __init__(self, loop: PersistentLoop, columns_first: bool):
        self._loop, self._columns_first = loop, columns_first
        self._tile = ir.Buffer(current().local("tile"), (), ir.Const(0).dtype, "var", loc=current().loc)
        current().emit(ir.Alloc(self._tile, ir.Const(0), loc=current().loc))
        self.init, self.next_tile, self.valid = (
            operation()(method) for method in (self._init, self._next_tile, self._valid))

    def _set(self, value: ir.Expr) -> None:
        current().emit(ir.Store(self._tile, (), value, loc=current().loc))

    def _init(self, worker) -> None:
        self._set(as_index(worker, current().argument("worker")))

    def _next_tile(self) -> None:
        self._set(arith.add(ir.Load(self._tile, ()), self._loop.count))

    def _valid(self) -> ir.Expr:
        return arith.less(ir.Load(self._tile, ()), arith.product(self._loop.domain))

    def _place(self, axis: int) -> ir.Expr:
        return coordinates(self._loop, ir.Load(self._tile, ()))[axis ^ self._columns_first]

    @property
    def m_idx(self) -> ir.Expr:
        """The row of the present tile."""
        return self._place(0)

    @property
    def n_idx(self) -> ir.Expr:
        """The column of the present tile."""
        return self._place(1)


@operation()
def PersistentTileScheduler(num_m, num_n, num_workers, swizzle_size=8, column_major=False) -> TileScheduler:
    """The tiles of a grid of num_m x num_n, dealt out to num_workers blocks as T.Persistent does, for a while loop.

    `s = T.PersistentTileScheduler(...)`, `s.init(block)`, `while s.valid():` with the tile `s.m_idx`, `s.n_idx`, and
    `s.next_tile()` at its end. Groups of swizzle_size rows (column_major: columns) are walked together.
    """
    builder = current()
    domain = tuple(as_index(extent, builder.argument(name)) for name, extent in (("num_m", num_m), ("num_n", num_n)))
    columns_first = bool(as_number(column_major, "column_major"))
    workers = as_index(num_workers, builder.argument("num_workers"))
    group = int(as_number(swizzle_size, "swizzle_size"))
    if group < 1:
        raise TilegenError("TG0110", "swizzle_size is not positive", builder.argument("swizzle_size"))
    loop = PersistentLoop(domain[::-1] if columns_first else domain, workers, ir.Const(0), group)
    return TileScheduler(loop, columns_first)
