"""plan_mma: how a gemm with a matrix instruction loads its operands and multiplies.

Precondition: layouts inferred, Gemm.plan an MmaChoice. Effect: an OpPlan for template gemm_mma. Operands
come from shared memory by ldmatrix (transposed where they lie along their rows) or, for A, straight
from the registers of an accumulator.
Before: T.gemm(A_shared, B_shared, C_local) with MmaChoice(mma_m16n8k16_f16, ...)
After:  for k: ldmatrix a[i], b[j]; mma(&C_local[2 * i][2 * j], &C_local[2 * i + 1][2 * j], a[i], b[j])
"""

from __future__ import annotations

from dataclasses import replace

from tilegen import arith, ir
from tilegen.dtypes import int32
from tilegen.instructions import matrix_instruction
from tilegen.layout import Axis
from tilegen.passes import mma_ahead
from tilegen.passes.mma_operands import ROW_BYTES
from tilegen.passes.warpgroup_product import warpgroup_product
from tilegen.passes.planner import Planner, coordinate
from tilegen.plan import MmaChoice, OpPlan, PipelinePlan, WgmmaChoice
from tilegen.targets.base import Target


# Device functions that collect a register of elements of so many bytes, one below the other.
_GATHERS = {2: "gather_pair", 1: "gather_column"}
# Names in the emitted text, and what they become where the user has taken them.
_NAMES = {
    "k": "depth",
    "i": "tile_m",
    "j": "tile_n",
    "q": "quarter",
    "a": "a_regs",
    "b": "b_regs",
    "lane": "lane_id",
    "row": "tile_row",
    "col": "tile_col",
}


def plan_mma(kernel: ir.Kernel, target: Target) -> ir.Kernel:
    planner = Planner(kernel, target)
    notes: dict[tuple[str, str], None] = {}

    def loops(node):
        if not (isinstance(node, ir.For) and isinstance(node.plan, PipelinePlan)):
            return None
        why_not = mma_ahead.why_one_set(planner, node)
        for gemm in (n for n in ir.walk(node.body) if isinstance(n, ir.Gemm) and isinstance(n.plan, MmaChoice)):
            notes[f"operands of {gemm.c.buffer.name}", f"loaded when they are needed: {why_not}" if why_not else
                  "loaded one mma step ahead, also across the steps of the loop"] = None
        return None if why_not else _ahead(planner, node)

    def gemms(node):
        if isinstance(node, ir.Gemm) and isinstance(node.plan, WgmmaChoice):
            return replace(node, plan=warpgroup_product(planner, node))
        if isinstance(node, ir.Gemm) and isinstance(node.plan, MmaChoice):
            return replace(node, plan=_gemm(planner, node))
        return None

    body = ir.rewrite(ir.rewrite(kernel.body, loops), gemms)
    return planner.finish(body, notes=kernel.plan.notes + tuple(notes))


def _ahead(planner: Planner, loop: ir.For) -> ir.For:
    """A pipelined loop whose product loads its operands ahead, see mma_ahead.py."""
    names, gemm = mma_ahead.names(planner, loop), loop.body[-1]
    plan = _gemm(planner, gemm)
    depth, step = plan.values["depth"], plan.values["step"]
    planner.check_multiple(arith.divide(depth, step), ir.Const(2), "mma steps alternate between two sets of operands")
    registers = mma_ahead.operand_registers(planner, gemm)
    reason = f"{plan.reason}; operands are loaded one mma step ahead, in two sets of {registers // 2} registers"
    values = {**plan.values, "ahead": names, "operand_registers": registers}
    planner.taken |= {names["load"], values["a"], values["b"]}        # they outlive the loop
    ring = bool(loop.plan.engine)
    operands = OpPlan("mma_ahead", {**values, "values": values})
    pipeline = replace(loop.plan, template="pipeline_ring_ahead" if ring else "pipeline_ahead", operands=operands)
    product = OpPlan("gemm_mma_ring_ahead" if ring else "gemm_mma_ahead", values, reason)
    return replace(loop, body=(*loop.body[:-1], replace(gemm, plan=product)), plan=pipeline)


