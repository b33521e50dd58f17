"""Gemms as register tiles: MR x NR accumulators in vector registers, operands in panels.

An operand or accumulator that does not lie as the kernel of registers reads it (a part of a buffer,
another order, a tensor in global memory) is first copied into panels of the gemm's own.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from tilegen import arith, ir
from tilegen.dtypes import float32, float64, int32
from tilegen.errors import TilegenError
from tilegen.passes import cpu_tiles
from tilegen.passes.cpu_copies import copy_nest, fill_storage, needed_extents
from tilegen.passes.cpu_layouts import Wish, gemm_dtype, whole_along
from tilegen.passes.cpu_loops import plan_nest
from tilegen.passes.cpu_planner import CpuPlanner, Scope
from tilegen.passes.cpu_tiles import MR, NR, TileLayout, quotient
from tilegen.plan import Nest, NestPlan, OpPlan

KERNELS = {float32: "multiply", float64: "multiply_float64", int32: "multiply_int32"}


@dataclass(frozen=True)
class Operand:
    """A tile in the order of the register kernel. `before` brings it there, `after` takes it back."""

    region: ir.Region
    layout: TileLayout
    before: tuple[ir.Stmt, ...] = ()
    after: tuple[ir.Stmt, ...] = ()


def plan_gemm(planner: CpuPlanner, scope: Scope, gemm: ir.Gemm) -> ir.Stmt:
    """T.gemm by register tiles, or as three loops for a type that they do not have."""
    dtype = gemm.c.buffer.dtype.compute
    main = _register_type(planner)
    if dtype != main:
        scope.forget({gemm.c.buffer.name})
        return replace(gemm, plan=_plain(planner, scope, gemm, main))
    a = _operand(planner, scope, gemm.a, ("panels", -1 if gemm.transpose_a else -2, "MR"))
    b = _operand(planner, scope, gemm.b, ("panels", -2 if gemm.transpose_b else -1, "NR"))
    c = _operand(planner, scope, gemm.c, ("tiles", 0, ""))
    rows, depth = _extents(scope, gemm.a, gemm.transpose_a)
    depth_b, columns = _extents(scope, gemm.b, gemm.transpose_b)
    depth = depth_b if depth in gemm.a.extents else depth
    if len(gemm.c.buffer.shape) == 2 and not c.before:
        needed = needed_extents(planner, scope, gemm.c.buffer)
        rows, columns = (_least(x, n, e) for x, n, e in zip((rows, columns), needed, gemm.c.extents))
    scope.forget({gemm.c.buffer.name})
    row, col = (ir.Var(planner.fresh(w, f"tile_{w}"), kind="loop") for w in ("row", "col"))
    before = a.before + b.before + (_clear(planner, scope, gemm, c) or c.before)
    values = {"kernel": KERNELS[dtype], "row": row, "col": col, "rows": rows, "columns": columns, "depth": depth,
              "a": _panel(planner, a, row), "a_start": _start(a), "b": _panel(planner, b, col), "b_start": _start(b),
              "c": _tile(c, row, col), "before": before, "after": c.after}
    packed = [name for name, o in (("A", a), ("B", b), ("C", c)) if o.before]
    reason = f"register tiles of {planner.env['MR']} x {planner.env['NR']} {dtype}" + (
        f"; {' and '.join(packed)} packed for this gemm" if packed else "")
    return replace(gemm, plan=OpPlan("gemm", values, reason))


def _register_type(planner: CpuPlanner):
    return gemm_dtype([n for n in ir.walk(planner.kernel.body) if isinstance(n, ir.Gemm)])


def _extents(scope: Scope, region: ir.Region, transposed: bool) -> tuple[ir.Expr, ir.Expr]:
    """(rows, columns) of op(region) that are not certainly zero."""
    pair = region.extents[-2:]
    if region.extents == region.buffer.shape and len(region.extents) == 2:
        pair = scope.inside.get(region.buffer.name, pair)
    return (pair[1], pair[0]) if transposed else (pair[0], pair[1])


def _least(existing: ir.Expr, needed: ir.Expr, extent: ir.Expr) -> ir.Expr:
    """The smaller of two counts, of which one may be the whole extent."""
    if existing in (needed, extent):
        return needed
    return existing if needed == extent else arith.binary("min", existing, needed)


def _clear(planner: CpuPlanner, scope: Scope, gemm: ir.Gemm, c: Operand) -> tuple[ir.Stmt, ...]:
    """c = 0 before the product, for c = a @ b."""
    if not gemm.clear:
        return ()
    zero = ir.Const(0.0 if c.layout.storage.dtype.is_float else 0, c.layout.storage.dtype)
    if len(c.layout.buffer.shape) == 2:
        plan = fill_storage(planner, scope, c.layout.buffer, zero)
        return (Nest(plan=plan),)
    vars = tuple(ir.Var(planner.fresh(w), kind="loop") for w in ("row", "col"))
    index = (*c.region.offsets[:-2], *vars)
    return (Nest(plan=plan_nest(planner, Scope(), vars, c.region.extents[-2:],
                                (ir.Store(c.region.buffer, index, zero),))),)


# ---- Operands ------------------------------------------------------------------------------------
def _operand(planner: CpuPlanner, scope: Scope, region: ir.Region, wish: Wish) -> Operand:
    """`region` where it is, if its layout is the one wished for, else a packed copy."""
    layout = planner.layouts.get(region.buffer.name)
    if layout and (layout.kind, layout.split if layout.kind == "panels" else 0) == wish[:2] and (
            layout.kind == "tiles" or layout.width.name == wish[2]) and whole_along(region, wish):
        return Operand(region, layout)
    return _packed(planner, scope, region, wish)


def _packed(planner: CpuPlanner, scope: Scope, region: ir.Region, wish: Wish) -> Operand:
    main = _register_type(planner)
    extents = region.extents[-2:]
    if any(planner.value(e) is None for e in extents) or any(e != ir.Const(1) for e in region.extents[:-2]):
        raise TilegenError("TG0109", f"T.gemm: the size of {region.buffer.name} has to be known at compile time",
                           region.loc)
    layout = _scratch(planner, region.buffer, extents, wish, main)
    copy = ir.Region(layout.buffer, (ir.Const(0),) * 2, extents)
    before = Nest(plan=copy_nest(planner, scope, region, copy, region.loc))
    after = (Nest(plan=copy_nest(planner, scope, copy, region, region.loc)),) if wish[0] == "tiles" else ()
    return Operand(copy, layout, (before,), after)


def _scratch(planner: CpuPlanner, source: ir.Buffer, extents, wish: Wish, main) -> TileLayout:
    """Panels of the gemm's own, for `source` or a part of it: one buffer for all gemms that want the same."""
    kind, split, width = wish
    word = "tiles" if kind == "tiles" else "panels"
    wanted = [f"{source.name}_{word}", f"{source.name}_{'row' if split == -2 else 'column'}_{word}",
              f"{source.name}_part_{word}"]
    for layout in planner.scratch:
        if layout.buffer.shape == extents and layout.buffer.name in wanted and layout.kind == kind \
                and (kind == "tiles" or (layout.split, layout.width.name) == (split, width)):
            return layout
    buffer = ir.Buffer(planner.fresh(*wanted), extents, main, "shared")
    planner.taken.add(buffer.name)
    if kind == "tiles":
        layout = cpu_tiles.tiles(buffer, main, planner.env, "scratch of gemms")
    else:
        layout = cpu_tiles.panels(buffer, main, split, MR if width == "MR" else NR, planner.env, "scratch of gemms")
    planner.scratch.append(layout)
    planner.layouts[buffer.name] = layout
    return layout


