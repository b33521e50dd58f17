"""How a tile lies in a thread's memory on a CPU: rows, panels, or register tiles.

    rows     X[row][col]
    panels   X[row / MR][col][row % MR]             a gemm operand, in the order that the kernel reads
    tiles    X[row / MR][col / NR][row % MR][col % NR]    an accumulator

Dimensions before the last two lead unchanged. Panels and tiles are padded to whole ones.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from tilegen import arith, ir
from tilegen.dtypes import DType
from tilegen.plan import PlacedBuffer

MR = ir.Var("MR", kind="knob")
NR = ir.Var("NR", kind="knob")


def quotient(a: ir.Expr, b: ir.Expr) -> ir.Expr:
    """a / b of numbers that are never negative."""
    if isinstance(a, ir.Const) and a.value == 0:
        return a
    return ir.BinOp("trunc//", a, b)


@dataclass(frozen=True)
class TileLayout:
    """Where the elements of `buffer` are. `storage` is the array that is declared: its element type may
    be wider than the buffer's (a gemm operand is converted once, when it is written)."""

    buffer: ir.Buffer
    storage: ir.Buffer
    kind: str = "rows"                   # rows, panels, tiles
    split: int = -2                      # panels: the dimension that is cut, -2 or -1
    width: ir.Var = MR                   # panels: how wide they are
    reason: str = field(default="", compare=False)

    def locate(self, indices: tuple[ir.Expr, ...]) -> ir.Load:
        """The stored element of a logical index."""
        if self.kind == "rows":
            return ir.Load(self.storage, indices)
        accessor = "tile_element" if self.kind == "tiles" else (
            "row_panel_element" if self.split == -2 else "column_panel_element")
        b = self.storage
        return ir.Load(PlacedBuffer(b.name, b.shape, b.dtype, b.scope, accessor, loc=b.loc), indices)

    def stride_along(self, dimension: int) -> ir.Expr | None:
        """How far apart neighbours along a logical dimension are, where that is everywhere the same and
        not 1."""
        return self.width if self.kind == "panels" and dimension == -3 - self.split else None

    def contiguous_along(self, dimension: int) -> bool:
        """Whether neighbours along a logical dimension (from the end: -1) are neighbours in memory,
        within vectors that start at multiples of the vector's length."""
        if self.kind == "panels":
            return dimension == self.split and self.width == NR
        return dimension == -1


def rows(buffer: ir.Buffer, dtype: DType, reason: str) -> TileLayout:
    """The layout that keeps the user's shape."""
    return TileLayout(buffer, replace(buffer, dtype=dtype), reason=reason)


def panels(buffer: ir.Buffer, dtype: DType, split: int, width: ir.Var, env: dict, reason: str) -> TileLayout:
    """[rows / width][columns][width], or the same with rows and columns exchanged (split -1)."""
    cut, other = (buffer.shape[-2], buffer.shape[-1]) if split == -2 else (buffer.shape[-1], buffer.shape[-2])
    shape = (*buffer.shape[:-2], whole(cut, width, env), other, width)
    return TileLayout(buffer, ir.Buffer(buffer.name, shape, dtype, buffer.scope, loc=buffer.loc), "panels", split,
                      width, reason)


def tiles(buffer: ir.Buffer, dtype: DType, env: dict, reason: str) -> TileLayout:
    """[rows / MR][columns / NR][MR][NR]."""
    row, col = buffer.shape[-2:]
    shape = (*buffer.shape[:-2], whole(row, MR, env), whole(col, NR, env), MR, NR)
    return TileLayout(buffer, ir.Buffer(buffer.name, shape, dtype, buffer.scope, loc=buffer.loc), "tiles",
                      reason=reason)


def whole(extent: ir.Expr, width: ir.Var, env: dict) -> ir.Expr:
    """How many pieces of `width` hold `extent`; without rounding where it divides now (a check keeps it so)."""
    return quotient(extent, width) if divides(extent, width, env) else arith.ceildiv(extent, width)


def divides(extent: ir.Expr, width: ir.Expr, env: dict) -> bool:
    value, by = arith.evaluate(extent, env), arith.evaluate(width, env)
    return value is not None and bool(by) and value % by == 0
