"""Reductions of tiles: T.reduce and its short forms, T.any_of, T.all_of."""

from __future__ import annotations

from tilegen import ir
from tilegen.dtypes import bool_
from tilegen.errors import TilegenError
from tilegen.language import nan_reductions
from tilegen.language.builder import current, operation
from tilegen.language.text import describe
from tilegen.language.values import as_axis, as_flag, as_number, as_region

REDUCTIONS = ("sum", "max", "min", "absmax", "abssum", "bitand", "bitor", "bitxor")


def _reduce(op: str, buffer, out, dim, clear_first, batch, nan_propagate=None) -> None:
    builder = current()
    name = f"T.reduce_{op}"
    source = as_region(buffer, f"{name}: buffer", builder.argument("buffer"))
    target = as_region(out, f"{name}: out", builder.argument("out"))
    axis = as_axis(dim, source, name)
    if as_number(batch, "batch", builder.argument("batch")) < 1:
        raise TilegenError("TG0110", f"{name}: batch is not positive", builder.argument("batch"))
    made = ir.Reduce(op, source, target, axis,
                     as_flag(clear_first, "clear", builder.argument("clear")), loc=builder.loc)
    if nan_propagate is None or not as_flag(nan_propagate, "nan_propagate", builder.argument("nan_propagate")):
        builder.emit(made)
        return
    if op not in nan_reductions.OPERATIONS:
        raise TilegenError("TG0005", f"{name}: nan_propagate is about maxima and minima",
                           builder.argument("nan_propagate"), "leave it out: a sum with a NaN in it is NaN")
    if not source.buffer.dtype.is_float or not target.buffer.dtype.is_float:
        builder.emit(made)                                   # integers have no NaN
        return
    nan_reductions.propagated(made, builder.emit)


@operation(takes_tiles=True)
def reduce(buffer, out, reduce_type, dim=-1, clear=True, batch=1, nan_propagate=None) -> None:
    """T.reduce_sum and so on, with the operation as text: "sum", "max", "min", "absmax", "abssum", "bitand",
    "bitor", "bitxor"."""
    builder = current()
    if reduce_type not in REDUCTIONS:
        raise TilegenError("TG0005", f"T.reduce: the operation is one of {', '.join(REDUCTIONS)}, "
                           f"not {describe(reduce_type)}", builder.argument("reduce_type"))
    _reduce(reduce_type, buffer, out, dim, clear, batch, nan_propagate)


@operation(takes_tiles=True)
def reduce_sum(buffer, out, dim=-1, clear=True, batch=1) -> None:
    """out = the sum of `buffer` over `dim`; with clear=False out += it.

    out has the shape of `buffer` without that dimension, or with 1 in its place. batch, how many results TileLang lets
    meet at once, changes nothing: the planner decides. Raises TG0101 where the shapes do not fit.
    """
    _reduce("sum", buffer, out, dim, clear, batch)


@operation(takes_tiles=True)
def reduce_max(buffer, out, dim=-1, clear=True, batch=1, nan_propagate=None) -> None:
    """out = the maximum of `buffer` over `dim`; clear, batch and shapes as in reduce_sum. A NaN is left out; with
    nan_propagate=True the result is NaN where any element is."""
    _reduce("max", buffer, out, dim, clear, batch, nan_propagate)


@operation(takes_tiles=True)
def reduce_min(buffer, out, dim=-1, clear=True, batch=1, nan_propagate=None) -> None:
    """out = the minimum of `buffer` over `dim`; keywords and shapes as in reduce_max."""
    _reduce("min", buffer, out, dim, clear, batch, nan_propagate)


@operation(takes_tiles=True)
def reduce_absmax(buffer, out, dim=-1, clear=True, batch=1, nan_propagate=None) -> None:
    """out = the maximum of |buffer| over `dim`; keywords and shapes as in reduce_max."""
    _reduce("absmax", buffer, out, dim, clear, batch, nan_propagate)


@operation(takes_tiles=True)
def reduce_abssum(buffer, out, dim=-1, clear=True, batch=1) -> None:
    """out = the sum of |buffer| over `dim`; with clear=False out += it. Shapes as T.reduce_sum."""
    _reduce("abssum", buffer, out, dim, clear, batch)


@operation(takes_tiles=True)
def reduce_bitand(buffer, out, dim=-1, clear=True, batch=1) -> None:
    """out = the bits that all of `buffer` over `dim` have; integers only (TG0102). Shapes as T.reduce_sum."""
    _reduce("bitand", buffer, out, dim, clear, batch)


@operation(takes_tiles=True)
def reduce_bitor(buffer, out, dim=-1, clear=True, batch=1) -> None:
    """out = the bits that any of `buffer` over `dim` has; integers only (TG0102). Shapes as T.reduce_sum."""
    _reduce("bitor", buffer, out, dim, clear, batch)


@operation(takes_tiles=True)
def reduce_bitxor(buffer, out, dim=-1, clear=True, batch=1) -> None:
    """out = the bits that an odd number of `buffer` over `dim` have; integers only (TG0102)."""
    _reduce("bitxor", buffer, out, dim, clear, batch)


def _vote(op: str, buffer) -> ir.Expr:
    builder = current()
    source = as_region(buffer, f"T.{op}_of: buffer", builder.argument("buffer"))
    found = ir.Buffer(builder.local({"any": "found", "all": "holds"}[op]), (), bool_, "var", loc=builder.loc)
    builder.emit(ir.Alloc(found, ir.Const(op == "all", bool_), loc=builder.loc))
    builder.emit(ir.Vote(op, source, found, loc=builder.loc))
    return ir.Load(found, (), loc=builder.loc)


@operation(takes_tiles=True)
def any_of(buffer) -> ir.Expr:
    """Whether any element of a fragment or shared tile is not 0: one answer for the whole block.

    Raises TG0103 for a wrong scope, TG0205 where not all threads of the block come this way.
    """
    return _vote("any", buffer)


@operation(takes_tiles=True)
def all_of(buffer) -> ir.Expr:
    """Whether no element of a fragment or shared tile is 0: one answer for the whole block. Errors as T.any_of."""
    return _vote("all", buffer)
