"""The Tile IR: every node a frozen dataclass, on one screen.

Tile operations stay whole. A `loc`, never compared, says which Python text a node comes from; a `plan` is empty until
a pass decides how it is carried out. `walk` and `rewrite` use the dataclass fields: a new node costs one class here."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from tilegen.dtypes import DType, bool_, float32, int32
from tilegen.errors import Loc
from tilegen.nodes import WARP_FUNCTIONS, Expr, Node, Stmt, aside, children, fresh_name, rewrite, take_name, walk

__all__ = ["WARP_FUNCTIONS", "Expr", "Node", "Stmt", "children", "fresh_name", "rewrite", "take_name", "walk"]


# ---- Expressions ---------------------------------------------------------------------------------
@dataclass(frozen=True)
class Const(Expr):
    value: int | float | bool
    dtype: DType = int32


@dataclass(frozen=True)
class Var(Expr):
    """A named scalar. kind: knob (constexpr of the file), size (known at launch), scalar, block, thread, loop, let."""
    name: str
    dtype: DType = int32
    kind: str = "let"


@dataclass(frozen=True)
class BinOp(Expr):
    """op: + - * / // % (floor), min max, == != < <= > >=, and or, & | ^ << >>, trunc// trunc%."""
    op: str
    a: Expr
    b: Expr
    dtype: DType = int32


@dataclass(frozen=True)
class UnOp(Expr):
    """op: - not ~"""
    op: str
    a: Expr
    dtype: DType = int32


@dataclass(frozen=True)
class Call(Expr):
    """A function of language/math.py by name: exp, ceildiv, infinity, ..."""
    name: str
    args: tuple[Expr, ...]
    dtype: DType


@dataclass(frozen=True)
class Select(Expr):
    condition: Expr
    a: Expr
    b: Expr
    dtype: DType


@dataclass(frozen=True)
class Cast(Expr):
    a: Expr
    dtype: DType


@dataclass(frozen=True)
class Load(Expr):
    """One element. Its dtype is the buffer's; arithmetic on it is done in `dtype.compute`."""
    buffer: Buffer
    indices: tuple[Expr, ...]

    @property
    def dtype(self) -> DType:
        return self.buffer.dtype


# ---- Program -------------------------------------------------------------------------------------
@dataclass(frozen=True)
class Buffer(Node):
    """scope: global, shared, fragment (a tile spread over the registers of the block's threads), local (an array of
    each thread), var (a scalar of each thread, shape ())."""
    name: str
    shape: tuple[Expr, ...]
    dtype: DType
    scope: str


@dataclass(frozen=True)
class Alias(Buffer):
    """The memory of `base` under another name, shape or dtype; elements in the same order."""
    base: Buffer | None = None
    @property
    def reinterprets(self) -> bool:
        """Whether its elements have another type than those of the memory: accesses by pointers to them need care."""
        return self.dtype != self.base.dtype


@dataclass(frozen=True)
class Region(Node):
    """A box of a buffer: `extents` has one entry per dimension of the buffer."""
    buffer: Buffer
    offsets: tuple[Expr, ...]
    extents: tuple[Expr, ...]


@dataclass(frozen=True)
class Knob(Node):
    """A constexpr of the emitted file: `value`, or how it follows from others (`expr`). `fixed`: not to be turned."""
    name: str
    value: int | float | bool
    comment: str = ""
    expr: Expr | None = None
    fixed: bool = False


@dataclass(frozen=True)
class Param(Node):
    """A tensor (`buffer`) or scalar (`var`). access: read, write, readwrite. A `workspace` is the launcher's."""
    name: str
    buffer: Buffer | None = None
    var: Var | None = None
    access: str = "read"
    workspace: bool = False


@dataclass(frozen=True)
class Wish(Node):
    """What a kernel asks of its launch. name: row_panels, column_panels (the order of blocks), min_blocks."""
    name: str
    value: Expr


@dataclass(frozen=True)
class Kernel(Node):
    """One launch; or several that run in order, each a Kernel of its own in `launches` with the parameters and sizes
    that it uses. Then grid, threads and body of the whole are empty."""
    name: str
    params: tuple[Param, ...]
    knobs: tuple[Knob, ...]
    sizes: tuple[Var, ...]               # run-time dimensions, int32, in order of first use
    grid: tuple[Expr, ...]               # 1 to 3 extents, x first
    block_vars: tuple[Var, ...]
    threads: tuple[Expr, ...]            # 1 to 3 extents
    body: tuple[Stmt, ...]
    requires: tuple[Expr, ...] = ()      # conditions on sizes that the caller must keep (T.assume)
    plan: Any = field(default=None, compare=False)
    wishes: tuple[Wish, ...] = ()        # about the launch and the layouts
    launch_loc: Loc | None = aside()    # of the T.Kernel line (loc is the def's)
    launches: tuple[Kernel, ...] = ()
    sources: tuple[str, ...] = ()        # text of the target's own language, before the kernel


# ---- Tile statements -----------------------------------------------------------------------------
@dataclass(frozen=True)
class Alloc(Stmt):
    buffer: Buffer
    init: Expr | None = None             # for scope var


@dataclass(frozen=True)
class Fill(Stmt):
    dst: Region
    value: Expr


