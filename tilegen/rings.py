"""What threads that load and threads that compute tell each other about the stages of tiles in shared memory."""

from __future__ import annotations

from dataclasses import dataclass

from tilegen import ir


@dataclass(frozen=True)
class Ring:
    """Tiles that a pipelined loop loads together, with a pair of barriers for each stage: `full` when their loads are
    complete, `empty` when those who multiply have let go of them. A step uses them in its runs of products `first` to
    `last`."""

    tiles: tuple[ir.Buffer, ...]
    full: ir.Buffer
    empty: ir.Buffer
    first: int
    last: int


@dataclass(frozen=True)
class AwaitRing(ir.Stmt):
    """Waits until the tiles of `ring` are complete in `stage`, in the turn that `slot` counts."""

    ring: Ring
    stage: ir.Var
    slot: str


@dataclass(frozen=True)
class ReleaseRing(ir.Stmt):
    """Lets go of the tiles of `ring` in `stage`, for all blocks of a `cluster`."""

    ring: Ring
    stage: ir.Var
    cluster: ir.Expr | None = None


@dataclass(frozen=True)
class AwaitTiles(ir.Stmt):
    """Waits on the barrier `ready`, in the turn that `turn` counts, until `tiles` are complete."""

    ready: ir.Buffer
    turn: str
    tiles: tuple[str, ...]
