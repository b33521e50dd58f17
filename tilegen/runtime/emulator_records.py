"""What passes between Python and the emulator's runtime: structures of `scheduler.h` and `transactions.h`."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence

from tilegen.errors import TilegenError

_VALUE, _ARRAY, _READ_ONLY_ARRAY, _TENSOR_MAP, _TEXTURE = 0, 1, 2, 3, 4
_TENSOR_MAP_MAGIC, _TEXTURE_MAGIC = 0x746D, 0x7478
_FILTERS = ("point", "linear")
_ADDRESS_MODES = ("clamp", "wrap", "mirror", "border")
_TEXEL_KINDS = ("f", "i", "u")                   # NumPy's kinds, in the order of TexelKind in textures.h
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


class TextureBytes(ctypes.Structure):
    """What a texture object points to; made by `texture`."""

    _fields_ = [("base", ctypes.c_uint64), ("array_bytes", ctypes.c_uint64), ("extent", _Three),
                ("border", ctypes.c_float * 4), ("rank", ctypes.c_uint8), ("channels", ctypes.c_uint8),
                ("kind", ctypes.c_uint8), ("element_bytes", ctypes.c_uint8), ("linear", ctypes.c_uint8),
                ("normalized", ctypes.c_uint8), ("read_normalized", ctypes.c_uint8),
                ("address", ctypes.c_uint8 * 3), ("magic", ctypes.c_uint16)]


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
    kind = {TensorMapBytes: _TENSOR_MAP, TextureBytes: _TEXTURE}.get(type(value), _VALUE)
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


def texture(array: object, *, filter: str = "point", address: str | Sequence[str] = "clamp",
            normalized: bool = False, read_normalized: bool = False, channels: int = 1,
            border: Sequence[float] = (0.0, 0.0, 0.0, 0.0)) -> TextureBytes:
    """A texture of `array`, to be passed where a kernel takes a texture object.

    The shape is (width,), (height, width) or (depth, height, width), with a last dimension of 2 or 4 where
    `channels` says so; the elements are float32, float16, or integers of up to 32 bits. `filter` is point or
    linear; `address` clamp, wrap, mirror or border, for all dimensions or x first for each; `normalized`
    coordinates run from 0 to 1. `read_normalized` gives integers of 8 and 16 bits as floats from 0 or -1 to
    1. Raises TG0403 for a shape, TG0402 for a dtype and TG0411 for a mode that textures do not have.
    """
    shape = tuple(array.shape)
    if channels != 1:
        shape = shape[:-1] if shape[-1:] == (channels,) else ()
    if channels not in (1, 2, 4) or not 1 <= len(shape) <= 3 or 0 in shape or not array.flags["C_CONTIGUOUS"]:
        raise TilegenError("TG0403", f"no texture of {channels} channels has the shape {tuple(array.shape)}",
                           hint="1 to 3 dimensions without gaps, then 2 or 4 channels if there are several")
    kind, size = array.dtype.kind, array.itemsize
    if kind not in _TEXEL_KINDS or size > 4 or array.dtype.name.startswith(("bfloat", "float8")):
        raise TilegenError("TG0402", f"no texture has elements of {array.dtype}")
    modes = (address,) * len(shape) if isinstance(address, str) else tuple(address)
    _check_texture(filter, modes, len(shape), normalized, read_normalized, array.dtype)
    return TextureBytes(array.__array_interface__["data"][0], array.nbytes, _Three(*shape[::-1]),
                        _border(border, kind != "f" and not read_normalized), len(shape), channels,
                        _TEXEL_KINDS.index(kind), size, filter == "linear", normalized, read_normalized,
                        (ctypes.c_uint8 * 3)(*map(_ADDRESS_MODES.index, modes)), _TEXTURE_MAGIC)


def _border(values: Sequence[float], integers: bool) -> ctypes.Array:
    """Four channels, as the bits that a fetch returns."""
    if not integers:
        return (ctypes.c_float * 4)(*values)
    words = (ctypes.c_uint32 * 4)(*(int(value) & 0xFFFFFFFF for value in values))
    return (ctypes.c_float * 4).from_buffer_copy(words)


def _check_texture(filter: str, modes: tuple[str, ...], rank: int, normalized: bool, read_normalized: bool,
                   dtype: object) -> None:
    """What the hardware does not have is refused, not emulated."""
    if filter not in _FILTERS or len(modes) != rank or not set(modes) <= set(_ADDRESS_MODES):
        raise TilegenError("TG0411", f"a texture of {rank} dimensions, filter={filter!r}, address={modes}",
                           hint=f"filters: {', '.join(_FILTERS)}; address modes: {', '.join(_ADDRESS_MODES)}")
    if not normalized and {"wrap", "mirror"} & set(modes):
        raise TilegenError("TG0411", "wrap and mirror need normalized coordinates", hint="normalized=True")
    if read_normalized and (dtype.kind == "f" or dtype.itemsize > 2):
        raise TilegenError("TG0411", f"elements of {dtype} cannot be read as normalized floats")
    if filter == "linear" and dtype.kind != "f" and not read_normalized:
        raise TilegenError("TG0411", f"elements of {dtype} have no linear filter",
                           hint="read_normalized=True")
