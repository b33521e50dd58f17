"""Copies and fills: packing into panels by a function of the file, everything else as loops."""

from __future__ import annotations

from dataclasses import replace

from tilegen import arith, ir
from tilegen.dtypes import DType
from tilegen.passes.cpu_bounds import has_limit, region_limit
from tilegen.passes.cpu_loops import plan_nest
from tilegen.passes.cpu_planner import CpuPlanner, Scope
from tilegen.passes.cpu_tiles import MR, TileLayout
from tilegen.plan import Nest, NestPlan, OpPlan
from tilegen.strided import has_rows, strides_of
from tilegen.vectors import VECTOR_ELEMENTS, VECTORS

_WORDS = ("slice", "depth", "row", "col")


def dimensions(region: ir.Region) -> list[int]:
    """The dimensions of a region that are longer than 1."""
    return [d for d, extent in enumerate(region.extents) if extent != ir.Const(1)]


def plan_fill(planner: CpuPlanner, scope: Scope, fill: ir.Fill) -> ir.Stmt:
    """T.fill and T.clear."""
    buffer = fill.dst.buffer
    scope.forget({buffer.name})
    whole = buffer.name in planner.layouts and _covers(fill.dst) and not isinstance(buffer, ir.Alias)
    if whole and not _reads(fill.value):
        return replace(fill, plan=fill_storage(planner, scope, buffer, fill.value))
    vars, extents, index = _walk(planner, fill.dst, arith.names(fill.value))
    body = (ir.Store(buffer, index(fill.dst), fill.value, loc=fill.loc),)
    return replace(fill, plan=plan_nest(planner, scope, vars, extents, body))


def fill_storage(planner: CpuPlanner, scope: Scope, buffer: ir.Buffer, value: ir.Expr) -> OpPlan:
    """One value in all of a tile; of an accumulator, only in the register tiles that somebody reads."""
    layout = planner.layouts[buffer.name]
    value = planner.rounded(planner.scalar(value), buffer)
    tile = ir.Load(layout.storage, ())
    needed = needed_extents(planner, scope, buffer) if layout.kind == "tiles" else ()
    if len(buffer.shape) == 2 and needed not in ((), buffer.shape):
        return OpPlan("fill_tiles", {"tile": tile, "value": value, "rows": needed[0], "columns": needed[1]},
                      "the register tiles that reach into a tensor")
    return OpPlan("fill", {"tile": tile, "value": value}, "the whole tile, in the order of memory")


def needed_extents(planner: CpuPlanner, scope: Scope, buffer: ir.Buffer) -> tuple[ir.Expr, ...]:
    """(rows, columns) of a tile that somebody reads, by name."""
    result = []
    for d, word in ((-2, "rows"), (-1, "columns")):
        limit = planner.needs.limit((buffer.name, d))
        extent = buffer.shape[d]
        if limit is not None:
            extent = planner.count(scope, arith.binary("min", extent, limit), word, f"{buffer.name}_{word}")
        result.append(extent)
    return tuple(result)


def _reads(value: ir.Expr) -> bool:
    return any(isinstance(n, ir.Load) for n in ir.walk(value))


def _covers(region: ir.Region) -> bool:
    return all(o == ir.Const(0) for o in region.offsets) and region.extents == region.buffer.shape


# ---- Copies --------------------------------------------------------------------------------------
def plan_copy(planner: CpuPlanner, scope: Scope, copy: ir.Copy) -> ir.Stmt:
    """T.copy: a packing function where a tensor fills panels, else a nest of loops."""
    scope.forget({copy.dst.buffer.name})
    if _packs(planner, copy):
        return replace(copy, plan=_packing(planner, scope, copy))
    return replace(copy, plan=copy_nest(planner, scope, copy.src, copy.dst, copy.loc))


