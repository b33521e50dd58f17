"""What one thread does among those of its warp: lanes, shuffles, votes. For code that uses thread indices."""

from __future__ import annotations

from collections.abc import Callable

from tilegen import arith, ir
from tilegen.dtypes import DType, bool_, uint32, uint64
from tilegen.errors import TilegenError
from tilegen.language.builder import current, operation
from tilegen.language.text import describe
from tilegen.language.values import as_condition, as_expr, as_index, as_number


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


_LANE = ir.Var("thread_lane", kind="thread")


def _refuse(name: str, value, wanted: tuple, help_text: str) -> None:
    if value not in wanted:
        raise TilegenError("TG0204", f"{name} cannot be {describe(value)} here", current().argument(name), help_text)


def _require_all(mask) -> None:
    """TG0204 for a mask that leaves lanes out."""
    _refuse("mask", current().number(mask) if mask is not None else None, (None, -1, 2**32 - 1),
            "leave it out: all lanes of the warp take part")


def _group(width) -> ir.Expr | None:
    """The number of lanes that a shuffle stays in; None for the whole warp. Raises TG0005."""
    if width is None:
        return None
    number = as_number(width, "width", current().argument("width"))
    if number not in (1, 2, 4, 8, 16, 32):
        raise TilegenError("TG0005", f"width is a power of two up to 32, not {number}", current().argument("width"),
                           "leave it out for the whole warp")
    return ir.Const(number)


@operation()
def get_lane_idx(warp_size=None) -> ir.Var:
    """The number of this thread in its warp (wave), 0 to 31 or 63. Raises TG0204 for a warp_size."""
    _refuse("warp_size", warp_size, (None,), "the target decides; T.get_thread_binding() % n counts in groups of n")
    return _LANE


@operation()
def get_warp_idx(warp_size=None) -> ir.Var:
    """The number of this thread's warp (wave) in its block. Raises TG0204 for a warp_size."""
    _refuse("warp_size", warp_size, (None,), "the target decides; T.get_thread_binding() // n counts groups of n")
    return ir.Var("thread_warp", kind="thread")


@operation()
def shfl_sync(value, lane, width=None, mask=None) -> ir.Expr:
    """`value` of the lane number `lane`; with width, of that lane among groups of so many lanes.

    All threads of the warp have to come this way. Raises TG0102 for bool, TG0005 for a width that is no power of two,
    TG0204 for a mask that leaves lanes out.
    """
    _require_all(mask)
    group, lane = _group(width), as_index(lane, current().argument("lane"))
    if group is not None:
        lane = arith.add(arith.subtract(_LANE, arith.modulo(_LANE, group)), arith.modulo(lane, group))
    return _shuffle("shfl_sync", value, (lane,))


@operation()
def shfl_xor(value, offset, width=None, mask=None) -> ir.Expr:
    """`value` of the lane whose number differs in the bits of `offset`; the own one where that lane is outside of a
    group of width lanes. As T.shfl_sync."""
    _require_all(mask)
    return _inside("shfl_xor", value, offset, width, lambda by, at, group: arith.less(by, group))


@operation()
def shfl_up(value, offset, width=None, mask=None) -> ir.Expr:
    """`value` of the lane `offset` below; the own one where there is none, in a group of width lanes. As
    T.shfl_sync."""
    _require_all(mask)
    return _inside("shfl_up", value, offset, width, lambda by, at, group: arith.binary(">=", at, by))


@operation()
def shfl_down(value, offset, width=None, mask=None) -> ir.Expr:
    """`value` of the lane `offset` above; the own one where there is none, in a group of width lanes. As
    T.shfl_sync."""
    _require_all(mask)
    return _inside("shfl_down", value, offset, width, lambda by, at, group: arith.less(arith.add(at, by), group))


def _inside(name: str, value, offset, width, reached: Callable[[ir.Expr, ir.Expr, ir.Expr], ir.Expr]) -> ir.Expr:
    """What comes from a lane of the same group, else the own value; `reached` says which, from the offset, the place of
    the lane in its group, and the size of a group."""
    builder, group = current(), _group(width)
    if group is None:
        return _shuffle(name, value, (offset,))
    own = builder.let("own", as_expr(value, loc=builder.argument("value")))
    by = as_index(offset, builder.argument("offset"))
    received = _shuffle(name, own, (by,))
    test = reached(by, arith.modulo(_LANE, group), group)
    return ir.Select(test, received, own if own.dtype == received.dtype else ir.Cast(own, received.dtype),
                     received.dtype)


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
