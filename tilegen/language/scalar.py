"""Scalar types and values: T.float16 and its kin, T.cast, T.infinity, division, selection."""

from __future__ import annotations

from typing import Any

from tilegen import dtypes, ir
from tilegen.errors import TilegenError
from tilegen.language.arithmetic import binary, convert, select
from tilegen.language.builder import current, operation
from tilegen.language.text import describe
from tilegen.language.values import as_dtype, as_expr, as_index, is_number


class ScalarType:
    """A dtype as kernels write it: `T.float16` names the type, `T.float16(x)` converts."""

    def __init__(self, dtype: dtypes.DType):
        self.dtype = dtype
        self.name = dtype.name

    def __repr__(self) -> str:
        return f"T.{self.name}"

    def __str__(self) -> str:
        return self.name

    def __eq__(self, other) -> bool:
        try:
            return dtypes.lookup(other) == self.dtype
        except TypeError:
            return False

    def __hash__(self) -> int:
        return hash(self.name)

    @property
    def bits(self) -> int:
        return self.dtype.bits

    def __call__(self, value):
        """`value` converted to this type."""
        return cast(value, self)


def _dtype_of(name: str):
    return ScalarType(dtypes.DTYPES[name])


float64, float32, float16, bfloat16 = map(_dtype_of, ("float64", "float32", "float16", "bfloat16"))
float8_e4m3, float8_e5m2, tfloat32 = map(_dtype_of, ("float8_e4m3", "float8_e5m2", "tfloat32"))
int8, int16, int32, int64 = map(_dtype_of, ("int8", "int16", "int32", "int64"))
uint8, uint16, uint32, uint64 = map(_dtype_of, ("uint8", "uint16", "uint32", "uint64"))
int4, uint4 = map(ScalarType, dtypes.PACKED.values())
bool_ = _dtype_of("bool")
float8_e4m3fn = float8_e4m3


@operation("function")
def cast(value, dtype) -> ir.Expr:
    """`value` as `dtype`; also `x.astype(dtype)`, `T.float32(x)`. Raises TG0108 for an unknown dtype."""
    return convert(value, as_dtype(dtype, current().argument("dtype")))


@operation("function")
def reinterpret(value, dtype) -> ir.Expr:
    """The bits of `value` as another type of the same width; the arguments may come in either order.

    Raises TG0102 for bool and where the widths differ, TG0108 for an unknown dtype.
    """
    builder = current()
    if isinstance(value, (ScalarType, dtypes.DType, str)):
        value, dtype = dtype, value
    kind = as_dtype(dtype, builder.argument("dtype"))
    x = as_expr(value, loc=builder.argument("value"))
    if x.dtype.bits != kind.bits or dtypes.bool_ in (x.dtype, kind):
        raise TilegenError("TG0102", f"T.reinterpret: {describe(x)} has not the bits of a {kind}", builder.loc,
                           "compare it with 0" if kind == dtypes.bool_ else
                           f"T.cast it to an integer of {kind.bits} bits")
    return x if x.dtype == kind else ir.Call("bits_as", (x, ir.Const(0, x.dtype)), kind)      # the zero names the type


@operation("function")
def infinity(dtype="float32") -> ir.Expr:
    """The infinity of a float type. Raises TG0102 for other types."""
    kind = as_dtype(dtype, current().argument("dtype"))
    if not kind.is_float or kind == dtypes.float8_e4m3:
        raise TilegenError("TG0102", f"{kind} has no infinity", current().loc,
                           "T.max_value(dtype) is its largest value")
    return ir.Call("infinity", (), kind)


_FLOAT_MAX = {"float64": 1.7976931348623157e308, "float32": 3.4028234663852886e38,
              "tfloat32": 3.4028234663852886e38, "float16": 65504.0,
              "bfloat16": 3.3895313892515355e38, "float8_e4m3": 448.0, "float8_e5m2": 57344.0}


def limits(dtype: dtypes.DType) -> tuple[Any, Any]:
    """The least and the greatest finite value of a type."""
    if dtype.is_float:
        return -_FLOAT_MAX[dtype.name], _FLOAT_MAX[dtype.name]
    if dtype == dtypes.bool_:
        return False, True
    return (0, 2**dtype.bits - 1) if dtype.kind == "uint" else (-2**(dtype.bits - 1), 2**(dtype.bits - 1) - 1)


@operation("function")
def max_value(dtype) -> ir.Const:
    """The largest finite value of a type."""
    kind = as_dtype(dtype, current().argument("dtype"))
    return ir.Const(limits(kind)[1], kind)


@operation("function")
def min_value(dtype) -> ir.Const:
    """The smallest finite value of a type (the most negative one)."""
    kind = as_dtype(dtype, current().argument("dtype"))
    return ir.Const(limits(kind)[0], kind)


@operation("scalar")
def ceildiv(a, b):
    """The least integer >= a / b, for integers; b > 0."""
    if is_number(a) and is_number(b):
        if b == 0:
            raise TilegenError("TG0004", "T.ceildiv divides by zero", current().loc)
        return -(-a // b)
    builder = current()
    x, y = as_index(a, builder.argument("a")), as_index(b, builder.argument("b"))
    return ir.Call("ceildiv", (x, y), dtypes.promote(x.dtype, y.dtype))


@operation("scalar")
def floordiv(a, b):
    """a // b: the quotient of two integers, rounded towards minus infinity."""
    return binary("//", a, b)


@operation("scalar")
def floormod(a, b):
    """a % b, with the sign of b."""
    return binary("%", a, b)


@operation("scalar")
def truncdiv(a, b):
    """The quotient of two integers, rounded towards zero, as C does."""
    return binary("trunc//", a, b)


@operation("scalar")
def truncmod(a, b):
    """The remainder of T.truncdiv, with the sign of a, as C does."""
    return binary("trunc%", a, b)


@operation("function")
def if_then_else(condition, true_value, false_value):
    """`true_value if condition else false_value`; only the chosen side is evaluated."""
    return select(condition, true_value, false_value)


@operation("function")
def Select(condition, true_value, false_value):
    """The same as T.if_then_else."""
    return select(condition, true_value, false_value)


@operation("function")
def where(condition, true_value, false_value):
    """The same as T.if_then_else, by NumPy's name."""
    return select(condition, true_value, false_value)
