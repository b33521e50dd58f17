"""One view over the arrays of NumPy, CuPy, torch, DLPack and the two `array_interface` protocols.

torch and CuPy are never imported here for an array that is not theirs.
"""

from __future__ import annotations

import ctypes
import math
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any

import numpy

from tilegen.dtypes import DType, lookup
from tilegen.errors import TilegenError
from tilegen.runtime import dlpack

MAX_ELEMENTS = 2**31 - 1
_CLASSES = {("numpy", "ndarray"), ("cupy", "ndarray"), ("torch", "Tensor"), ("torch", "Parameter")}


@dataclass(frozen=True)
class Device:
    """Where memory is: kind "cpu" or "gpu", and the number of the GPU."""

    kind: str
    index: int = 0

    def __str__(self) -> str:
        return "host memory" if self.kind == "cpu" else f"GPU {self.index}"


HOST = Device("cpu")


@lru_cache(maxsize=64)
def _gpu(index: int) -> Device:
    return Device("gpu", index)


@dataclass(slots=True)
class ArrayView:
    """An array as a kernel sees it: strides in elements (None where it is contiguous), address in bytes.

    `owner` is what an output is returned as; `owner` and `keep` keep the memory alive. `stream` is the
    stream that the producer may still be writing on, where it said so.
    """

    owner: object
    library: str
    dtype: DType | str
    shape: tuple[int, ...]
    strides: tuple[int, ...] | None
    pointer: int
    device: Device
    readonly: bool = False
    stream: int | None = None
    keep: object = None

    @property
    def elements(self) -> int:
        """How many elements the array has."""
        return math.prod(self.shape)

    @property
    def steps(self) -> tuple[int, ...]:
        """How far apart neighbours along each dimension are, in elements."""
        if self.strides is not None:
            return self.strides
        return tuple(math.prod(self.shape[d + 1:]) for d in range(len(self.shape)))

    @property
    def span(self) -> int:
        """The elements from the first to the last one in memory, gaps included."""
        return 1 + sum((e - 1) * s for e, s in zip(self.shape, self.steps)) if self.elements else 0

    @property
    def nbytes(self) -> int:
        """The bytes from the first to the last of its elements."""
        return self.span * self.dtype.bytes

    @property
    def is_contiguous(self) -> bool:
        """Row-major without gaps; extents of 1 may have any stride, and empty arrays any strides."""
        if self.strides is None or 0 in self.shape:
            return True
        expected = 1
        for extent, stride in zip(reversed(self.shape), reversed(self.strides)):
            if extent != 1 and stride != expected:
                return False
            expected *= extent
        return True


def view(value: object, name: str) -> ArrayView:
    """The view of `value`, passed as the argument `name`. Raises TG0407 where it is no array."""
    library = type(value).__module__.partition(".")[0]
    if isinstance(value, numpy.ndarray):
        return _from_numpy(value, value)
    if library == "torch" and hasattr(value, "data_ptr"):
        return _from_torch(value, name)
    if library == "cupy" and hasattr(value, "data"):
        return _from_cupy(value)
    for protocol, read in _PROTOCOLS.items():
        if not isinstance(value, type) and getattr(value, protocol, None) is not None:
            return read(value, name)
    raise TilegenError("TG0407", f"argument {name} is {_describe(value)}, which is not an array",
                       hint="pass a NumPy, CuPy or torch array, or any object with DLPack, "
                            "__cuda_array_interface__ or __array_interface__")


def as_numpy(array: ArrayView) -> numpy.ndarray:
    """The bytes of a host array as a NumPy array of its shape; small floats through ml_dtypes."""
    if isinstance(array.owner, numpy.ndarray):
        return array.owner
    if array.elements == 0:
        return numpy.empty(array.shape, array.dtype.numpy)
    return _strided(memory_of(array), array)


def memory_of(array: ArrayView) -> numpy.ndarray:
    """The memory of a host array from its first to its last element, gaps included, in one dimension."""
    memory = (ctypes.c_ubyte * array.nbytes).from_address(array.pointer)
    return numpy.frombuffer(memory, numpy.uint8).view(array.dtype.numpy)


