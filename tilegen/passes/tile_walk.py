"""Blocks that take the tiles of a grid in turn, alone or in clusters that share what they load.

A grid has more tiles than the GPU has room for. Where each tile takes the same time, as many blocks as have room walk
over all of them: the loads for the next tile start while the last one is stored, and neighbouring tiles are computed
at the same time, so that they find their operands in the L2 cache. What blocks side by side load alike is loaded once
for a cluster of them, each block its part.
"""

from __future__ import annotations

from dataclasses import dataclass

from tilegen import arith, ir
from tilegen.dtypes import int32
from tilegen.passes.planner import Planner
from tilegen.plan import TilePlace, TileWalk

CLUSTER = 2                                     # of four only 30 find room on an H100 or H200, 120 of its 132 SMs
PANEL = 8
_AXES = ("columns", "rows")
_HELPERS = {"row_panels": "tile_in_rows", "column_panels": "tile_in_columns"}


@dataclass(frozen=True)
class Shared:
    """Blocks side by side along a dimension of the grid, and the copies (by place among the loads) that they share."""

    axis: int
    loads: frozenset[int]


def varying(kernel: ir.Kernel, names: set[str]) -> set[str]:
    """`names`, and the names of the kernel whose values follow from them."""
    found = set(names)
    for s in ir.walk(kernel.body):
        if isinstance(s, ir.Let) and arith.names(s.value) & found:
            found.add(s.var.name)
    return found


def shared_loads(planner: Planner, loop: ir.For, loads: tuple[ir.Stmt, ...], stores: list[ir.Copy]) -> Shared | str:
    """What blocks of a cluster can share, along the dimension where it is most; or why they share nothing."""
    kernel = planner.kernel
    best: tuple[int, Shared] | None = None
    reason = "no load is the same for neighbouring blocks"
    for axis, var in enumerate(kernel.block_vars[:2] if len(kernel.block_vars) > 1 else ()):
        names = varying(kernel, {var.name})
        alike = [i for i, s in enumerate(loads) if isinstance(s, ir.Copy) and not arith.names(s.src.offsets) & names
                 and split(planner, s.dst) != ""]
        if not alike:
            continue
        if _other_uses(kernel, loads, stores, names):
            reason = f"{var.name} decides more than what is loaded and where the result goes"
            continue
        saved = sum(_bytes(planner, loads[i].dst) for i in alike)
        if best is None or saved >= best[0]:
            best = saved, Shared(axis, frozenset(alike))
    return best[1] if best else reason


def split(planner: Planner, tile: ir.Region) -> str:
    """Along which side of a tile blocks share its load: "columns" of 128 bytes, "rows" in eights; '' for neither."""
    rows, cols = (planner.value(e) or 0 for e in tile.extents[-2:])
    if cols * tile.buffer.dtype.bytes % (128 * CLUSTER) == 0:
        return "columns"
    return "rows" if rows % (8 * CLUSTER) == 0 else ""


def _bytes(planner: Planner, tile: ir.Region) -> int:
    rows, cols = (planner.value(e) or 0 for e in tile.extents[-2:])
    return rows * cols * tile.buffer.dtype.bytes


def _other_uses(kernel: ir.Kernel, loads, stores: list[ir.Copy], names: set[str]) -> bool:
    """Whether anything but loads and stores by the copy engine depends on `names`: a cluster may reach beyond the
    grid, where only the engine knows that there is nothing."""
    def used(s: ir.Stmt) -> bool:
        if any(s is x for x in (*loads, *stores)) or isinstance(s, ir.Let):
            return False
        if isinstance(s, ir.For):
            return bool(arith.names((s.start, s.stop, s.step)) & names) or any(map(used, s.body))
        return bool(arith.names(s) & names)
    return any(map(used, kernel.body))