def _gemm(planner: Planner, gemm: ir.Gemm) -> OpPlan:
    choice: MmaChoice = gemm.plan
    rows, cols = planner.layout(gemm.c.buffer).axes[-2:]
    depth = gemm.a.extents[-2 if gemm.transpose_a else -1]
    single = depth == ir.Const(choice.k) and not choice.a_in_registers
    step = planner.constant("MMA_K", choice.k, f"depth of one mma instruction{', in bytes' if gemm.packed else ''}",
                            knob=False)
    planner.check_multiple(depth, step, "the depth of a block is made of whole mma steps")
    name = {n: planner.fresh(n, other) for n, other in _NAMES.items()}
    values = {
        **name,
        **_tile_values(planner, choice, rows, cols, name),
        "depth": depth,
        "single": single,
        "step": step,
        "helper": choice.helper,
        "clear": gemm.clear,
        "a_registers": choice.a_registers,
        "b_registers": choice.b_registers,
        "c": gemm.c.buffer.name,
        "c_lead": "[0]" * (len(gemm.c.extents) - 2),
    }
    _check_rows(planner, gemm, choice)
    k = ir.Const(0) if single else _var(name["k"])
    values["load_a"] = _load_a(planner, gemm, choice, rows, k, name)
    values["load_b"] = _load_b(gemm, choice, cols, k, name)
    return OpPlan(
        "gemm_mma",
        values,
        choice.reason + "; " + values["load_a"].pop("why") + "; " + values["load_b"].pop("why"),
    )


def _tile_values(planner: Planner, choice: MmaChoice, rows: Axis, cols: Axis, name) -> dict:
    """The tiles of a warp: how many, and where the sums of one lie in the accumulator."""
    instruction = matrix_instruction(choice.helper)
    high, wide = instruction.m // 8, instruction.n // 4              # slots of an instruction's tile
    pieces = f"a warp's part is made of {instruction.m} x {16 if choice.pairs else instruction.n} pieces"
    for axis, size in ((rows, high), (cols, max(wide, 4) if choice.pairs else wide)):
        planner.check_multiple(ir.Var(axis.slots_name, kind="knob"), ir.Const(size), pieces)
    tiles_m = _tiles(planner, rows, "M", high, f"of {instruction.m} rows")
    tiles_n = _tiles(planner, cols, "N", wide, f"of {instruction.n} columns")
    first = arith.multiply(ir.Const(high), _var(name["i"]))
    return {
        "tiles_m": tiles_m,
        "tiles_n": tiles_n,
        "register": "double" if instruction.a.dtype.bits == 64 else "unsigned",
        "c_rows": [arith.add(first, ir.Const(row)) for row in range(high)],
        "c_col": arith.multiply(ir.Const(wide), _var(name["j"])),
    }


def _check_rows(planner: Planner, gemm: ir.Gemm, choice: MmaChoice) -> None:
    """The rows of the operands stay where their form needs them, whatever the knobs."""
    for region, form in ((gemm.a, choice.a_form), (gemm.b, choice.b_form)):
        if region.buffer.scope == "shared" and form in ROW_BYTES:
            least, reader = ROW_BYTES[form]
            size = arith.multiply(ir.Const(region.buffer.dtype.bytes), region.buffer.shape[-1])
            planner.check_multiple(size, ir.Const(least), f"rows start at multiples of {least} bytes, as {reader}")


def _tiles(planner: Planner, axis: Axis, letter: str, slots: int, what: str) -> ir.Var:
    """C_TILES_M: how many instruction tiles, of so many slots, a warp has along an axis."""
    stem = axis.slots_name.rpartition("_")[0]
    name = f"{stem}_TILES_{letter}"
    planner.constant(
        name,
        axis.slots // slots,
        f"mma tiles {what} in a warp's part",
        knob=False,
        expr=arith.divide(ir.Var(axis.slots_name, kind="knob"), ir.Const(slots)),
    )
    return ir.Var(name, kind="knob")


def _element(region: ir.Region, row: ir.Expr, col: ir.Expr) -> ir.Load:
    index = tuple(region.offsets[:-2]) + (
        arith.add(region.offsets[-2], row),
        arith.add(region.offsets[-1], col),
    )
    return ir.Load(region.buffer, index)


def _var(name: str) -> ir.Var:
    return ir.Var(name, int32, "loop")


def _lane_part(lane: str, divisor: int, modulus: int = 0) -> ir.Expr:
    of_lane = ir.Var(lane, int32, "thread")
    value = arith.divide(of_lane, divisor) if divisor > 1 else of_lane
    return arith.modulo(value, modulus) if modulus else value


