"""Arguments in the form of a launch: scalars as C values, host arrays in device memory."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from dataclasses import dataclass

import numpy

from tilegen.dtypes import DType
from tilegen.runtime.arrays import ArrayView
from tilegen.runtime.binding import Bound, Scalar

_PLAIN = {"float64": ctypes.c_double, "float32": ctypes.c_float, "bool": ctypes.c_bool,
          "int8": ctypes.c_int8, "int16": ctypes.c_int16, "int32": ctypes.c_int32, "int64": ctypes.c_int64,
          "uint8": ctypes.c_uint8, "uint16": ctypes.c_uint16, "uint32": ctypes.c_uint32,
          "uint64": ctypes.c_uint64}
_BITS = {8: ctypes.c_uint8, 16: ctypes.c_uint16}


def c_type(dtype: DType) -> type | None:
    """The ctypes type that C passes `dtype` as; None for the small floats, which ctypes does not have."""
    return _PLAIN.get(dtype.name)


def by_value(scalar: Scalar) -> ctypes._SimpleCData:
    """The bytes of the argument; small floats go as the integer of the same bits."""
    if scalar.dtype.name in _PLAIN:
        return _PLAIN[scalar.dtype.name](scalar.value)
    bits = scalar.dtype.bits
    return _BITS[bits](int(numpy.array(scalar.value, scalar.dtype.numpy).view(f"uint{bits}")))


@dataclass(slots=True)
class Staged:
    """Device memory that stands for a host array during a launch."""

    array: ArrayView
    memory: object
    copy_in: bool
    copy_out: bool


def stage_host_arrays(bound: Bound, allocate: Callable[[int], object]) -> dict[str, Staged]:
    """Device memory from `allocate(bytes)` for each host array of a call, by the argument's name.

    What the caller passed is copied in even where the kernel only writes it: it may write a part.
    """
    return {p.name: Staged(bound.arrays[p.name], allocate(bound.arrays[p.name].nbytes),
                           p.name not in bound.allocated, p.writes)
            for p in bound.contract.params if p.is_array and bound.arrays[p.name].device.kind == "cpu"}


def uses_torch(bound: Bound) -> bool:
    """Whether a tensor of torch in GPU memory is among the arguments."""
    return any(a.library == "torch" and a.device.kind == "gpu" for a in bound.arrays.values())
