"""How an accumulator of a warpgroup goes to global memory: pieces of 64 rows of 128 bytes at a time, through slabs."""

from __future__ import annotations

from tilegen import arith, ir
from tilegen.dtypes import int32
from tilegen.passes.planner import Planner
from tilegen.plan import OpPlan, SlabStore
from tilegen.wgmma import WGMMA_ROWS

# Names in the emitted text, and what they become where the user has taken them.
_NAMES = {"i": ("i", "tile_row"), "c": ("c", "column"), "j": ("j", "within"), "r": ("r", "half"),
          "slab": ("slab", "slab_number"), "lane": ("lane", "lane_id"), "pairs": ("pairs", "registers"),
          "row": ("row", "slab_row"), "col": ("col", "slab_col"), "at": ("at", "register_number"),
          "piece": ("piece", "piece_number")}
_TEMPLATES = {"": "slab_store", "function": "slab_function", "keep": "slab_keep", "rest": "slab_rest"}
_REASON = "by the copy engine, which writes whole lines and knows where the tensor ends"


def slab_store(planner: Planner, copy: ir.Copy) -> OpPlan:
    """The plan of a copy whose layouts are known."""
    choice: SlabStore = copy.plan
    rows, cols = planner.layout(copy.src.buffer).axes
    name = {n: planner.fresh(*wanted) for n, wanted in _NAMES.items()} | {"group": choice.values["group"].name}
    piece = _piece(planner, copy, choice, name)
    values = {**piece, **choice.values, "inner": piece, "rows": rows.slots_name, "cols": cols.slots_name}
    if choice.part == "keep":
        values["keeps"] = tuple(zip(choice.values["at_names"], _starts(copy)))
    why = "" if not choice.part else ", during the products of the next tile"
    return OpPlan(_TEMPLATES[choice.part], values, _REASON + why)


def _starts(copy: ir.Copy) -> list[ir.Expr]:
    """Where a tile goes, outermost dimension last."""
    return list(reversed(copy.dst.offsets))


def _piece(planner: Planner, copy: ir.Copy, choice: SlabStore, name: dict[str, str]) -> dict:
    """One piece: its place in the tile, in the slabs and in the tensor."""
    rows, cols = planner.layout(copy.src.buffer).axes
    var = {n: ir.Var(name[n], int32, "thread") for n in name}
    width, count = choice.values["width"], choice.slabs.shape[1]
    across = arith.divide(copy.src.buffer.shape[-1], width)
    starts = [ir.Var(n, int32, "thread") for n in choice.values["at_names"]] if choice.part else _starts(copy)
    top = arith.add(arith.multiply(var["i"], arith.multiply(ir.Const(2), ir.Var(rows.count_name, kind="knob"))),
                    arith.multiply(var["group"], ir.Const(WGMMA_ROWS)))
    places = [arith.add(starts[0], var["c"]), arith.add(starts[1], top), *starts[2:]]
    short = copy.dst.buffer.dtype.bits == 16
    inside = {**name, "width": width, "dtype": copy.dst.buffer.dtype, "source": copy.src.buffer.name,
              "across": cols.count_name, "packed": choice.values["packed"] if choice.part else "",
              **_element(var, choice.slabs, rows.warps_name, short)}
    return {**inside, "inside": inside, "i_value": arith.divide(var["piece"], across), "count": count,
            "waiting": arith.subtract(count, 1),
            "c_value": arith.multiply(arith.modulo(var["piece"], across), width), "slabs": choice.slabs,
            "places": places, "how": "slab_stmatrix" if short else "slab_pairs", "helper": choice.values["helper"],
            "tensor": choice.values["tensor"]}


def _element(var: dict[str, ir.Var], slabs: ir.Buffer, warps: str, short: bool) -> dict:
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
