"""plan_gemm: the scalar gemm, an outer product of registers per step of depth.

Precondition: layouts inferred, operands in shared memory. Effect: each Gemm has an OpPlan.
An operand that is contiguous along the depth is loaded as short vectors along it, once for several
steps; one that is contiguous along its rows (columns) is loaded for each step.
Before: T.gemm(A_shared, B_shared, C_local)
After:  for k: load a[C_ROWS][DEPTH_VEC]; for kk: load b[C_COLS]; C_local[r][c] += a[r][kk] * b[c]
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from tilegen import arith, ir
from tilegen.dtypes import DType
from tilegen.layout import Axis
from tilegen.passes.place_annotated import stay_together
from tilegen.passes.planner import Planner, coordinate
from tilegen.plan import Loop, Move, Nest, NestPlan, OpPlan
from tilegen.targets.base import Target


@dataclass(frozen=True)
class Operand:
    """One side of the product: a[r] or a[r][kk] in registers."""

    registers: ir.Buffer
    along_k: bool
    load: NestPlan


def plan_gemm(kernel: ir.Kernel, target: Target) -> ir.Kernel:
    planner = Planner(kernel, target)
    return planner.finish(
        ir.rewrite(
            kernel.body,
            lambda n: replace(n, plan=_gemm(planner, n)) if isinstance(n, ir.Gemm) and n.plan is None else None,
        )
    )


def _depth_name(planner: Planner, rows: Axis, width: int) -> str:
    """DEPTH_VEC, or S_DEPTH_VEC where another product has a width of its own."""
    taken = planner.constants.get("DEPTH_VEC")
    return "DEPTH_VEC" if taken is None or taken.value == width else rows.slots_name.replace("ROWS", "DEPTH_VEC")


def _gemm(planner: Planner, gemm: ir.Gemm) -> OpPlan:
    rows, cols = planner.layout(gemm.c.buffer).axes[-2:]
    depth = gemm.a.extents[-2 if gemm.transpose_a else -1]
    names = planner.slot_names((rows, cols), set())
    k = ir.Var(planner.fresh("k", "depth"), kind="loop")
    kk = ir.Var(planner.fresh("kk", "depth_in_vector"), kind="loop")
    width = _depth_width(
        planner,
        gemm,
        depth,
        max([rows.slots] * (not gemm.transpose_a) + [cols.slots] * gemm.transpose_b, default=1),
    )
    step: ir.Expr = ir.Const(1)
    if width > 1:
        step = planner.constant(_depth_name(planner, rows, width), width, "steps of depth that one load serves",
                                legal="1, 2 or 4")
        planner.check_multiple(depth, step, "the depth of a block is made of whole vectors")
    a_along, b_along = width > 1 and not gemm.transpose_a, width > 1 and gemm.transpose_b
    dtype = gemm.c.buffer.dtype.compute
    at = arith.add(k, kk) if width > 1 else k
    a = _operand(planner, gemm.a, "a", rows, names[0], k, at, a_along, gemm.transpose_a, step, dtype)
    b = _operand(planner, gemm.b, "b", cols, names[1], k, at, b_along, not gemm.transpose_b, step, dtype)
    template = "gemm_fma" if width > 1 else "gemm_fma_step"
    return OpPlan(
        template,
        _values(planner, gemm, a, b, names, k, kk, depth, step, dtype),
        _reason(a, b, rows, cols, width),
    )


# Registers for the part of one operand that is loaded along the depth. Measured on an H200 with 8 x 8 tiles:
# 16 leaves room to keep loads in flight; 32 is slower by 5 to 8 %.
_ALONG_REGISTERS = 16


def _depth_width(planner: Planner, gemm: ir.Gemm, depth: ir.Expr, slots: int) -> int:
    """Elements of depth in one load of an operand that is contiguous along it; 1 where none is."""
    along = [r for r, yes in ((gemm.a, not gemm.transpose_a), (gemm.b, gemm.transpose_b)) if yes]
    if not along:
        return 1
    width = along_width(slots)
    while width > 1 and any(
        (planner.value(depth) or 1) % width
        or (planner.value(r.buffer.shape[-1]) or 1) % width
        or planner.multiple_of(r.offsets[-1]) % width
        or width * r.buffer.dtype.bytes > 16
        or not stay_together(r.buffer, width)
        for r in along
    ):
        width //= 2
    return width


def along_width(slots: int) -> int:
    """Elements of depth that a thread with `slots` rows (or columns) loads at once, at most."""
    return max(w for w in (1, 2, 4) if w == 1 or w * slots <= _ALONG_REGISTERS)


def _operand(
    planner: Planner,
    region: ir.Region,
    name: str,
    axis: Axis,
    slot: str,
    k: ir.Var,
    at: ir.Expr,
    along_k: bool,
    k_first: bool,
    step: ir.Expr,
    dtype: DType,
) -> Operand:
    """How a thread loads its part of one operand: rows (or columns) by slot, depth by k."""
    loop = planner.slot_loop(axis, slot)
    position = coordinate(axis, loop.var)
    if axis.padded:  # slots beyond the tile read its last row again
        position = arith.binary(
            "min", position, arith.subtract(region.extents[-1 if k_first else -2], ir.Const(1))
        )
    slots = ir.Var(axis.slots_name, kind="knob")
    shape = (slots, step) if along_k else (slots,)
    registers = ir.Buffer(name, shape, dtype, "local")
    depth = k if along_k else at
    pair = (depth, position) if k_first else (position, depth)
    index = tuple(region.offsets[:-2]) + tuple(arith.add(o, i) for o, i in zip(region.offsets[-2:], pair))
    source = ir.Load(region.buffer, index)
    if along_k:
        body: ir.Stmt = Move("load_vector", ir.Load(registers, (loop.var, ir.Const(0))), source, step)
    elif axis.vector > 1 and k_first and _row_vectors(planner, region, axis):
        step_name = ir.Var(axis.vector_name, kind="knob")
        loop = replace(loop, step=step_name)
        body = Move("load_vector", ir.Load(registers, (loop.var,)), source, step_name)
    else:
        body = ir.Store(registers, (loop.var,), source)
    return Operand(registers, along_k, NestPlan((loop,), (body,)))


def _row_vectors(planner: Planner, region: ir.Region, axis: Axis) -> bool:
    """Whether runs of the axis' width are aligned in the operand's rows."""
    pitch = planner.value(region.buffer.shape[-1]) or 1
    return (
        pitch % axis.vector == 0
        and planner.multiple_of(region.offsets[-1]) % axis.vector == 0
        and axis.vector * region.buffer.dtype.bytes <= 16
        and stay_together(region.buffer, axis.vector)
    )


def _values(planner: Planner, gemm: ir.Gemm, a: Operand, b: Operand, names, k, kk, depth, step, dtype) -> dict:
    c_axes = planner.layout(gemm.c.buffer).axes
    r, c = (ir.Var(n, kind="loop") for n in names)
    index = [ir.Const(0)] * len(c_axes)
    index[-2:] = [r, c]
    accumulator = ir.Load(gemm.c.buffer, tuple(index))

    def element(operand: Operand, slot: ir.Expr) -> ir.Load:
        return ir.Load(operand.registers, (slot, kk) if operand.along_k else (slot,))

    product = arith.binary("*", element(a, r), element(b, c))
    update = ir.Store(gemm.c.buffer, accumulator.indices, arith.binary("+", accumulator, product))
    loops = tuple(planner.slot_loop(axis, name) for axis, name in zip(c_axes[-2:], names))
    clear = tuple(_clear(gemm, loops, accumulator, dtype)) if gemm.clear else ()
    outer = [x for x in (a, b) if x.along_k]
    inner = [x for x in (a, b) if not x.along_k]
    return {
        "k": k,
        "kk": kk,
        "depth": depth,
        "step": step,
        "clear": clear,
        "outer": [x.registers for x in outer],
        "load_outer": _nests(outer),
        "inner": [x.registers for x in inner],
        "load_inner": _nests(inner),
        "multiply": (Nest(plan=_snake(planner, loops, update, c_axes[-1].slots > 1)),),
    }


def _snake(planner: Planner, loops: tuple[Loop, Loop], update: ir.Store, wide: bool) -> NestPlan:
    """The products of a step, walking back on every other row: neighbouring instructions share an
    operand, so that fewer read registers of one bank. Measured on an H200: 0.7 to 3 % faster."""
    rows, cols = loops
    if not wide:
        return NestPlan(loops, (update,))
    step = ir.Var(planner.fresh("i", "turn"), kind="loop")
    back = arith.subtract(arith.subtract(cols.stop, ir.Const(1)), step)
    column = ir.Select(arith.binary("==", arith.modulo(rows.var, 2), ir.Const(0)), step, back, step.dtype)
    inner = replace(cols, var=step, lets=(ir.Let(cols.var, column),))
    return NestPlan((rows, inner), (update,))


def _clear(gemm: ir.Gemm, loops: tuple[Loop, ...], accumulator: ir.Load, dtype: DType):
    zero = ir.Const(0.0 if dtype.is_float else 0, dtype)
    yield Nest(plan=NestPlan(loops, (ir.Store(gemm.c.buffer, accumulator.indices, zero),)))


def _nests(operands: list[Operand]) -> tuple[Nest, ...]:
    return tuple(Nest(plan=operand.load) for operand in operands)


def _reason(a: Operand, b: Operand, rows: Axis, cols: Axis, width: int) -> str:
    text = f"scalar multiply-add on a {rows.slots} x {cols.slots} register tile of each thread"
    along = " and ".join(x.registers.name for x in (a, b) if x.along_k)
    return text + (
        f"; {along} loaded {width} steps of depth at a time" if along else "; one load per step of depth"
    )