@dataclass(frozen=True)
class Copy(Stmt):
    """dst = src, elementwise; both boxes have the same extents once those of 1 are dropped.
    What lies outside of a global tensor reads as zero and is not written. With the option "asynchronous"
    dst has its value after the next Sync that waits."""
    src: Region
    dst: Region
    options: tuple[tuple[str, Any], ...] = ()


@dataclass(frozen=True)
class Gemm(Stmt):
    """c += a @ b, accumulated in c's dtype; with `clear`, c = a @ b."""
    a: Region
    b: Region
    c: Region
    transpose_a: bool = False
    transpose_b: bool = False
    clear: bool = False
    policy: str | tuple[int, int] = "square"     # or the grid of warps itself
    packed: str = ""                     # int4 or uint4 where the operands are bytes of two elements along the depth


@dataclass(frozen=True)
class Reduce(Stmt):
    """dst = op over dimension `dim` of src (clear), or dst = op(dst, that). op: see T.reduce."""
    op: str
    src: Region
    dst: Region
    dim: int
    clear: bool = True


@dataclass(frozen=True)
class Scan(Stmt):
    """dst[i] = op of src[0] to src[i] along `dim`; from the end with `reverse`. op: sum max."""
    op: str
    src: Region
    dst: Region
    dim: int
    reverse: bool = False


@dataclass(frozen=True)
class Finalize(Stmt):
    """dst = op over what all threads contributed to a reducer, src: as written, one shared tile. op: sum max min."""
    op: str
    src: Region
    dst: Region


@dataclass(frozen=True)
class Vote(Stmt):
    """dst, a bool variable, becomes whether any (all) of src are not 0: the same in the whole block. op: any all."""
    op: str
    src: Region
    dst: Buffer


@dataclass(frozen=True)
class Parallel(Stmt):
    """A nest whose iterations are independent."""
    vars: tuple[Var, ...]
    extents: tuple[Expr, ...]
    body: tuple[Stmt, ...]
    options: tuple[tuple[str, Any], ...] = ()


@dataclass(frozen=True)
class Atomic(Stmt):
    """buffer[indices] = op(it, value), atomically. op: add max min or. `previous`, a variable, gets what was there;
    `order` is relaxed, acquire, release, acq_rel or seq_cst."""
    op: str
    buffer: Buffer
    indices: tuple[Expr, ...]
    value: Expr
    previous: Buffer | None = None
    order: str = "relaxed"

    @property
    def operator(self) -> str:
        """What BinOp calls the operation."""
        return {"add": "+", "or": "|"}.get(self.op, self.op)


# ---- Plain statements ----------------------------------------------------------------------------
@dataclass(frozen=True)
class For(Stmt):
    """kind: serial, unrolled, vectorized, pipelined (options: num_stages), persistent."""
    kind: str
    var: Var
    start: Expr
    stop: Expr
    step: Expr
    body: tuple[Stmt, ...]
    options: tuple[tuple[str, Any], ...] = ()


@dataclass(frozen=True)
class While(Stmt):
    condition: Expr
    body: tuple[Stmt, ...]


@dataclass(frozen=True)
class If(Stmt):
    condition: Expr
    then: tuple[Stmt, ...]
    otherwise: tuple[Stmt, ...] = ()


@dataclass(frozen=True)
class Let(Stmt):
    """A name bound once: visible to the statements after it in the same block."""
    var: Var
    value: Expr


@dataclass(frozen=True)
class Store(Stmt):
    """buffer[indices] = value, converted to the buffer's dtype."""
    buffer: Buffer
    indices: tuple[Expr, ...]
    value: Expr


@dataclass(frozen=True)
class Break(Stmt):
    """`break` of the innermost serial loop."""


@dataclass(frozen=True)
class Continue(Stmt):
    """`continue` of the innermost serial loop."""


@dataclass(frozen=True)
class Sync(Stmt):
    """A barrier, with its reason. With `waits`, each thread first waits for its own asynchronous copies."""
    reason: str = ""
    waits: bool = False


@dataclass(frozen=True)
class Print(Stmt):
    """message with {} for each value; a Region prints the whole tile."""
    message: str
    values: tuple[Expr | Region, ...] = ()


@dataclass(frozen=True)
class Assert(Stmt):
    condition: Expr
    message: str = ""


@dataclass(frozen=True)
class Raw(Stmt):
    """Lines of the target's own language. `{name}` in the text is an operand; those in `writes` (elements) change."""
    text: str
    names: tuple[str, ...] = ()          # of the reads, then of the writes
    reads: tuple[Expr, ...] = ()
    writes: tuple[Region, ...] = ()


def owner(buffer: Buffer) -> Buffer:
    """The buffer whose memory `buffer` names."""
    return owner(buffer.base) if isinstance(buffer, Alias) else buffer


# ---- Making and replacing ------------------------------------------------------------------------
def substitute(node: Any, values: dict[str, Expr]) -> Any:
    """`node` with each Var whose name is a key replaced."""
    return rewrite(node, lambda n: values.get(n.name) if isinstance(n, Var) else None)


def const(value: int | float | bool, dtype: DType | None = None, loc: Loc | None = None) -> Const:
    """A Const; without `dtype`, int32, float32 or bool by the Python type."""
    return Const(value, dtype or {bool: bool_, int: int32, float: float32}[type(value)], loc=loc)
