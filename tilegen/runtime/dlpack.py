"""Reads what an object says of itself through DLPack, without NumPy, CuPy or torch.

Only the header of the capsule is read; the capsule stays unconsumed and has to be kept alive for as
long as the memory is used.
"""

from __future__ import annotations

import ctypes
from dataclasses import dataclass

_CPU, _CUDA, _CUDA_HOST, _ROCM, _ROCM_HOST, _MANAGED = 1, 2, 3, 10, 11, 13
_DEVICES = {_CPU: "cpu", _CUDA_HOST: "cpu", _ROCM_HOST: "cpu", _CUDA: "gpu", _ROCM: "gpu", _MANAGED: "gpu"}
_READ_ONLY = 1
_NAMES = {0: "int", 1: "uint", 2: "float", 4: "bfloat", 6: "bool", 10: "float8_e4m3fn", 12: "float8_e5m2"}


class _Tensor(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("device_type", ctypes.c_int32), ("device_index", ctypes.c_int32),
                ("rank", ctypes.c_int32), ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8),
                ("lanes", ctypes.c_uint16), ("shape", ctypes.POINTER(ctypes.c_int64)),
                ("strides", ctypes.POINTER(ctypes.c_int64)), ("byte_offset", ctypes.c_uint64)]


class _Versioned(ctypes.Structure):
    _fields_ = [("major", ctypes.c_uint32), ("minor", ctypes.c_uint32), ("context", ctypes.c_void_p),
                ("deleter", ctypes.c_void_p), ("flags", ctypes.c_uint64), ("tensor", _Tensor)]


_pointer_of = ctypes.pythonapi.PyCapsule_GetPointer
_pointer_of.restype, _pointer_of.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
_name_of = ctypes.pythonapi.PyCapsule_GetName
_name_of.restype, _name_of.argtypes = ctypes.c_char_p, [ctypes.py_object]


@dataclass(frozen=True)
class Description:
    """A DLPack tensor: dtype by name, shape, strides in elements (None: contiguous), address, device."""

    capsule: object
    dtype: str
    shape: tuple[int, ...]
    strides: tuple[int, ...] | None
    pointer: int
    device: str
    index: int
    readonly: bool


def describe(value: object) -> Description:
    """What `value.__dlpack__()` says. Raises ValueError for a device other than host and GPU memory."""
    try:
        capsule = value.__dlpack__(max_version=(1, 0))
    except TypeError:
        capsule = value.__dlpack__()
    name = _name_of(capsule)
    address = _pointer_of(capsule, name)
    readonly = False
    if name == b"dltensor_versioned":
        managed = _Versioned.from_address(address)
        tensor, readonly = managed.tensor, bool(managed.flags & _READ_ONLY)
    else:
        tensor = _Tensor.from_address(address)
    if tensor.device_type not in _DEVICES:
        raise ValueError(f"DLPack device type {tensor.device_type}")
    shape = tuple(tensor.shape[: tensor.rank])
    strides = tuple(tensor.strides[: tensor.rank]) if tensor.strides else None
    return Description(capsule, _dtype_name(tensor), shape, strides, (tensor.data or 0) + tensor.byte_offset,
                       _DEVICES[tensor.device_type], tensor.device_index, readonly)


def _dtype_name(tensor: _Tensor) -> str:
    name = _NAMES.get(tensor.code, f"DLPack type code {tensor.code}")
    if tensor.lanes != 1:
        return f"{name}{tensor.bits} x {tensor.lanes}"
    return name if name.startswith(("bool", "float8", "DLPack")) else f"{name}{tensor.bits}"