def blocks_at_once(planner: Planner, threads: int, shared: int, sums: int) -> int:
    """How many blocks of so many threads, bytes of shared memory and sums in each computing thread an SM holds."""
    target = planner.target
    registers = min(target.max_registers, -(-(sums + 40) // 8) * 8)
    return max(1, min(target.register_file // (threads * registers), (target.max_shared + 1024) // (shared + 1024)))


def tile_walk(planner: Planner, shared: Shared | None, at_once: int) -> TileWalk:
    """The walk over the kernel's grid, with `at_once` blocks on an SM."""
    count = planner.target.multiprocessors * at_once
    cluster = None
    if shared:
        what = f"blocks side by side along the {_AXES[shared.axis]} of tiles, which load for each other"
        cluster = planner.constant("CLUSTER", CLUSTER, what, "1 or 2")
    what = f"blocks that walk over the tiles, as many as {planner.target.multiprocessors} SMs hold"
    blocks = planner.constant("BLOCKS", count, what, "a multiple of CLUSTER" if shared else "1 and up")
    if shared:
        planner.check_multiple(blocks, cluster, "every cluster of blocks is whole")
    else:
        planner.check(arith.binary(">=", blocks, ir.Const(1)), "at least one block walks over the tiles")
    return TileWalk(blocks, cluster, shared.axis if shared else 0)


def walk_loop(planner: Planner, walk: TileWalk, rank: ir.Expr) -> tuple[tuple[ir.Stmt, ...], ir.For]:
    """(names before it, the loop over the tiles of a block, whose body gives the block variables their values)."""
    kernel = planner.kernel
    names = {n: planner.fresh(*wanted) for n, wanted in (
        ("columns", ("columns", "tiles_x")), ("rows", ("rows", "tiles_y")), ("tiles", ("tiles", "tile_count")),
        ("tile", ("tile", "tile_number")), ("place", ("place", "tile_place")))}
    var = {n: ir.Var(name, int32, "block") for n, name in names.items()}
    grid = walk.clusters(kernel.grid)
    before, body = _places(planner, walk, grid, var, rank)
    cluster = walk.cluster if walk.cluster is not None else ir.Const(1)
    first, count = (arith.divide(ir.Var(n, kind="block"), cluster) for n in ("blockIdx.x", "gridDim.x"))
    return before, ir.For("persistent", var["tile"], first, var["tiles"], count, body, (("whole_grid", True),))


def _places(planner: Planner, walk: TileWalk, grid, var: dict[str, ir.Var], rank: ir.Expr):
    kernel = planner.kernel
    loc = kernel.launch_loc
    if len(grid) == 1:
        return (ir.Let(var["tiles"], grid[0], loc=loc),), (ir.Let(kernel.block_vars[0], var["tile"]),)
    plane = arith.multiply(var["columns"], var["rows"])
    before = [ir.Let(var["columns"], grid[0], loc=loc), ir.Let(var["rows"], grid[1], loc=loc),
              ir.Let(var["tiles"], arith.product((plane, *grid[2:])), loc=loc)]
    body: list[ir.Stmt] = []
    tile: ir.Expr = var["tile"]
    if len(grid) == 3:
        body.append(ir.Let(kernel.block_vars[2], arith.divide(tile, plane)))
        tile = arith.modulo(tile, plane)
    values = [ir.Var(f"{var['place'].name}.{side}", kind="block") for side in "xy"]
    if walk.cluster is not None:
        values[walk.axis] = arith.add(arith.multiply(values[walk.axis], walk.cluster), rank)
    helper, panel = _order(planner)
    names = tuple((v.name, value) for v, value in zip(kernel.block_vars, values))
    body.append(TilePlace(var["place"].name, helper, panel, tile, var["columns"], var["rows"], names))
    return tuple(before), tuple(body)


def _order(planner: Planner) -> tuple[str, ir.Expr]:
    """How the grid is walked: as T.use_swizzle asks, else in panels of rows."""
    wish = next((w for w in planner.kernel.wishes if w.name in _HELPERS), None)
    helper = wish.name if wish else "row_panels"
    size = wish.value if wish else ir.Const(PANEL)
    if isinstance(size, ir.Const):
        side = helper.removesuffix("_panels")
        size = planner.constant("PANEL", size.value, f"{side}s of tiles that run together and share the L2 cache",
                                "1 and up")
    planner.check(arith.binary(">=", size, ir.Const(1)), "a panel is not empty")
    return _HELPERS[helper], size
