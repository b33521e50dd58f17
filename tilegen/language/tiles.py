"""Operations on whole tiles: T.copy, T.fill, T.clear, T.gemm."""

from __future__ import annotations

import enum
from typing import Any

from tilegen import ir
from tilegen.errors import TilegenError
from tilegen.language.arithmetic import convert
from tilegen.language.builder import current, operation
from tilegen.language.nests import elementwise
from tilegen.language.regions import fit_extents
from tilegen.language.text import describe
from tilegen.language.values import as_expr, as_flag, as_number, as_region, is_number

EVICTION_POLICIES = ("evict_normal", "evict_first", "evict_last")


class GemmWarpPolicy(enum.Enum):
    """How T.gemm divides C among the warps: as squares, by rows only, or by columns only."""

    Square = "square"
    FullRow = "full_row"
    FullCol = "full_col"


def region_pair(name: str, first: tuple[str, Any], second: tuple[str, Any]) -> tuple[ir.Region, ir.Region]:
    """Two tiles of one shape, each given as (parameter name, value): an element on one side is an
    origin, which takes the extents of the other side."""
    builder = current()
    sides = [(value, f"{name}: {role}", builder.argument(role)) for role, value in (first, second)]
    origins = [isinstance(value, ir.Load) for value, _, _ in sides]
    full = [isinstance(v, ir.Load) and len(v.indices) == len(v.buffer.shape) for v, _, _ in sides]
    if all(full):
        raise TilegenError("TG0101", f"{name}: both sides are single elements, so that there is no extent",
                           builder.loc, "give one side as a tile or as a slice, or assign the element with =")
    if all(origins) or not any(origins):
        return tuple(as_region(*side) for side in sides)
    origin = 0 if origins[0] and (full[0] or not origins[1]) else 1
    other = as_region(*sides[1 - origin])
    placed = _placed(sides[origin], other, builder.numbers)
    return (placed, other) if origin == 0 else (other, placed)


def _placed(side, other: ir.Region, numbers) -> ir.Region:
    load, what, loc = side
    buffer, rank = load.buffer, len(load.buffer.shape)
    extents = fit_extents(other.extents, rank, numbers, loc, what)
    offsets = load.indices + (ir.Const(0),) * (rank - len(load.indices))
    return ir.Region(buffer, offsets, extents, loc=loc)


@operation(takes_tiles=True)
def copy(src, dst, *, coalesced_width=None, disable_tma=False, eviction_policy=None,
         prefer_instruction=None, loop_layout=None) -> None:
    """dst = src, elementwise, converted to dst's dtype; any pair of global, shared and fragment.

    Each side is a tile, a slice (`A[i:i + 16, :]`), or an element (`A[by * BM, ko * BK]`): an origin that
    takes the extents of the other side. What lies outside of a global tensor reads as zero and is not
    written. Extents of 1 may be dropped on either side. Raises TG0101 where the extents differ.
    eviction_policy is "evict_first" for what is read once and "evict_last" for what many blocks read: where the
    copy engine loads, the L2 cache is told. The other keywords are hints of TileLang kernels: the planner decides
    anew. Raises TG0111 for another policy.
    """
    builder = current()
    source, target = region_pair("T.copy", ("src", src), ("dst", dst))
    if eviction_policy not in (None, *EVICTION_POLICIES):
        raise TilegenError("TG0111", f"T.copy: eviction_policy is {eviction_policy!r}",
                           builder.argument("eviction_policy"), hint=f"one of {', '.join(EVICTION_POLICIES)}")
    if source.buffer.name in builder.safe_values:
        elementwise(target, source, lambda indices, value: ir.Store(
            target.buffer, indices, convert(value, target.buffer.dtype), loc=builder.loc))
        return
    options = {"coalesced_width": coalesced_width, "prefer_instruction": prefer_instruction,
               "eviction_policy": eviction_policy}
    given = tuple((name, value) for name, value in options.items() if value is not None)
    builder.emit(ir.Copy(source, target, given, loc=builder.loc))


@operation(takes_tiles=True)
def fill(buffer, value) -> None:
    """Every element of a tile or slice = `value`, converted to its dtype."""
    builder = current()
    region = as_region(buffer, "T.fill: buffer", builder.argument("buffer"))
    dtype = region.buffer.dtype
    filled = convert(value, dtype) if is_number(value) else as_expr(value, dtype, builder.argument("value"))
    builder.emit(ir.Fill(region, filled, loc=builder.loc))


@operation(takes_tiles=True)
def clear(buffer) -> None:
    """Every element of a tile or slice = 0."""
    builder = current()
    region = as_region(buffer, "T.clear: buffer", builder.argument("buffer"))
    builder.emit(ir.Fill(region, convert(0, region.buffer.dtype), loc=builder.loc))


@operation(takes_tiles=True)
def gemm(A, B, C, transpose_A=False, transpose_B=False, policy=GemmWarpPolicy.Square,
         clear_accum=False, k_pack=1, mbar=None) -> None:
    """C += A @ B, accumulated in C's dtype; with clear_accum C = A @ B.

    A is (M, K), or (K, M) with transpose_A; B is (K, N), or (N, K) with transpose_B; C is a fragment (M, N).
    A and B are shared tiles or fragments of one dtype. Raises TG0104 where the sizes do not fit, TG0102
    for dtypes that differ, TG0103 for a wrong scope. k_pack is a hint for AMD targets. mbar, the mbarrier of a product
    in tensor memory, is TG0204: products end before the next statement.
    """
    builder = current()
    if mbar is not None:
        raise TilegenError("TG0204", "T.gemm: mbar is for products in tensor memory, which no target has here",
                           builder.argument("mbar"), "leave it out: the product is complete for the next statement")
    regions = [as_region(value, f"T.gemm: {name}", builder.argument(name))
               for name, value in (("A", A), ("B", B), ("C", C))]
    if not isinstance(policy, GemmWarpPolicy):
        raise TilegenError("TG0005", f"T.gemm: policy cannot be {describe(policy)}",
                           builder.argument("policy"),
                           "write T.GemmWarpPolicy.Square, FullRow or FullCol")
    as_number(k_pack, "k_pack", builder.argument("k_pack"))
    builder.emit(ir.Gemm(*regions, as_flag(transpose_A, "transpose_A", builder.argument("transpose_A")),
                         as_flag(transpose_B, "transpose_B", builder.argument("transpose_B")),
                         as_flag(clear_accum, "clear_accum", builder.argument("clear_accum")),
                         policy.value, loc=builder.loc))