def copy_nest(planner: CpuPlanner, scope: Scope, src: ir.Region, dst: ir.Region, loc) -> NestPlan:
    """The copy as loops over the elements of `dst`."""
    taken = {name for r in (src, dst) for o in r.offsets for name in arith.names(o)}
    vars, extents, index = _walk(planner, dst, taken)
    value = ir.Load(src.buffer, index(src), loc=loc)
    if src.buffer.dtype != dst.buffer.dtype:
        value = ir.Cast(value, dst.buffer.dtype)
    spare = planner.spare(dst, dimensions(dst), vars)
    return plan_nest(planner, scope, vars, extents, (ir.Store(dst.buffer, index(dst), value, loc=loc),), spare)


def _walk(planner: CpuPlanner, region: ir.Region, taken: set[str]):
    """Loop variables and extents over a region, and the function that gives the indices of a region of
    that shape."""
    dims = dimensions(region) or [len(region.extents) - 1]
    words = ("col",) if len(dims) == 1 else _WORDS[-len(dims):] if len(dims) <= len(_WORDS) else None
    if words is None:
        words = tuple(f"i{d}" for d in range(len(dims)))
    vars = tuple(ir.Var(planner.fresh(w, f"tile_{w}"), kind="loop") for w in words)
    extents = tuple(region.extents[d] for d in dims)

    def index(other: ir.Region) -> tuple[ir.Expr, ...]:
        result = list(other.offsets)
        for var, d in zip(vars, dimensions(other) or [len(other.extents) - 1]):
            result[d] = arith.add(other.offsets[d], var)
        return tuple(result)
    return vars, extents, index


# ---- Packing -------------------------------------------------------------------------------------
def _packs(planner: CpuPlanner, copy: ir.Copy) -> bool:
    """Whether the copy brings a block of a tensor, with its last dimension, into whole panels."""
    layout = planner.layouts.get(copy.dst.buffer.name)
    dims = dimensions(copy.src)
    return (layout is not None and layout.kind == "panels" and len(copy.dst.buffer.shape) == 2
            and copy.src.buffer.scope == "global" and has_rows(copy.src.buffer)
            and _covers(copy.dst) and not isinstance(copy.src.buffer, ir.Alias)
            and dims[-1:] == [len(copy.src.buffer.shape) - 1] and len(dims) == 2
            and not _uncertain(planner, copy.src, dims))


def _uncertain(planner: CpuPlanner, src: ir.Region, dims: list[int]) -> bool:
    """Whether the block may begin outside of the tensor: at a negative index, or, in a dimension that
    it does not run along, past the end; or end where no expression without reads of memory says."""
    for d, (offset, extent) in enumerate(zip(src.offsets, src.buffer.shape)):
        if not planner.known.natural(offset) or (d in dims and not has_limit(planner.known, src, d)):
            return True
        if d not in dims and not planner.known.below(offset, extent):
            return True
    return False


def _packing(planner: CpuPlanner, scope: Scope, copy: ir.Copy) -> OpPlan:
    src, buffer = copy.src, copy.dst.buffer
    layout = planner.layouts[buffer.name]
    row_dim, col_dim = dimensions(src)
    stem = buffer.name.removesuffix("_shared").removesuffix("_smem").removesuffix("_local")
    inside = tuple(_existing(planner, scope, src, d, e, (word, f"{stem}_{word}", f"{buffer.name}_{word}"))
                   for d, e, word in zip((row_dim, col_dim), buffer.shape, _roles(layout)))
    whole = all(i == e for i, e in zip(inside, buffer.shape))
    clears = not whole and not _only_gemms(planner.kernel.body, copy)
    if not clears:
        if not any(isinstance(n, ir.Alias) and n.base == buffer for n in ir.walk(planner.kernel.body)):
            scope.inside[buffer.name] = inside
    zero = ir.Const(0.0 if layout.storage.dtype.is_float else 0, layout.storage.dtype)
    clear = Nest(plan=fill_storage(planner, scope, buffer, zero)) if clears else None
    by_rows = layout.split == -2
    pitch = strides_of(src.buffer)[row_dim]
    storage = ir.Load(layout.storage, ())
    helper = "pack_rows" if by_rows else _column_helper(layout, src.buffer.dtype)
    values = {"helper": helper, "panels": storage,
              "corner": ir.Load(src.buffer, src.offsets), "pitch": pitch, "rows": inside[0], "columns": inside[1],
              "clear": clear}
    order = "rows become columns of" if by_rows else "rows stay rows in"
    return OpPlan("pack", values, f"{order} panels of {layout.width.name}"
                  + ("" if src.buffer.dtype == layout.storage.dtype else f", converted to {layout.storage.dtype}"))


