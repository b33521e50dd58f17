"""What one thread does among those of its warp: lanes, shuffles, votes. For code that uses thread indices."""

from __future__ import annotations

from tilegen import ir
from tilegen.dtypes import DType, bool_, uint32, uint64
from tilegen.errors import TilegenError
from tilegen.language.builder import current, operation
from tilegen.language.text import describe
from tilegen.language.values import as_condition, as_expr, as_index


def _call(name: str, arguments: tuple[ir.Expr, ...], dtype: DType, result: str) -> ir.Expr:
    """The call, evaluated here by all threads: no guard of the statement that uses it may be around it."""
    builder = current()
    if any(block.kind == "parallel" for block in builder.blocks):
        raise TilegenError("TG0006", f"T.{name} inside of T.Parallel, which says nothing of lanes", builder.loc,
                           "use T.get_thread_binding, or T.reduce_* for a whole tile")
    return builder.let(result, ir.Call(name, arguments, dtype, loc=builder.loc))


def _shuffle(name: str, value, places: tuple = ()) -> ir.Expr:
    x = as_expr(value, loc=current().argument("value"))
    if x.dtype == bool_:
        raise TilegenError("TG0102", f"T.{name} takes numbers, not {describe(x)}", current().argument("value"),
                           "T.cast it to int32, or use T.ballot_sync")
    dtype = x.dtype.compute
    x = x if x.dtype == dtype else ir.Cast(x, dtype)
    return _call(name, (x, *(as_index(place) for place in places)), dtype, "received")


@operation()
def get_lane_idx() -> ir.Var:
    """The number of this thread in its warp (wave), 0 to 31 or 63."""
    return ir.Var("thread_lane", kind="thread")


@operation()
def get_warp_idx() -> ir.Var:
    """The number of this thread's warp (wave) in its block."""
    return ir.Var("thread_warp", kind="thread")


@operation()
def shfl_sync(value, lane) -> ir.Expr:
    """`value` of the lane number `lane`. All threads of the warp have to come this way. Raises TG0102 for bool."""
    return _shuffle("shfl_sync", value, (lane,))


@operation()
def shfl_xor(value, offset) -> ir.Expr:
    """`value` of the lane whose number differs in the bits of `offset`. As T.shfl_sync."""
    return _shuffle("shfl_xor", value, (offset,))


@operation()
def shfl_up(value, offset) -> ir.Expr:
    """`value` of the lane `offset` below; the own one where there is none. As T.shfl_sync."""
    return _shuffle("shfl_up", value, (offset,))


@operation()
def shfl_down(value, offset) -> ir.Expr:
    """`value` of the lane `offset` above; the own one where there is none. As T.shfl_sync."""
    return _shuffle("shfl_down", value, (offset,))


@operation()
def warp_reduce_sum(value) -> ir.Expr:
    """The sum of `value` over the lanes of the warp, in every lane. As T.shfl_sync."""
    return _shuffle("warp_reduce_sum", value)


@operation()
def warp_reduce_max(value) -> ir.Expr:
    """The maximum of `value` over the lanes of the warp, in every lane. As T.shfl_sync."""
    return _shuffle("warp_reduce_max", value)


@operation()
def warp_reduce_min(value) -> ir.Expr:
    """The minimum of `value` over the lanes of the warp, in every lane. As T.shfl_sync."""
    return _shuffle("warp_reduce_min", value)


@operation()
def any_sync(condition) -> ir.Expr:
    """Whether `condition` holds in any lane of the warp. All threads of the warp have to come this way."""
    return _call("any_sync", (as_condition(condition, current().argument("condition")),), bool_, "found")


@operation()
def all_sync(condition) -> ir.Expr:
    """Whether `condition` holds in all lanes of the warp. As T.any_sync."""
    return _call("all_sync", (as_condition(condition, current().argument("condition")),), bool_, "holds")


@operation()
def ballot_sync(condition) -> ir.Expr:
    """A bit for each lane of the warp in which `condition` holds: uint32 on cuda, uint64 on hip and maca."""
    builder = current()
    dtype = uint32 if builder.target == "cuda" else uint64
    return _call("ballot_sync", (as_condition(condition, builder.argument("condition")),), dtype, "lanes")
