"""plan_stmatrix: accumulators to 16-bit shared tiles by stmatrix, eight rows of 16 bytes at a time.

Precondition: layouts inferred. Effect: a Copy of a whole fragment in the arrangement of mma to a shared tile
of 16-bit floats has an OpPlan, where the arch has stmatrix and rows of 16 x 16 pieces are aligned.
Before: T.copy(C_local, C_shared)
After:  for i, j: stmatrix_x4(&C_shared[row][col], {C_local[i][j..], C_local[i + 1][j..], ...})
"""

from __future__ import annotations

from dataclasses import replace

from tilegen import arith, ir
from tilegen.dtypes import int32
from tilegen.layout import Axis, FragmentLayout
from tilegen.passes.mma_operands import MATRIX_BYTES
from tilegen.passes.planner import Planner
from tilegen.passes.slab_store import slab_store
from tilegen.plan import OpPlan, SlabStore
from tilegen.targets.base import Target

# Names in the emitted text, and what they become where the user has taken them.
_NAMES = {"i": "tile_m", "j": "tile_n", "lane": "lane_id", "pairs": "registers", "row": "tile_row", "col": "tile_col"}


def plan_stmatrix(kernel: ir.Kernel, target: Target) -> ir.Kernel:
    planner = Planner(kernel, target)

    def rule(node):
        if isinstance(node, ir.Copy) and isinstance(node.plan, SlabStore):
            return replace(node, plan=slab_store(planner, node))
        if isinstance(node, ir.Copy) and stores_matrices(target, kernel.plan.layouts, node, planner.env):
            return replace(node, plan=_copy(planner, node))
        return None
    return planner.finish(ir.rewrite(kernel.body, rule))


def stores_matrices(target: Target, layouts: dict[str, FragmentLayout], copy: ir.Copy, env: dict) -> bool:
    """Whether stmatrix can do a copy."""
    src, dst = copy.src, copy.dst
    layout = layouts.get(src.buffer.name)
    if not target.stores_matrices or layout is None or layout.arrangement not in ("mma", "wgmma") or \
            dst.buffer.scope != "shared":
        return False
    if not (dst.buffer.dtype.is_float and dst.buffer.dtype.bits == 16 and src.buffer.dtype.is_float) or \
            len(src.extents) != 2 or len(dst.extents) != 2 or src.extents != src.buffer.shape:
        return False
    rows, cols = layout.axes
    whole = (rows.digit, cols.digit, cols.vector, rows.padded, cols.padded) == ("m", "n", 2, False, False)
    pitch, start = arith.evaluate(dst.buffer.shape[-1], env) or 1, arith.multiple_of(dst.offsets[-1], env)
    aligned = all(dst.buffer.dtype.bytes * n % MATRIX_BYTES == 0 for n in (pitch, start))
    return whole and rows.slots % 2 == 0 and cols.slots % 4 == 0 and aligned


def _copy(planner: Planner, copy: ir.Copy) -> OpPlan:
    rows, cols = planner.layout(copy.src.buffer).axes
    name = {n: planner.fresh(n, other) for n, other in _NAMES.items()}
    for axis, size in ((rows, 2), (cols, 4)):
        planner.check_multiple(ir.Var(axis.slots_name, kind="knob"), ir.Const(size),
                               "stmatrix takes pieces of 16 x 16")
    size = arith.multiply(ir.Const(copy.dst.buffer.dtype.bytes), copy.dst.buffer.shape[-1])
    planner.check_multiple(size, ir.Const(MATRIX_BYTES), f"rows start at multiples of {MATRIX_BYTES} bytes, "
                                                         "as stmatrix needs")
    at = tuple(arith.add(offset, ir.Var(name[n], int32, "loop")) for offset, n in zip(copy.dst.offsets, ("row", "col")))
    row, col = _place(rows, cols, name)
    values = {**name, "rows": rows.slots_name, "cols": cols.slots_name, "source": copy.src.buffer.name,
              "convert": copy.src.buffer.dtype != copy.dst.buffer.dtype, "dtype": copy.dst.buffer.dtype,
              "row_value": row, "col_value": col, "element": ir.Load(copy.dst.buffer, at)}
    return OpPlan("copy_stmatrix", values, f"a warp stores pieces of 16 x 16 of {copy.src.buffer.name} by stmatrix")


def _place(rows: Axis, cols: Axis, name: dict[str, str]) -> tuple[ir.Expr, ir.Expr]:
    """The row of 8 elements that a lane names: row lane % 8 of the matrix lane / 8."""
    i, j, lane = (ir.Var(name[n], int32, "thread") for n in ("i", "j", "lane"))
    slot = arith.add(i, arith.modulo(arith.divide(lane, 8), 2))
    warp = ir.Call(f"device:warp_row<{rows.warps_name}>", (), int32)
    row = arith.add(arith.multiply(slot, ir.Var(rows.count_name, kind="knob")), arith.multiply(warp, ir.Const(8)))
    lane_row = arith.modulo(lane, 8)
    if rows.pairs:                                        # the second matrix 8 rows below the first
        row = arith.add(arith.multiply(i, ir.Var(rows.count_name, kind="knob")), arith.multiply(warp, ir.Const(16)))
        lane_row = arith.modulo(lane, 16)
    pair = arith.add(arith.divide(j, 2), arith.divide(lane, 16))
    col = arith.multiply(pair, arith.multiply(ir.Var(cols.count_name, kind="knob"), ir.Const(2)))
    return (arith.add(row, lane_row),
            arith.add(col, arith.multiply(ir.Call(f"device:warp_col<{cols.warps_name}>", (), int32), ir.Const(8))))
