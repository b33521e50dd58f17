"""cpu_layouts: where every tile lies in a thread's memory, and the register tile of the gemms.

Precondition: a checked kernel. Effect: `kernel.plan.layouts` has a TileLayout for every shared and
fragment buffer, `kernel.plan.constants` the register tile. Gemm operands become panels and
accumulators tiles where all gemms that use the buffer agree; what they do not agree on is packed
anew by the gemm.
Before: T.gemm(A_shared, B_shared, C_local)
After:  A_shared[BM / MR][BK][MR], B_shared[BN / NR][BK][NR], C_local[BM / MR][BN / NR][MR][NR]
"""

from __future__ import annotations

from dataclasses import replace

from tilegen import arith, ir
from tilegen.dtypes import DType, float32, float64, int32
from tilegen.errors import TilegenError
from tilegen.passes import cpu_tiles
from tilegen.passes.cpu_tiles import MR, NR, TileLayout
from tilegen.passes.ranges import knob_values
from tilegen.passes.slices import slice_checks
from tilegen.plan import Check, Constant, KernelPlan
from tilegen.targets.base import Target

LANES = {float32: ir.Var("LANES", kind="knob"), int32: ir.Var("LANES", kind="knob"),
         float64: ir.Var("DOUBLE_LANES", kind="knob")}
LANE_COUNTS = {float32: 8, int32: 8, float64: 4}
REGISTER_ROWS, REGISTER_VECTORS = 6, 2


def cpu_layouts(kernel: ir.Kernel, target: Target) -> ir.Kernel:
    gemms = [n for n in ir.walk(kernel.body) if isinstance(n, ir.Gemm)]
    dtype = gemm_dtype(gemms)
    env = knob_values(kernel)
    constants = _register_tile(gemms, dtype, env) if dtype else ()
    _refuse_names(kernel, constants)
    env |= {c.name: c.value for c in constants}
    wishes = _wishes([g for g in gemms if g.c.buffer.dtype.compute == dtype])
    buffers = {n.buffer.name: n.buffer for n in ir.walk(kernel.body)
               if isinstance(n, ir.Alloc) and n.buffer.scope in ("shared", "fragment")}
    aliased = {name for b in buffers.values() if isinstance(b, ir.Alias) for name in (b.name, b.base.name)}
    layouts = {name: cpu_tiles.rows(buffer, buffer.dtype, "in rows: the memory has two names") if name in aliased else
               _layout(buffer, wishes.get(name, ()), dtype, env) for name, buffer in buffers.items()}
    checks = (*_checks(layouts, env), *dict.fromkeys(slice_checks(kernel)))
    plan = KernelPlan(constants=constants, checks=checks, layouts=layouts,
                      notes=tuple((f"layout of {name}", layout.reason) for name, layout in layouts.items()))
    return replace(kernel, plan=plan)


def _refuse_names(kernel: ir.Kernel, constants: tuple[Constant, ...]) -> None:
    """TG0008 for a name of the kernel's that the file needs for its register tile, which its functions know."""
    own = {c.name: c.comment for c in constants}
    for node in (*kernel.knobs, *kernel.sizes, *ir.walk(kernel.body)):
        if isinstance(node, (ir.Knob, ir.Var, ir.Buffer)) and node.name in own:
            raise TilegenError("TG0008", f"{node.name} is what a C++ file with products calls the {own[node.name]}",
                               node.loc or kernel.loc, "choose another name")


def gemm_dtype(gemms: list[ir.Gemm]) -> DType | None:
    """The type that the register tile computes in: that of the first gemm that vectors can do."""
    return next((g.c.buffer.dtype.compute for g in gemms if g.c.buffer.dtype.compute in LANES), None)


def _register_tile(gemms: list[ir.Gemm], dtype: DType, env: dict) -> tuple[Constant, ...]:
    """MR x NV vectors of accumulators; fewer rows where no gemm has that many."""
    heights = [arith.evaluate(g.c.extents[-2], env) or REGISTER_ROWS for g in gemms if len(g.c.extents) > 1]
    widths = [arith.evaluate(g.c.extents[-1], env) or 0 for g in gemms]
    lanes = LANES[dtype]
    count = LANE_COUNTS[dtype]
    height = min(REGISTER_ROWS, max(heights, default=REGISTER_ROWS))
    vectors = REGISTER_VECTORS if max(widths) > count else 1
    nv = ir.Var("NV", kind="knob")
    return (Constant("MR", height, "rows of the register tile", "1 to 14", knob=True),
            Constant("NV", vectors, "vectors across the register tile", "MR * NV + NV + 1 <= 16", knob=True),
            lanes_constant(dtype),
            Constant("NR", vectors * count, "columns of the register tile", expr=arith.multiply(nv, lanes)))