def _place(axis: Axis, slot: ir.Expr, lane: str, of_row: bool) -> ir.Expr:
    """The first of 8 elements that a warp holds in a pair of slots, plus lane % 8: where one row of an
    8 x 8 matrix lies."""
    if of_row:  # row = slot * THREADS_M + warp row * 8 + lane % 8
        base = arith.multiply(slot, ir.Var(axis.count_name, kind="knob"))
        warp = ir.Call(f"device:warp_row<{axis.warps_name}>", (), int32)
    else:  # col = (slot / 2 * THREADS_N * 2) + warp col * 8
        base = arith.multiply(slot, arith.multiply(ir.Var(axis.count_name, kind="knob"), ir.Const(2)))
        warp = ir.Call(f"device:warp_col<{axis.warps_name}>", (), int32)
    return arith.add(base, arith.multiply(warp, ir.Const(8)))


def _load_a(planner: Planner, gemm: ir.Gemm, choice: MmaChoice, rows: Axis, k: ir.Expr, name) -> dict:
    i, lane = _var(name["i"]), name["lane"]
    if choice.a_in_registers:
        axes = planner.layout(gemm.a.buffer).axes
        alone = arith.binary("==", ir.Var(rows.warps_name, kind="knob"), ir.Const(1))
        planner.check(alone, f"a warp holds whole rows of {gemm.a.buffer.name}")
        return {
            "form": "registers",
            "buffer": gemm.a.buffer.name,
            "lead": "[0]" * (len(axes) - 2),
            "why": f"A is already in the registers of {gemm.a.buffer.name}",
        }
    size = gemm.a.buffer.dtype.bytes
    instruction = matrix_instruction(choice.helper)
    if instruction.call == "quad":
        row = coordinate(rows, arith.add(arith.multiply(ir.Const(2), i), _lane_part(lane, 2, 2)))
        return _of_quads(choice.a_form, gemm.a, not gemm.transpose_a, row, k, name, "A")
    if instruction.m == 8:
        row = arith.add(_place(rows, i, lane, True), _lane_part(lane, 4))
        return _by_lane(choice.a_form, gemm.a, not gemm.transpose_a, ir.Const(0), row, k, name, "A")
    if choice.a_form != "matrix":
        quarter = ir.Var(name["q"], int32, "thread")                      # counts from 0, as lanes do
        slot = arith.add(arith.multiply(ir.Const(2), i), arith.modulo(quarter, 2))
        row = arith.add(_place(rows, slot, lane, True), _lane_part(lane, 4))
        return _by_lane(choice.a_form, gemm.a, not gemm.transpose_a, arith.divide(quarter, 2), row, k, name, "A")
    slot = arith.add(arith.multiply(ir.Const(2), i), _lane_part(lane, 8, 2))
    helper = f"ldmatrix_x{choice.a_registers}"
    if not gemm.transpose_a:
        row = arith.add(_place(rows, slot, lane, True), _lane_part(lane, 1, 8))
        col = k if choice.a_registers == 2 else arith.add(k, arith.multiply(_lane_part(lane, 16), 16 // size))
        return _matrix(helper, gemm.a, row, col, "A by ldmatrix", name)
    depth = _lane_part(lane, 1, 8)
    if choice.a_registers == 4:
        depth = arith.add(arith.multiply(_lane_part(lane, 16), 8), depth)
    col = _place(rows, slot, lane, True)
    return _matrix(helper + "_transposed", gemm.a, arith.add(k, depth), col, "A by ldmatrix, transposed", name)


def _load_b(gemm: ir.Gemm, choice: MmaChoice, cols: Axis, k: ir.Expr, name) -> dict:
    j, lane = _var(name["j"]), name["lane"]
    size = gemm.b.buffer.dtype.bytes
    if matrix_instruction(choice.helper).call == "quad":
        return _quads_of_b(gemm, choice, cols, k, name)
    if choice.b_form != "matrix":
        col = arith.add(_place(cols, j, lane, False), _lane_part(lane, 4))
        half = _var(name["q"]) if choice.b_registers > 1 else ir.Const(0)
        return _by_lane(choice.b_form, gemm.b, gemm.transpose_b, half, col, k, name, "B")
    helper = f"ldmatrix_x{2 * choice.b_registers if choice.pairs else choice.b_registers}"
    tile = arith.add(j, _lane_part(lane, 8 * choice.b_registers, 2 if choice.b_registers == 1 else 0))
    tile = tile if choice.pairs else j                                   # else lanes of two tiles of 8 columns
    if gemm.transpose_b:
        row = arith.add(_place(cols, tile, lane, False), _lane_part(lane, 1, 8))
        col = k if choice.b_registers == 1 else arith.add(k, arith.multiply(_lane_part(lane, 8, 2), 16 // size))
        return _matrix(helper, gemm.b, row, col, "B by ldmatrix", name, choice.pairs)
    row = arith.add(k, _lane_part(lane, 1, 8 * choice.b_registers))
    col = _place(cols, tile, lane, False)
    return _matrix(helper + "_transposed", gemm.b, row, col, "B by ldmatrix, transposed", name, choice.pairs)


def _by_lane(form: str, region: ir.Region, along_depth: bool, half: ir.Expr, across: ir.Expr, k: ir.Expr, name,
             letter: str) -> dict:
    """Each lane loads its registers by itself, where ldmatrix cannot: `half` counts the registers along the
    depth, `across` is the row of A or the column of B."""
    size = region.buffer.dtype.bytes
    packed = max(1, 4 // size)
    depth = arith.add(arith.multiply(half, 4 * packed), arith.multiply(_lane_part(name["lane"], 1, 4), packed))
    depth = arith.add(k, depth)
    row, col = (across, depth) if along_depth else (depth, across)
    helper, pitch = _GATHERS.get(size, "load_register"), region.buffer.shape[-1]
    if form == "words" or size >= 4:
        helper, pitch = "" if size == 8 else "load_register", None
    elif along_depth:
        pitch = ir.Const(1)
    how = "by words of 4 bytes" if form == "words" else "element by element"
    loads = "lane_single" if half == ir.Const(0) else "lane"
    named = _element(region, _var(name["row"]), _var(name["col"]))
    return {"form": loads, "helper": helper, "pitch": pitch, "row": row, "col": col, "element": named,
            "why": f"{letter} {how}"}


def _quads_of_b(gemm: ir.Gemm, choice: MmaChoice, cols: Axis, k: ir.Expr, name) -> dict:
    """B of Volta's instruction: a lane has four steps of depth of a column, or four columns of one step."""
    lane = name["lane"]
    slot = arith.add(arith.multiply(ir.Const(4), _var(name["j"])), arith.multiply(_lane_part(lane, 16), ir.Const(2)))
    if gemm.transpose_b or choice.b_form == "column":
        col = coordinate(cols, arith.add(slot, _lane_part(lane, 1, 2)))
        return _of_quads(choice.b_form, gemm.b, gemm.transpose_b, col, k, name, "B")
    col = arith.multiply(arith.divide(coordinate(cols, slot), ir.Const(4)), ir.Const(4))
    row = arith.add(k, _lane_part(lane, 1, 4))
    return _matrix("load_registers_x2", gemm.b, row, col, "B by loads of 8 bytes along its rows", name)


def _of_quads(form: str, region: ir.Region, along_depth: bool, across: ir.Expr, k: ir.Expr, name,
              letter: str) -> dict:
    """An operand of Volta's instruction: each lane has four steps of depth of a row of A or a column of B."""
    if form == "quads":
        row, col = (across, k) if along_depth else (k, across)
        return _matrix("load_registers_x2", region, row, col, f"{letter} by loads of 8 bytes", name)
    depth = arith.add(k, arith.multiply(ir.Const(2), _var(name["q"])))
    row, col = (across, depth) if along_depth else (depth, across)
    return {"form": "lane", "helper": "gather_pair", "pitch": ir.Const(1) if along_depth else region.buffer.shape[-1],
            "row": row, "col": col, "element": _element(region, _var(name["row"]), _var(name["col"])),
            "why": f"{letter} element by element"}


def _matrix(helper: str, region: ir.Region, row: ir.Expr, col: ir.Expr, why: str, name, pairs: bool = False) -> dict:
    named = _element(region, _var(name["row"]), _var(name["col"]))
    return {"form": "matrix", "helper": helper, "row": row, "col": col, "element": named, "why": why, "pairs": pairs}
