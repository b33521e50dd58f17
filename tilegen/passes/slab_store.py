"""How an accumulator of a warpgroup goes to global memory: 64 rows of 128 bytes at a time, through slabs."""

from __future__ import annotations

from tilegen import arith, ir
from tilegen.dtypes import int32
from tilegen.passes.planner import Planner
from tilegen.plan import OpPlan, SlabStore
from tilegen.wgmma import WGMMA_ROWS

# Names in the emitted text, and what they become where the user has taken them.
_NAMES = {"i": ("i", "tile"), "c": ("c", "column"), "j": ("j", "within"), "r": ("r", "half"),
          "slab": ("slab", "slab_number"), "lane": ("lane", "lane_id"), "pairs": ("pairs", "registers"),
          "row": ("row", "slab_row"), "col": ("col", "slab_col"), "at": ("at", "register_number"),
          "group": ("group", "warpgroup_number")}


def slab_store(planner: Planner, copy: ir.Copy) -> OpPlan:
    """The plan of a copy whose layouts are known."""
    choice: SlabStore = copy.plan
    rows, cols = planner.layout(copy.src.buffer).axes
    name = {n: planner.fresh(*wanted) for n, wanted in _NAMES.items()}
    var = {n: ir.Var(name[n], int32, "thread") for n in name}
    piece = choice.values["piece"]
    slots = ir.Var(rows.slots_name, kind="knob")
    tiles = planner.constant(f"{rows.slots_name.rpartition('_')[0]}_TILES_M", rows.slots // 2,
                             f"tiles of {WGMMA_ROWS} rows in a warpgroup's part", knob=False,
                             expr=arith.divide(slots, ir.Const(2)))
    width = copy.src.buffer.shape[-1]
    count = choice.slabs.shape[1]
    number = arith.modulo(arith.divide(arith.add(arith.multiply(var["i"], width), var["c"]), piece), count)
    top = arith.add(arith.multiply(var["i"], arith.multiply(ir.Const(2), ir.Var(rows.count_name, kind="knob"))),
                    arith.multiply(var["group"], ir.Const(WGMMA_ROWS)))
    *outer, first, last = copy.dst.offsets
    places = [arith.add(last, var["c"]), arith.add(first, top), *reversed(outer)]
    short = copy.dst.buffer.dtype.bits == 16
    within = {**name, "piece": piece, "dtype": copy.dst.buffer.dtype, "source": copy.src.buffer.name,
              "across": cols.count_name, **_piece(var, choice.slabs, rows.warps_name, short)}
    values = {**name, "tiles": tiles, "cols": width, "piece": piece, "number": number, "slabs": choice.slabs,
              "waiting": arith.subtract(count, 1), "places": places, "how": "slab_stmatrix" if short else "slab_pairs",
              "around_piece": within, "helper": choice.values["helper"], "tensor": choice.values["tensor"]}
    return OpPlan("slab_store", values, "by the copy engine, which writes whole lines and knows where the tensor ends")


def _piece(var: dict[str, ir.Var], slabs: ir.Buffer, warps: str, short: bool) -> dict:
    """The element of a slab that a lane writes: the row of 16 bytes that it names to stmatrix, or the first of two."""
    warp = arith.multiply(arith.modulo(ir.Call(f"device:warp_row<{warps}>", (), int32), ir.Const(4)), ir.Const(16))
    lane = var["lane"]
    if short:
        row = arith.add(warp, arith.modulo(lane, 16))
        col = arith.add(var["j"], arith.multiply(arith.divide(lane, 16), ir.Const(8)))
    else:
        row = arith.add(arith.add(warp, arith.divide(lane, 4)), arith.multiply(var["r"], ir.Const(8)))
        col = arith.add(var["j"], arith.multiply(arith.modulo(lane, 4), ir.Const(2)))
    element = ir.Load(slabs, (var["group"], var["slab"], var["row"], var["col"]))
    return {"row_value": row, "col_value": col, "element": element}
