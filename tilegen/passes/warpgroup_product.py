"""How a gemm by wgmma runs: the operands' descriptors for each step, and a wait at its end."""

from __future__ import annotations

from tilegen import arith, ir
from tilegen.wgmma import WGMMA_ROWS, turns, wgmma_helpers, with_registers
from tilegen.passes.planner import Planner
from tilegen.plan import OpPlan, WgmmaChoice


# Names in the emitted text, and what they become where the user has taken them.
_NAMES = {"i": ("i", "tile_m"), "k": ("k", "depth"), "first": ("a", "operand_a"), "second": ("b", "operand_b"),
          "piece": ("piece", "piece_number"), "q": ("q", "quarter")}


def warpgroup_product(planner: Planner, gemm: ir.Gemm) -> OpPlan:
    """The plan of a gemm whose operands lie in shared memory as the copy engine brought them."""
    choice: WgmmaChoice = gemm.plan
    rows = planner.layout(gemm.c.buffer).axes[-2]
    depth = gemm.a.extents[-2 if gemm.transpose_a else -1]
    step = planner.constant("MMA_K", choice.k, "depth of one product of a warpgroup", knob=False)
    planner.check_multiple(depth, step, "the depth of a block is made of whole steps")
    slots = ir.Var(rows.slots_name, kind="knob")
    tiles = planner.constant(f"{rows.slots_name.rpartition('_')[0]}_TILES_M", rows.slots // 2,
                             f"tiles of {WGMMA_ROWS} rows in a warpgroup's part", knob=False,
                             expr=arith.divide(slots, ir.Const(2)))
    planner.check_multiple(slots, ir.Const(2), f"a warpgroup multiplies whole tiles of {WGMMA_ROWS} rows")
    columns, _ = wgmma_helpers()[choice.helper]
    registers = gemm.a.buffer.name if choice.a_in_registers else ""
    planner.check(arith.binary("==", gemm.c.extents[-1], ir.Const(columns)),
                  f"{choice.helper} has {columns} columns: emit the file again for others")
    name = {n: planner.fresh(*wanted) for n, wanted in _NAMES.items()}
    i, k = (ir.Var(name[n], kind="loop") for n in ("i", "k"))
    group = arith.multiply(choice.group, ir.Const(WGMMA_ROWS))
    below = arith.multiply(i, arith.multiply(ir.Const(2), ir.Var(rows.count_name, kind="knob")))
    values = {
        **name, "helper": with_registers(choice.helper) if registers else choice.helper, "registers": registers,
        "turns": turns(gemm.a.buffer.dtype),
        "depth": depth, "step": step, "tiles": tiles, "c": gemm.c.buffer.name,
        "pending": choice.pending, "stores": choice.stores, "turn": choice.turn,
        "add": arith.binary(">", k, ir.Const(0)) if gemm.clear else ir.Const(1),
        "a": {} if registers else _operand(gemm.a, not gemm.transpose_a, arith.add(below, group), k),
        "b": _operand(gemm.b, gemm.transpose_b, ir.Const(0), k),
    }
    return OpPlan("gemm_wgmma", values, choice.reason)


def _operand(region: ir.Region, along_depth: bool, start: ir.Expr, k: ir.Expr) -> dict:
    """An operand from its row (column) `start` on: the device function that describes it, and how it lies."""
    stage = region.offsets[0] if len(region.offsets) > 2 else None
    return {"buffer": region.buffer, "stage": stage, "start": start, "k": k, "turned": int(not along_depth),
            "helper": "rows_operand" if along_depth else "columns_operand", "rows": region.buffer.shape[-2]}
