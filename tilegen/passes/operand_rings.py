"""The tiles of a pipelined loop by the products that use them: those of the same products share their barriers.

Products that follow each other are a run: a step waits for the tiles of a run before it, and lets go of a tile after
the last run that uses it. So keys are there before the values, and leave before them.
"""

from __future__ import annotations

from dataclasses import dataclass

from tilegen import ir
from tilegen.dtypes import uint64
from tilegen.passes.pipeline_loads import uses
from tilegen.passes.planner import Planner
from tilegen.rings import AwaitRing, ReleaseRing, Ring


@dataclass(frozen=True)
class Operands:
    """Tiles that the runs `first` to `last` of a step's products use."""

    tiles: tuple[ir.Buffer, ...]
    first: int
    last: int


def runs_of(statements: tuple[ir.Stmt, ...]) -> list[tuple[int, int]]:
    """The runs of products, each as (place of its first statement, of its last)."""
    found: list[tuple[int, int]] = []
    for place, s in enumerate(statements):
        if any(isinstance(n, ir.Gemm) for n in ir.walk(s)):
            joined = found and all(isinstance(x, ir.Let) for x in statements[found[-1][1] + 1:place])
            found.append((found.pop()[0] if joined else place, place))
    return found


def operands_of(loads: tuple[ir.Stmt, ...], rest: tuple[ir.Stmt, ...]) -> tuple[Operands, ...]:
    """The tiles that `loads` fill, by their first and last use in the statements `rest` of a step."""
    runs = [uses(rest[start:stop + 1]) for start, stop in runs_of(rest)]
    found: dict[tuple[int, int], list[ir.Buffer]] = {}
    for copy in (s for s in loads if isinstance(s, ir.Copy)):
        mine = [number for number, names in enumerate(runs) if copy.dst.buffer.name in names] or [0]
        found.setdefault((mine[0], mine[-1]), []).append(copy.dst.buffer)
    return tuple(Operands(tuple(found[key]), *key) for key in sorted(found))


def rings_of(planner: Planner, loop: ir.For, operands: tuple[Operands, ...]) -> tuple[Ring, ...]:
    """The same with barriers: full and empty where all tiles have one use, else K_full and K_empty for K_shared."""
    found: list[Ring] = []
    taken = set(planner.taken)
    for group in operands:
        stem = f"{tile_stem(group.tiles[0])}_" if len(operands) > 1 else ""
        names = (ir.take_name(taken, f"{stem}{n}", f"{loop.var.name}_{stem}{n}") for n in ("full", "empty"))
        full, empty = (ir.Buffer(name, (loop.plan.stages,), uint64, "shared") for name in names)
        found.append(Ring(group.tiles, full, empty, group.first, group.last))
    return tuple(found)


def with_waits(rest: tuple[ir.Stmt, ...], rings: tuple[Ring, ...], stage: ir.Var, slot: str, cluster: ir.Expr | None,
               release: bool) -> tuple[ir.Stmt, ...]:
    """The statements of a step with a wait before the first run of products that uses a ring, and, with `release`,
    with what lets go of it after the last one."""
    found = list(rest)
    for number, (start, stop) in reversed(list(enumerate(runs_of(rest)))):
        after = [ReleaseRing(r, stage, cluster) for r in rings if r.last == number and release]
        before = [AwaitRing(r, stage, slot) for r in rings if r.first == number]
        found[start:stop + 1] = [*before, *found[start:stop + 1], *after]
    return tuple(found)


def tile_stem(tile: ir.Buffer) -> str:
    """K for K_shared."""
    return tile.name.removesuffix("_shared").removesuffix("_smem")