def lanes_constant(dtype: DType) -> Constant:
    """How many elements of a type one vector holds."""
    bits = dtype.bits
    return Constant(LANES[dtype].name, LANE_COUNTS[dtype], f"elements of {bits} bits in a vector of 32 bytes")


# ---- What the gemms wish ---------------------------------------------------------------------------
Wish = tuple[str, int, str]              # kind, split, name of the width


def _wishes(gemms: list[ir.Gemm]) -> dict[str, set[Wish]]:
    """{buffer name: the layouts that gemms want for it}"""
    wishes: dict[str, set[Wish]] = {}
    for g in gemms:
        a, b = -1 if g.transpose_a else -2, -2 if g.transpose_b else -1
        for region, wish in ((g.a, ("panels", a, "MR")), (g.b, ("panels", b, "NR")), (g.c, ("tiles", 0, ""))):
            wishes.setdefault(region.buffer.name, set())
            if whole_along(region, wish):
                wishes[region.buffer.name].add(wish)
    return wishes


def whole_along(region: ir.Region, wish: Wish) -> bool:
    """Whether a region covers its buffer in the dimensions that the layout cuts, so that a gemm can
    read it in place: both of the last two for tiles, the cut one for panels, of which it may read the first."""
    if len(region.extents) < 2 or any(e != ir.Const(1) for e in region.extents[:-2]):
        return False
    if wish[0] == "panels":
        return region.offsets[wish[1]] == ir.Const(0)
    return all(region.offsets[d] == ir.Const(0) and region.extents[d] == region.buffer.shape[d] for d in (-2, -1))


def _layout(buffer: ir.Buffer, wishes: set[Wish], dtype: DType | None, env: dict) -> TileLayout:
    if not wishes or len(buffer.shape) < 2:
        return cpu_tiles.rows(buffer, buffer.dtype, "in rows, as it was declared")
    tiles = [w for w in wishes if w[0] == "tiles"]
    if tiles:
        others = "; as an operand it is packed anew" if len(wishes) > 1 else ""
        storage = dtype if buffer.dtype.compute == dtype else buffer.dtype
        return cpu_tiles.tiles(buffer, storage, env, "the accumulator of a gemm, in register tiles" + others)
    if len(wishes) > 1:
        return cpu_tiles.rows(buffer, buffer.dtype, "in rows: gemms read it in different orders and pack it")
    (_, split, width), = wishes
    what = "a gemm reads it column by column" if width == "MR" else "a gemm reads it row by row"
    stored = "" if buffer.dtype == dtype else f", stored as {dtype}: converted once, when it is written"
    reason = f"in panels of {width}: {what}{stored}"
    return cpu_tiles.panels(buffer, dtype, split, MR if width == "MR" else NR, env, reason)


def _checks(layouts: dict[str, TileLayout], env: dict) -> tuple[Check, ...]:
    """Extents that are whole numbers of register tiles now have to stay so."""
    checks: dict[Check, None] = {}
    if any(layout.kind != "rows" for layout in layouts.values()):
        nv = ir.Var("NV", kind="knob")
        registers = arith.add(arith.add(arith.multiply(MR, nv), nv), 1)
        fits = Check(arith.binary("<=", registers, ir.Const(16)), "the register tile fits in 16 vector registers")
        checks[fits] = None
    for layout in layouts.values():
        row, col = layout.buffer.shape[-2:] if layout.kind != "rows" else (None, None)
        pairs = {"rows": (), "tiles": ((row, MR), (col, NR)),
                 "panels": ((row if layout.split == -2 else col, layout.width),)}[layout.kind]
        for extent, width in pairs:
            if cpu_tiles.divides(extent, width, env):
                condition = arith.binary("==", arith.modulo(extent, width), ir.Const(0))
                checks[Check(condition, "a block is made of whole register tiles")] = None
    return tuple(checks)
