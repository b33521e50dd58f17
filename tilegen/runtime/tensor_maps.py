"""Tensor maps: what the copy engine (TMA) of sm_90 and up knows of a tensor, encoded by the CUDA driver.

A tensor map holds the address of its tensor. Maps are kept for the pointers, shapes and boxes that were seen
last, since encoding one takes longer than a launch.
"""

from __future__ import annotations

import ctypes
import sys
from functools import lru_cache

import numpy

from tilegen.errors import TilegenError
from tilegen.runtime.binding import Bound
from tilegen.runtime.contract import Param

_BYTES, _ALIGNMENT = 128, 64                    # of a CUtensorMap (cuda.h)
_KEPT = 1024
_LEAST_ROW = 16                                 # bytes
# CUtensorMapDataType, CUtensorMapSwizzle and CUtensorMapL2promotion of cuda.h.
_TYPES = {"uint8": 0, "int8": 0, "float8_e4m3": 0, "float8_e5m2": 0, "uint16": 1, "int16": 1, "uint32": 2, "int32": 3,
          "uint64": 4, "int64": 5, "float16": 6, "float32": 7, "float64": 8, "bfloat16": 9}
_SWIZZLE_128, _PROMOTE_128 = 3, 2
NO_CONTEXT = 201                                # CUDA_ERROR_INVALID_CONTEXT: a thread that has not used CUDA yet


def encode_maps(bound: Bound, arguments: list, device: int) -> None:
    """Puts a tensor map in the place of each address in `arguments` that the contract gives a box."""
    for position, param in enumerate(bound.contract.params):
        if param.box:
            arguments[position] = map_of(arguments[position], bound.arrays[param.name].shape, param,
                                         bound.boxes[param.name], device)


def map_of(address: int, shape: tuple[int, ...], param: Param, box: tuple[int, ...], device: int) -> numpy.ndarray:
    """The map of an argument on a GPU. The driver has none of nothing: an empty tensor gets one of zeros, as its
    elements would be."""
    if 0 in shape:
        address, shape = _zeros(device).data.ptr, (*[1] * (len(shape) - 1), _LEAST_ROW // param.dtype.bytes)
    return tensor_map(address, shape, param.dtype.name, param.dtype.bytes, box)


@lru_cache
def _zeros(device: int):
    """The memory of a short row on a GPU, kept for good."""
    cupy = sys.modules["cupy"]
    with cupy.cuda.Device(device):
        return cupy.zeros(_LEAST_ROW, "uint8")


@lru_cache(_KEPT)
def tensor_map(address: int, shape: tuple[int, ...], dtype: str, size: int, box: tuple[int, ...]) -> numpy.ndarray:
    """The map of a tensor of `shape` in rows at `address` (device memory), for copies of `box` elements, both
    outermost dimension first, with swizzled rows of 128 bytes. An array of one element, which CuPy passes by value.
    Raises TG0411 where the driver refuses it."""
    memory = numpy.zeros(_BYTES + _ALIGNMENT, numpy.uint8)
    start = -memory.ctypes.data % _ALIGNMENT
    encoded = memory[start:start + _BYTES]
    rank = len(shape)
    strides = [size]
    for extent in shape[:0:-1]:
        strides.append(strides[-1] * extent)
    given = (ctypes.c_void_p(encoded.ctypes.data), _TYPES[dtype], rank, ctypes.c_void_p(address),
             (ctypes.c_uint64 * rank)(*shape[::-1]), (ctypes.c_uint64 * rank)(*strides[1:]),
             (ctypes.c_uint32 * rank)(*box[::-1]), (ctypes.c_uint32 * rank)(*[1] * rank), 0, _SWIZZLE_128,
             _PROMOTE_128, 0)
    code = _driver().cuTensorMapEncodeTiled(*given)
    if code == NO_CONTEXT:              # in a thread of its own, as torch has for gradients
        sys.modules["cupy"].cuda.runtime.free(0)        # which gives it one
        code = _driver().cuTensorMapEncodeTiled(*given)
    if code:
        raise TilegenError("TG0411", f"the driver refuses a tensor map of {shape} {dtype} in boxes of {box} "
                           f"(code {code})", hint="boxes have 128 bytes a row and up to 256 rows; addresses and "
                           "rows are multiples of 16")
    return encoded.view(f"V{_BYTES}")


@lru_cache
def _driver() -> ctypes.CDLL:
    return ctypes.CDLL("libcuda.so.1")
