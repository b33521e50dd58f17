"""Element values in NumPy: the dtype that carries them, conversions, and the poison of fresh memory."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy

from tilegen.dtypes import DTYPES, DType, float32

Value = Any      # a NumPy scalar (the same for the whole block) or an array over the lanes of a T.Parallel


@cache
def _by_name(name: str) -> numpy.dtype:
    return DTYPES[name].numpy


def numpy_dtype(dtype: DType) -> numpy.dtype:
    """`dtype.numpy`, looked up once."""
    return _by_name(dtype.name)


def carrier(dtype: DType) -> DType:
    """The type that holds a value of `dtype` between a load and a store: small floats stay float32
    until they are stored, everything else is held as declared."""
    return float32 if dtype.is_small_float else dtype


def convert(value: Value, dtype: DType) -> Value:
    """`value` as `dtype`: floats round to nearest even, float to integer truncates, integers wrap,
    a float8_e4m3 overflow gives NaN. An array that has the dtype already is returned as it is."""
    target = numpy_dtype(dtype)
    return value if value.dtype == target else value.astype(target)


def poison(dtype: DType) -> Value:
    """What uninitialised memory holds: NaN, or a large integer with the byte 0x7b repeated."""
    target = numpy_dtype(dtype)
    if dtype.is_float:
        return target.type(float("nan"))
    if dtype.kind == "bool":
        return target.type(True)
    return target.type(int("7b" * dtype.bytes, 16))