def share_elements(a: ArrayView, b: ArrayView) -> bool:
    """Whether two arrays have a byte in common; False too where that takes long to decide."""
    def addresses(array: ArrayView) -> numpy.ndarray:
        steps, size = tuple(step * array.dtype.bytes for step in array.steps), array.dtype.bytes
        described = {"version": 3, "typestr": f"|V{size}", "data": (array.pointer, True), "shape": array.shape,
                     "strides": steps}
        return numpy.asarray(type("Described", (), {"__array_interface__": described})())
    try:
        return numpy.shares_memory(addresses(a), addresses(b), max_work=10_000)
    except RuntimeError:                # numpy's TooHardError
        return False


def _strided(memory: numpy.ndarray, array: ArrayView) -> numpy.ndarray:
    steps = tuple(step * array.dtype.bytes for step in array.steps)
    return numpy.lib.stride_tricks.as_strided(memory, array.shape, steps)


def empty_like_library(example: ArrayView, shape: tuple[int, ...], dtype: DType) -> object:
    """A new array, not filled, of the example's library and device (its owner's device for torch)."""
    make = allocator(example, shape, dtype)
    if example.library == "torch" or example.device.kind == "cpu":
        return make()
    cupy = require_cupy(f"an output for {example.library} arrays")
    with cupy.cuda.Device(example.device.index):
        try:
            return make()
        except (TypeError, ValueError):
            raise TilegenError("TG0402", f"CuPy {cupy.__version__} has no arrays of {dtype}",
                               hint="pass the output as a torch tensor, or use a newer CuPy") from None


def library_of(kind: type) -> str | None:
    """The library of arrays that are read by their attributes: "numpy", "cupy" or "torch"; None of another class."""
    library = kind.__module__.partition(".")[0]
    return library if (library, kind.__name__) in _CLASSES else None


def allocator(example: ArrayView, shape: tuple[int, ...], dtype: DType) -> Callable[[], object]:
    """What makes new arrays, not filled, of the example's library; CuPy's lie on the current GPU."""
    if example.library == "torch":
        import torch
        name = {"float8_e4m3": "float8_e4m3fn"}.get(dtype.name, dtype.in_memory)
        return _torch_allocator(torch, shape, getattr(torch, name), example.owner.device)
    if example.device.kind == "gpu":
        return partial(require_cupy(f"an output for {example.library} arrays").empty, shape, dtype.numpy)
    return partial(numpy.empty, shape, dtype.numpy)


def torch_guards() -> Any:
    """The module in which torch keeps what its compiled functions call at each step; None where it has none."""
    return getattr(getattr(getattr(sys.modules["torch"], "_C", None), "_dynamo", None), "guards", None)


def _torch_allocator(torch: Any, shape: tuple[int, ...], dtype: Any, device: Any) -> Callable[[], object]:
    """torch.empty, or what torch's compiled functions call instead: half the host time, always on the current GPU."""
    empty = getattr(torch_guards(), "_empty_strided_cuda", None)
    if empty is None or device.type != "cuda" or torch.cuda.device_count() != 1:
        return partial(torch.empty, shape, dtype=dtype, device=device)
    strides = tuple([math.prod(shape[axis + 1:]) for axis in range(len(shape))])
    return partial(empty, shape, strides, dtype)


def require_cupy(purpose: str):
    """The cupy module; TG0304 where it is not installed or cannot be imported."""
    try:
        import cupy
    except Exception as error:          # a broken CUDA installation raises more than ImportError
        raise TilegenError("TG0304", f"{purpose} needs CuPy: {str(error).strip().splitlines()[0]}",
                           hint="pip install 'tilegen[cuda12]' (or tilegen[cuda13])") from None
    return cupy


