"""Turning what a kernel writes (numbers, names, elements, slices, tiles) into IR operands."""

from __future__ import annotations

import math
from typing import Any

from tilegen import arith, ir
from tilegen.dtypes import DType, bool_, int32, int64, lookup
from tilegen.errors import Loc, TilegenError
from tilegen.language.builder import current
from tilegen.language.sizes import Size
from tilegen.language.text import allocated, describe, shape_text, show

Number = int | float | bool


def is_number(value: Any) -> bool:
    """Whether a value is a plain Python number."""
    return isinstance(value, (int, float))


def is_scalar(value: Any) -> bool:
    """A value that can stand in arithmetic."""
    return (is_number(value) or isinstance(value, (ir.Expr, Size))
            or (isinstance(value, ir.Buffer) and value.scope == "var"))


def default_dtype(value: Number) -> DType:
    """The type of a literal that meets nothing: int32 (int64 where it does not fit), bool, and float32
    (float64 in a kernel with float64 tensors)."""
    if isinstance(value, bool):
        return bool_
    if isinstance(value, float):
        return current().float_dtype
    return int32 if -2**31 <= value < 2**31 else int64


def literal(value: Number, like: DType | None = None, loc: Loc | None = None) -> ir.Expr:
    """A constant of the type that a literal takes beside an operand of dtype `like`."""
    dtype = default_dtype(value)
    if like is not None and not isinstance(value, bool):
        like = like.compute
        if like.is_float:
            value, dtype = float(value), like
        elif like.is_integer and isinstance(value, int) and dtype.bits <= like.bits:
            dtype = like
    if isinstance(value, float) and math.isinf(value):
        infinite = ir.Call("infinity", (), dtype, loc=loc)
        return infinite if value > 0 else ir.UnOp("-", infinite, dtype, loc=loc)
    return ir.Const(value, dtype, loc=loc)


def as_expr(value: Any, like: DType | None = None, loc: Loc | None = None) -> ir.Expr:
    """The scalar expression for `value`; a literal takes the dtype of `like`.

    Raises TG0004 for what is no scalar, TG0106 for an element with too few or too many indices.
    """
    match value:
        case bool() | int() | float():
            return literal(value, like, loc)
        case Size():
            return value.expr
        case ir.Load():
            return _checked(value, loc)
        case ir.Expr():
            return value
        case ir.Buffer(scope="var"):
            return ir.Load(value, (), loc=loc or current().loc)
        case ir.Buffer():
            raise TilegenError("TG0004", f"{describe(value)} is not a single value", loc,
                               "write an element such as "
                               f"{value.name}[{', '.join('ijkl'[:len(value.shape)])}] "
                               "in a T.Parallel loop")
        case ir.Region():
            raise TilegenError("TG0004", f"{describe(value)} is not a single value", loc,
                               "elementwise work on tiles goes into a T.Parallel loop")
    raise TilegenError("TG0004", f"a number is needed here, not {describe(value)}", loc)


def _checked(load: ir.Load, loc: Loc | None) -> ir.Load:
    rank = len(load.buffer.shape)
    if len(load.indices) == rank:
        return load
    raise TilegenError("TG0106", f"{load.buffer.name} has {rank} dimensions {shape_text(load.buffer.shape)}, "
                       f"but {len(load.indices)} indices are given", load.loc or loc,
                       hint=allocated(load.buffer))


def as_index(value: Any, loc: Loc | None = None) -> ir.Expr:
    """An integer expression, for an index, an extent or a count. Raises TG0111 for other types."""
    expr = as_expr(value, loc=loc)
    if expr.dtype.is_integer:
        return expr
    raise TilegenError("TG0111", f"an integer is needed here, not {describe(expr)}", expr.loc or loc,
                       "T.cast(x, 'int32') makes an integer; // divides integers")