def _lead(operand: Operand) -> tuple[ir.Expr, ...]:
    return operand.region.offsets[:-2]


def _panel(planner: CpuPlanner, operand: Operand, at: ir.Expr) -> ir.Load:
    """The panel that holds row (column) `at`, from the first step of depth on."""
    return ir.Load(operand.layout.storage, (*_lead(operand), quotient(at, operand.layout.width)))


def _start(operand: Operand) -> ir.Expr | None:
    """The first step of depth, where it is not 0."""
    offset = operand.region.offsets[-1 if operand.layout.split == -2 else -2]
    return None if offset == ir.Const(0) else offset


def _tile(operand: Operand, row: ir.Expr, col: ir.Expr) -> ir.Load:
    return ir.Load(operand.layout.storage, (*_lead(operand), quotient(row, MR), quotient(col, NR)))


# ---- Other types ---------------------------------------------------------------------------------
def _plain(planner: CpuPlanner, scope: Scope, gemm: ir.Gemm, main) -> NestPlan:
    """Three loops: C[i, j] += A[i, k] * B[k, j]."""
    vars = tuple(ir.Var(planner.fresh(w, f"tile_{w}"), kind="loop") for w in ("row", "col"))
    k = ir.Var(planner.fresh("k", "step"), kind="loop")
    dtype = gemm.c.buffer.dtype.compute
    row, col = vars

    def element(region: ir.Region, first: ir.Expr, second: ir.Expr) -> ir.Load:
        place = tuple(arith.add(o, i) for o, i in zip(region.offsets[-2:], (first, second)))
        return ir.Load(region.buffer, (*region.offsets[:-2], *place))

    def factor(load: ir.Load) -> ir.Expr:
        return load if load.dtype == dtype else ir.Cast(load, dtype)
    a = factor(element(gemm.a, k, row) if gemm.transpose_a else element(gemm.a, row, k))
    b = factor(element(gemm.b, col, k) if gemm.transpose_b else element(gemm.b, k, col))
    c = element(gemm.c, row, col)
    depth = gemm.a.extents[-2 if gemm.transpose_a else -1]
    update = ir.Store(c.buffer, c.indices, ir.BinOp("+", c, ir.BinOp("*", a, b, dtype), dtype))
    zero = ir.Store(c.buffer, c.indices, ir.Const(0.0 if dtype.is_float else 0, dtype))
    body = ((zero,) if gemm.clear else ()) + (ir.For("serial", k, ir.Const(0), depth, ir.Const(1), (update,)),)
    nest = plan_nest(planner, scope, vars, gemm.c.extents[-2:], body)
    why = f"the register tile of this kernel holds {main}" if main else "the register tile has no such type"
    return replace(nest, reason=f"three plain loops in {dtype}: {why}")