def _from_numpy(value: numpy.ndarray, owner: object) -> ArrayView:
    strides = None
    if not value.flags.c_contiguous:
        strides = _in_elements(value.strides, value.dtype.itemsize)
    return ArrayView(owner, "numpy", _dtype(value.dtype), value.shape, strides,
                     value.__array_interface__["data"][0], HOST, not value.flags.writeable)


def _from_cupy(value: object) -> ArrayView:
    strides = None
    if not value.flags.c_contiguous:
        strides = _in_elements(value.strides, value.dtype.itemsize)
    memory = value.data
    return ArrayView(value, "cupy", _dtype(value.dtype), value.shape, strides, memory.ptr,
                     _gpu(memory.device_id))


def _from_torch(value: object, name: str) -> ArrayView:
    kind = value.device.type
    if kind not in ("cpu", "cuda"):
        raise TilegenError("TG0405", f"argument {name} is a torch tensor on the device {kind!r}",
                           hint="move it to the CPU or to a CUDA or HIP device")
    if str(value.layout) != "torch.strided" or value.is_neg() or value.is_conj():
        raise TilegenError("TG0404", f"argument {name} is a torch tensor with a lazy or sparse layout",
                           hint=f"pass {name}.to_dense().resolve_neg().contiguous()")
    strides = None if value.is_contiguous() else tuple(value.stride())
    device = HOST if kind == "cpu" else _gpu(value.device.index or 0)
    return ArrayView(value, "torch", _dtype(value.dtype), tuple(value.shape), strides, value.data_ptr(),
                     device)


def _from_cuda_interface(value: object, name: str) -> ArrayView:
    description = value.__cuda_array_interface__
    dtype, strides = numpy.dtype(description["typestr"]), description.get("strides")
    pointer, readonly = description["data"]
    if description.get("mask") is not None:
        raise TilegenError("TG0407", f"argument {name} is a masked array")
    return ArrayView(value, "cuda_array_interface", _dtype(dtype), tuple(description["shape"]),
                     strides and _in_elements(strides, dtype.itemsize), pointer or 0,
                     Device("gpu", _device_of_pointer(value)), bool(readonly), description.get("stream"))


def _from_array_interface(value: object, name: str) -> ArrayView:
    found = _from_numpy(numpy.asarray(value), value)
    found.library = "array_interface"
    return found


def _from_dlpack(value: object, name: str) -> ArrayView:
    try:
        found = dlpack.describe(value)
    except (ValueError, BufferError, RuntimeError) as error:
        raise TilegenError("TG0407", f"argument {name}: {_describe(value)} cannot be read through DLPack: "
                           f"{error}") from None
    device = Device(found.device, found.index) if found.device == "gpu" else HOST
    stream = 1 if device.kind == "gpu" else None        # the legacy default stream, DLPack's own default
    return ArrayView(value, "dlpack", lookup(found.dtype) or found.dtype, found.shape, found.strides,
                     found.pointer, device, found.readonly, stream, keep=found.capsule)


_PROTOCOLS = {"__cuda_array_interface__": _from_cuda_interface, "__array_interface__": _from_array_interface,
              "__dlpack__": _from_dlpack}


def _device_of_pointer(value: object) -> int:
    """The protocol names no device: most owners have `.device` with a number, else it is GPU 0."""
    device = getattr(value, "device", None)
    index = getattr(device, "id", getattr(device, "index", device))
    return index if isinstance(index, int) else 0


@lru_cache(maxsize=256)
def _dtype(dtype: object) -> DType | str:
    """The DType, or its name as text where tilegen has no such element type."""
    if not getattr(dtype, "isnative", True):
        return f"{dtype.str} (not in native byte order)"
    return lookup(dtype) or str(dtype)


def _in_elements(strides: tuple[int, ...], size: int) -> tuple[float, ...]:
    """Strides in elements; one that is no whole number of elements stays a fraction (never contiguous)."""
    return tuple(s // size if s % size == 0 else s / size for s in strides)


def _describe(value: object) -> str:
    kind = type(value)
    return "None" if value is None else f"a {kind.__module__}.{kind.__qualname__}".replace("builtins.", "")