def as_condition(value: Any, loc: Loc | None = None) -> ir.Expr:
    """A bool expression; an integer is compared with zero."""
    expr = as_expr(value, loc=loc)
    if expr.dtype == bool_:
        return expr
    if expr.dtype.is_integer:
        return ir.BinOp("!=", expr, ir.Const(0, expr.dtype.compute), bool_, loc=loc)
    raise TilegenError("TG0111", f"a condition is needed here, not {describe(expr)}", loc,
                       "compare it, as in x != 0")


def as_dtype(value: Any, loc: Loc | None = None) -> DType:
    """The DType that `value` names. Raises TG0108."""
    try:
        dtype = lookup(value)
    except TypeError:
        dtype = None
    if dtype is None or is_number(value):
        text = repr(value) if isinstance(value, str) else describe(value)
        raise TilegenError("TG0108", f"{text} is not a dtype", loc,
                           "known are float64 float32 tfloat32 float16 bfloat16 float8_e4m3 float8_e5m2 "
                           "int4 int8 int16 int32 int64 uint4 uint8 uint16 uint32 uint64 bool")
    return dtype


def as_number(value: Any, what: str, loc: Loc | None = None) -> Number:
    """The number that `value` has while the kernel is read. Raises TG0109 where it has none."""
    number = current().number(value.expr if isinstance(value, Size) else value)
    if number is None:
        raise TilegenError("TG0109", f"{what} has to be known when the kernel is emitted, not "
                           f"{describe(value)}",
                           loc, "use a constant, a knob, or a size that is given a value")
    return number


def as_flag(value: Any, what: str, loc: Loc | None = None) -> bool:
    """A Python truth value, known while the kernel is read."""
    if isinstance(value, (ir.Buffer, ir.Region, str)):
        raise TilegenError("TG0004", f"{what} is True or False, not {describe(value)}", loc)
    return bool(as_number(value, what, loc))


def as_shape(value: Any, what: str, loc: Loc | None = None) -> tuple[ir.Expr, ...]:
    """Extents from a tuple, a list or a single one, with constant lets written out."""
    items = value if isinstance(value, (tuple, list)) else (value,)
    shape = tuple(arith.fold(current().constant(as_index(item, loc))) for item in items)
    for extent in shape:
        number = current().number(extent)
        if number is not None and number <= 0:
            text = number if isinstance(extent, ir.Const) else f"{show(extent)} = {number}"
            raise TilegenError("TG0110", f"{what}: the extent {text} is not positive", extent.loc or loc)
    return shape


def full_region(buffer: ir.Buffer, loc: Loc | None = None) -> ir.Region:
    """The whole of a buffer as a region."""
    return ir.Region(buffer, (ir.Const(0),) * len(buffer.shape), buffer.shape, loc=loc)


def as_region(value: Any, what: str, loc: Loc | None = None) -> ir.Region:
    """A tile: a whole buffer, a slice, or an element with too few indices, which stands for the rest."""
    match value:
        case ir.Buffer() if value.scope != "var":
            return full_region(value, loc)
        case ir.Region():
            return value
        case ir.Load(buffer=buffer, indices=indices) if buffer.scope != "var":
            rest = buffer.shape[len(indices):]
            return ir.Region(buffer, indices + (ir.Const(0),) * len(rest),
                             (ir.Const(1),) * len(indices) + rest, loc=loc or value.loc)
    raise TilegenError("TG0004", f"{what} has to be a tile or a part of one, not {describe(value)}", loc)


def as_axis(dim: Any, source: ir.Region, name: str) -> int:
    """The dimension of `source` that the argument `dim` of an operation names, counted from 0. Raises TG0106
    where there is none."""
    builder = current()
    rank = len(source.extents)
    axis = as_number(dim, "dim", builder.argument("dim"))
    if not isinstance(axis, int) or not -rank <= axis < rank:
        raise TilegenError("TG0106", f"{name}: there is no dimension {axis} in {describe(source.buffer)}",
                           builder.argument("dim"))
    return axis % rank