def _column_helper(layout: TileLayout, source: DType) -> str:
    """The function that packs columns: in vectors where panels are made of these, and the type has a load."""
    vector = VECTORS[layout.storage.dtype]
    if layout.width == MR or source.name not in VECTOR_ELEMENTS[vector.name]:
        return "pack_single_columns"
    return f"pack_columns<load_{source}>"


def _roles(layout: TileLayout) -> tuple[str, str]:
    """What the two dimensions of a gemm operand are called."""
    cut = "rows" if layout.width == MR else "columns"
    return (cut, "depth") if layout.split == -2 else ("depth", cut)


def _existing(planner: CpuPlanner, scope: Scope, src: ir.Region, d: int, extent: ir.Expr, words) -> ir.Expr:
    """How many of the `extent` rows (columns) of a block exist, by name."""
    limit = region_limit(planner.known, src, d)
    return extent if limit is None else planner.count(scope, arith.binary("min", extent, limit), *words)


def _only_gemms(body: tuple[ir.Stmt, ...], copy: ir.Copy) -> bool:
    """Whether what lies outside of the tensor need not be cleared: the copy is the only write of the
    tile, and only gemms read it, whole, later in the statements of the same block, so that they know
    how much of it exists."""
    name = copy.dst.buffer.name
    if any(isinstance(n, ir.Alias) and name in (n.name, n.base.name) for n in ir.walk(body)):
        return False
    writers = [n for n in ir.walk(body) if _writes(n, name)]
    readers = [n for n in ir.walk(body) if _reads_tile(n, name)]
    after = _after(body, copy)
    return writers == [copy] and after is not None and all(
        isinstance(r, ir.Gemm) and any(r is n for n in ir.walk(after)) and _whole_operand(r, name) for r in readers)


def _whole_operand(gemm: ir.Gemm, name: str) -> bool:
    return all(r.buffer.name != name or (r.extents == r.buffer.shape and all(o == ir.Const(0) for o in r.offsets))
               for r in (gemm.a, gemm.b))


def _writes(n: ir.Node, name: str) -> bool:
    match n:
        case ir.Copy() | ir.Fill() | ir.Reduce() | ir.Scan():
            return n.dst.buffer.name == name
        case ir.Gemm():
            return n.c.buffer.name == name
        case ir.Store() | ir.Atomic():
            return n.buffer.name == name
    return False


def _reads_tile(n: ir.Node, name: str) -> bool:
    match n:
        case ir.Copy() | ir.Reduce() | ir.Scan():
            return n.src.buffer.name == name
        case ir.Gemm():
            return name in (n.a.buffer.name, n.b.buffer.name)
        case ir.Load():
            return n.buffer.name == name
        case ir.Print():
            return any(isinstance(v, ir.Region) and v.buffer.name == name for v in n.values)
    return False


def _after(body: tuple[ir.Stmt, ...], copy: ir.Copy) -> tuple[ir.Stmt, ...] | None:
    """The statements behind `copy` in the list that holds it."""
    for position, s in enumerate(body):
        if s is copy:
            return body[position + 1:]
        for field in ("body", "then", "otherwise"):
            inner = getattr(s, field, None)
            found = _after(inner, copy) if isinstance(inner, tuple) else None
            if found is not None:
                return found
    return None


