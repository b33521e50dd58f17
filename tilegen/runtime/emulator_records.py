"""What passes between Python and the emulator's runtime: structures of `scheduler.h` and `transactions.h`."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence

from tilegen.errors import TilegenError

_VALUE, _ARRAY, _READ_ONLY_ARRAY, _TENSOR_MAP = 0, 1, 2, 3
_TENSOR_MAP_MAGIC = 0x746D
_CALLS, _CALLERS = 24, 4


class Argument(ctypes.Structure):
    """One argument of a kernel: where its bytes are, how many, and of what kind."""

    _fields_ = [("data", ctypes.c_void_p), ("bytes", ctypes.c_uint64), ("kind", ctypes.c_int)]


class ConflictRow(ctypes.Structure):
    """How one access to shared memory fell on the banks."""

    _fields_ = [("address", ctypes.c_uint64), ("instructions", ctypes.c_uint64), ("steps", ctypes.c_uint64),
                ("needed", ctypes.c_uint64), ("callers", ctypes.c_uint64 * _CALLERS),
                ("worst", ctypes.c_uint32), ("bytes", ctypes.c_uint32),
                ("write", ctypes.c_int), ("line", ctypes.c_int), ("file", ctypes.c_char * 256)]


class TensorMapBytes(ctypes.Structure):
    """The 128 bytes of a tensor map, as the emulator reads them; made by `tensor_map`."""

    _fields_ = [("base", ctypes.c_uint64), ("strides", ctypes.c_uint64 * 4), ("dims", ctypes.c_uint32 * 5),
                ("box", ctypes.c_uint16 * 5), ("swizzle", ctypes.c_uint16), ("rank", ctypes.c_uint8),
                ("element_bytes", ctypes.c_uint8), ("magic", ctypes.c_uint16),
                ("array_bytes", ctypes.c_uint64), ("unused", ctypes.c_uint64 * 4)]


_Three = ctypes.c_uint * 3


class RequestRecord(ctypes.Structure):
    """A launch."""

    _fields_ = [("call", ctypes.c_void_p), ("dynamic", ctypes.c_void_p),
                ("arguments", ctypes.POINTER(Argument)), ("argument_count", ctypes.c_int),
                ("grid", _Three), ("block", _Three), ("cluster", _Three), ("shared_bytes", ctypes.c_uint64),
                ("warp_size", ctypes.c_int), ("order", ctypes.c_int), ("os_threads", ctypes.c_int),
                ("check", ctypes.c_int), ("seed", ctypes.c_uint64), ("timeout", ctypes.c_double),
                ("conflicts", ctypes.POINTER(ConflictRow)), ("conflict_room", ctypes.c_int),
                ("watched", ctypes.c_int), ("watched_byte", ctypes.c_uint64)]


class ReportRecord(ctypes.Structure):
    """What came of it: a fault with its places, or the counts."""

    _fields_ = [("failed", ctypes.c_int), ("line", ctypes.c_int), ("other_line", ctypes.c_int),
                ("has_thread", ctypes.c_int), ("message", ctypes.c_char * 2048),
                ("file", ctypes.c_char * 1024), ("other_file", ctypes.c_char * 1024),
                ("block", _Three), ("thread", _Three), ("address", ctypes.c_uint64),
                ("other_address", ctypes.c_uint64),
                ("other_callers", ctypes.c_uint64 * _CALLERS), ("blocks", ctypes.c_uint64),
                ("switches", ctypes.c_uint64), ("meetings", ctypes.c_uint64),
                ("barriers", ctypes.c_uint64), ("shared_bytes", ctypes.c_uint64),
                ("seconds", ctypes.c_double), ("conflict_count", ctypes.c_int),
                ("calls", ctypes.c_uint64 * _CALLS), ("call_count", ctypes.c_int),
                ("writer_known", ctypes.c_int), ("writer_line", ctypes.c_int), ("writer_block", _Three),
                ("writer_thread", _Three), ("writer_address", ctypes.c_uint64)]


def arguments_of(values: Sequence[object], names: Sequence[str], keep: list[object]) -> ctypes.Array:
    """The arguments of a kernel in memory; `keep` receives what must live until the launch is over.

    Raises TG0404 for an array that is not contiguous, TG0407 for what is neither an array nor a number.
    """
    shown = [*names, *map(str, range(len(names), len(values)))]
    records = [_argument(value, name, keep) for value, name in zip(values, shown)]
    return (Argument * max(len(records), 1))(*records)


def _argument(value: object, name: str, keep: list[object]) -> Argument:
    if hasattr(value, "__array_interface__"):
        address, read_only = value.__array_interface__["data"]
        if not value.flags["C_CONTIGUOUS"]:
            raise TilegenError("TG0404", f"argument {name} is not contiguous")
        return Argument(address, value.nbytes, _READ_ONLY_ARRAY if read_only else _ARRAY)
    kind = _TENSOR_MAP if isinstance(value, TensorMapBytes) else _VALUE
    if isinstance(value, int):
        value = ctypes.c_int(value)
    elif isinstance(value, float):
        value = ctypes.c_float(value)
    if not isinstance(value, (ctypes._SimpleCData, ctypes.Structure, ctypes.Array)):
        raise TilegenError("TG0407", f"argument {name} is neither an array nor a number, but a "
                           f"{type(value).__name__}")
    keep.append(value)
    return Argument(ctypes.addressof(value), ctypes.sizeof(value), kind)


def tensor_map(array: object, box: Sequence[int], swizzle: int = 0, *,
               shape: Sequence[int] | None = None, strides: Sequence[int] | None = None) -> TensorMapBytes:
    """A tensor map as the emulator's copy engine reads it, to be passed in the place of a kernel's map.

    `box` is the extent of one copy, outermost dimension first, as in `array.shape`; `swizzle` is 0, 32, 64 or
    128 bytes. `shape` and `strides` (in bytes) describe another view of the array's memory. Raises TG0403
    where the ranks differ.
    """
    shape = tuple(array.shape if shape is None else shape)
    strides = tuple(array.strides if strides is None else strides)
    if not len(shape) == len(box) == len(strides) <= 5:
        raise TilegenError("TG0403", f"a tensor map of {shape} needs a box size for each dimension, not "
                           f"{tuple(box)}")
    address = array.__array_interface__["data"][0]
    return TensorMapBytes(address, (ctypes.c_uint64 * 4)(*strides[-2::-1]),
                          (ctypes.c_uint32 * 5)(*shape[::-1]), (ctypes.c_uint16 * 5)(*tuple(box)[::-1]),
                          swizzle, len(shape), array.itemsize, _TENSOR_MAP_MAGIC, array.nbytes)
