"""The decisions of the passes, as data. A template writes a plan down; it never makes one.

Every plan carries its `reason` in words: `tilegen explain` prints it, and the source quotes it where
it helps the reader.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from tilegen import arith, ir
from tilegen.dtypes import DType, int32
from tilegen.layout import Axis, FragmentLayout
from tilegen.wishes import Placement


@dataclass(frozen=True)
class Constant:
    """A constexpr of the emitted file. With `knob` it stands among the knobs, else below them, where
    `expr` says how it follows from the others. `legal` says which values it may take."""

    name: str
    value: int | float | bool
    comment: str = ""
    legal: str = ""
    expr: ir.Expr | None = None
    knob: bool = False
    dtype: DType = int32

    @property
    def var(self) -> ir.Var:
        return ir.Var(self.name, self.dtype, "knob")


@dataclass(frozen=True)
class Check:
    """A static_assert: what must hold when a knob is turned, and why."""

    condition: ir.Expr
    message: str


@dataclass(frozen=True)
class Loop:
    """One level of a nest: for (int var = start; var < stop; var += step) { lets; ... }"""

    var: ir.Var
    start: ir.Expr
    stop: ir.Expr
    step: ir.Expr
    unroll: bool = False
    lets: tuple[ir.Let, ...] = ()
    pragma: str = ""                     # another pragma line than the unroll one
    guard: ir.Expr | None = None         # around the body, where it is the same for a whole turn


@dataclass(frozen=True)
class Move(ir.Stmt):
    """`width` consecutive elements from src to dst, converted. `helper` is the device function that
    does it; `inside` counts the elements that exist, where that is not certain. Where the variable `whole` holds,
    all of them do, at an aligned place."""

    helper: str
    dst: ir.Load
    src: ir.Load
    width: ir.Expr
    inside: ir.Expr | None = None
    whole: ir.Var | None = None


@dataclass(frozen=True)
class PairStore(ir.Store):
    """The element of a fragment and the one after it, of 16 bits each, from the halves of a register."""


@dataclass(frozen=True)
class PlacedBuffer(ir.Buffer):
    """A tile in an order of its own: the function `accessor` of the file finds an element from its last
    indices."""

    accessor: str = ""
    rank: int = 2                        # indices that it takes
    run: int = 0                         # neighbours of a row that stay together; 0: all


@dataclass(frozen=True)
class UnpackedBuffer(ir.Buffer):
    """A tile that holds the elements of `source`, a tile of bytes with two of type `elements` in each."""

    source: str = ""
    elements: str = ""


@dataclass(frozen=True)
class SwizzledBuffer(ir.Buffer):
    """A shared tile whose 16-byte pieces change places by the row: the device function `swizzle` finds a column."""


@dataclass(frozen=True)
class EngineTile(ir.Buffer):
    """A shared tile that the copy engine fills and wgmma reads. Each stage lies as columns of 128 bytes below
    each other, whose 16-byte pieces change places by the row; nothing reads it by element."""


@dataclass(frozen=True)
class TensorMapPlan:
    """How the copy engine sees a tensor: `box` is what one copy moves, one extent a dimension, whose last is 128
    bytes, swizzled."""

    box: tuple[ir.Expr, ...]


@dataclass(frozen=True)
class Producer(ir.Stmt):
    """The loads of a pipelined loop, as threads of their own run them; all statements after it are of the threads
    that compute. `tiles` is the loop over the tiles of a block around it, with the names that the loads need, where
    a block has several. Blocks of a `cluster` load for each other."""

    loop: ir.For
    tiles: ir.For | None = None
    cluster: ir.Expr | None = None
    once: tuple[ir.Stmt, ...] = ()       # loads before the loop, of tiles that all of its steps read


@dataclass(frozen=True)
class TileWalk:
    """A grid whose tiles its blocks take in turn: so many `blocks`, and `cluster` of them side by side along a
    dimension (`axis`) of the grid, where they share loads."""

    blocks: ir.Expr
    cluster: ir.Expr | None = None
    axis: int = 0

    def clusters(self, grid: tuple[ir.Expr, ...]) -> tuple[ir.Expr, ...]:
        """The extents of a grid, counted in clusters along their dimension."""
        return tuple(arith.ceildiv(extent, self.cluster) if self.cluster is not None and axis == self.axis else extent
                     for axis, extent in enumerate(grid))

    def grid(self, grid: tuple[ir.Expr, ...]) -> tuple[ir.Expr, ...]:
        """What is launched in the place of a grid."""
        tiles = arith.product(self.clusters(grid))
        if self.cluster is not None:
            tiles = arith.multiply(tiles, self.cluster)
        return (arith.binary("min", self.blocks, tiles),)


@dataclass(frozen=True)
class TilePlace(ir.Stmt):
    """The place of a tile in the grid: `place` is where the device function `helper` finds number `tile` in panels of
    `panel`, among `columns` x `rows`; `names` get their values from it."""

    place: str
    helper: str
    panel: ir.Expr
    tile: ir.Expr
    columns: ir.Expr
    rows: ir.Expr
    names: tuple[tuple[str, ir.Expr], ...]


@dataclass(frozen=True)
class SlabStore:
    """A copy of an accumulator to global memory by the copy engine, piece by piece through `slabs` of shared memory
    that each warpgroup has for itself; on Copy.plan until layouts are known. `part` is "" for the whole; where the
    pieces leave during the next tile's products, "function" for what stores one of them, "keep" for what puts a tile
    into registers until then, and "rest" for the last tile."""

    slabs: ir.Buffer
    values: dict[str, Any] = field(hash=False, default_factory=dict)
    part: str = ""


@dataclass(frozen=True)
class AwaitStores(ir.Stmt):
    """Shared memory lives until the copy engine has read all of it."""


@dataclass(frozen=True)
class NestPlan:
    """How a data-parallel statement (copy, fill, parallel) runs: loops around a body. Where it has `whole`, the
    compiler makes two versions of it, and the boolean `whole.var` of the body says which one runs."""

    loops: tuple[Loop, ...]
    body: tuple[ir.Stmt, ...]
    guard: ir.Expr | None = None         # around the body, innermost
    once: ir.Expr | None = None          # around the whole nest: which threads take part
    lets: tuple[ir.Let, ...] = ()        # before the loops
    reason: str = ""
    why: str = ""                        # what the source says about it, in a line of its own
    whole: ir.Let | None = None


@dataclass(frozen=True)
class Nest(ir.Stmt):
    """A nest of a plan's own, without a statement of the user's."""

    plan: NestPlan


@dataclass(frozen=True)
class DeferredSum:
    """A sum whose lanes meet after the loop around it; on Reduce.plan until the reduction is planned."""


@dataclass(frozen=True)
class OpPlan:
    """How one tile operation with a template of its own runs. `values` are the names and expressions
    that the template spells; `constants`, `checks` those that it needs."""

    template: str
    values: dict[str, Any] = field(hash=False, default_factory=dict)
    reason: str = ""


@dataclass(frozen=True)
class MmaChoice:
    """The matrix instruction of a gemm and the grid of warps; on Gemm.plan until the gemm is planned."""

    helper: str                          # device function: mma_m16n8k16_f16
    k: int                               # its depth
    warps_m: int
    warps_n: int
    a_registers: int                     # of one lane for one instruction
    b_registers: int
    a_in_registers: bool = False
    a_form: str = "matrix"               # how a lane gets its registers, see passes/mma_operands.py
    b_form: str = "matrix"
    pairs: bool = True                   # a warp's tiles of columns come in pairs, which ldmatrix loads together
    reason: str = ""


@dataclass(frozen=True)
class KeptOperand(ir.Stmt):
    """Loads an operand of matrix instructions into registers that a loop then uses in every turn."""

    region: ir.Region


@dataclass(frozen=True)
class WgmmaChoice(MmaChoice):
    """Products by warpgroups, with both operands in shared memory. While they run in turn `turn` of their loop, this
    piece of each result in `stores` (its function and the number of its pieces) leaves."""

    group: ir.Var | None = None          # the number of the warpgroup
    pending: int = 0                     # products of earlier steps that may still run behind those of a step
    turn: ir.Expr | None = None
    stores: tuple[tuple[str, ir.Expr], ...] = ()


@dataclass(frozen=True)
class PipelinePlan:
    """The first `producers` statements of the loop body fill stage `(ko - start) % stages`, some steps ahead;
    `reason` in words. With the template "pipeline" they are asynchronous copies. With "pipeline_registers"
    they load registers, and the next `keepers` statements put those into the stage."""

    producers: int
    stages: ir.Expr
    stage: ir.Var
    steps: ir.Var                        # the loop's end
    load: str                            # the name of the function that fills a stage
    buffers: tuple[str, ...]
    reason: str = ""
    sync: ir.Sync | None = None          # of the user, which the pipeline's own barrier stands for
    lead: int = 0                        # statements of a step that come before the loads of a later one
    once: tuple[ir.Stmt, ...] = ()       # between the first loads and the first step
    template: str = "pipeline"
    keepers: int = 0
    keep: str = ""                       # the name of the function that puts registers into a stage
    operands: OpPlan | None = None       # what each step loads for the next one, see passes/mma_ahead.py
    engine: dict[str, Any] = field(hash=False, default_factory=dict)   # with the copy engine, see plan_warpgroups.py

    @property
    def ahead(self) -> int:
        """How many statements of the body belong to other steps."""
        return self.producers + self.keepers


@dataclass(frozen=True)
class SynchronousPlan:
    """A pipelined loop that loads and computes in turn, because of `reason`."""

    reason: str


@dataclass(frozen=True)
class SharedBuffer:
    """A shared buffer's place: `exact` are its bytes, `bytes` those rounded up to a multiple of `alignment`."""

    buffer: ir.Buffer
    exact: int
    reason: str = ""
    alignment: int = 16                  # of its first byte: 128 where an instruction reads rows of 128 bytes

    @property
    def bytes(self) -> int:
        return -(-self.exact // self.alignment) * self.alignment


@dataclass(frozen=True)
class BlockOrder:
    """The blocks of a grid in panels: `helper` is the device function that gives a block its place."""

    helper: str
    size: ir.Expr
    wish: ir.Wish


def maps_of(launches: Iterable[ir.Kernel]) -> dict[str, TensorMapPlan]:
    """The tensor maps of all launches, by parameter; planned or not."""
    return {name: one for launch in launches if launch.plan for name, one in launch.plan.maps.items()}


@dataclass(frozen=True)
class KernelPlan:
    """What holds for the whole kernel."""

    constants: tuple[Constant, ...] = ()
    checks: tuple[Check, ...] = ()
    layouts: dict[str, FragmentLayout] = field(hash=False, default_factory=dict)   # by buffer name
    axes: tuple[Axis, ...] = ()
    shared: tuple[SharedBuffer, ...] = ()
    scratch: tuple = ()                            # (type name, (member of Smem, elements)): room for reductions
    notes: tuple[tuple[str, str], ...] = ()        # (subject, reason), in order of decision
    order: BlockOrder | None = None
    places: dict[str, Placement] = field(hash=False, default_factory=dict)      # of shared tiles, by accessor
    maps: dict[str, TensorMapPlan] = field(hash=False, default_factory=dict)       # of tensors, by parameter
    alignments: dict[str, int] = field(hash=False, default_factory=dict)           # of tensors, in bytes
    loaders: str = ""                              # the constant that counts the threads which only load
    phases: dict[str, int] = field(hash=False, default_factory=dict)    # of shared tiles that share their place
    walk: TileWalk | None = None                   # where blocks take the tiles of the grid in turn

    @property
    def shared_groups(self) -> tuple[tuple[tuple[SharedBuffer, ...], ...], ...]:
        """The members of Smem: for each place the phases that lie on top of each other, most often one."""
        alone = tuple(((p,),) for p in self.shared if p.buffer.name not in self.phases)
        numbers = sorted(set(self.phases.values()))
        together = tuple(tuple(p for p in self.shared if self.phases.get(p.buffer.name) == n) for n in numbers)
        return ((together,) if together else ()) + alone

    @property
    def shared_alignment(self) -> int:
        """What the first byte of Smem has to be a multiple of."""
        return max((p.alignment for p in self.shared), default=16)

    @property
    def shared_bytes(self) -> int:
        """Bytes of Smem."""
        return sum(max(sum(p.bytes for p in phase) for phase in group) for group in self.shared_groups)
