"""Launches through the driver with arguments in memory of their own: the least host time that Python allows.

CuPy's own launch packs its arguments anew at each call, by the type of each. Here a block of memory holds them, of
which a call writes the addresses alone, and `cupy.cuda.driver.launchKernel` hands it to the driver.
"""

from __future__ import annotations

import ctypes
import struct
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from tilegen.errors import TilegenError
from tilegen.runtime.binding import Bound, Scalar
from tilegen.runtime.contract import Geometry
from tilegen.runtime.packing import by_value
from tilegen.runtime.repeats import MISSED
from tilegen.runtime.tensor_maps import NO_CONTEXT, map_of

_SLOT = 8                               # bytes; no argument but a tensor map is wider
_FORMATS = {"float32": "f4x", "float64": "d"}


@dataclass(slots=True)
class _Block:
    """The arguments of one call in memory. `calls` are (launch, address of the pointers to the arguments);
    `pointers` the arrays behind those addresses."""

    memory: ctypes.Array
    pack: Callable[..., None]
    calls: list[tuple[Callable, int]]
    pointers: list[ctypes.Array]


class CudaCall:
    """The launches of one set of geometries on one GPU, for `values` of the arguments in `names`; all other
    arguments are those of `bound`. Calls of several threads do not meet: each takes a block of its own."""

    def __init__(self, cupy: Any, device: int, bound: Bound, names: tuple[str, ...], torch: bool,
                 functions: list[tuple[int, tuple[int, ...], Geometry]]) -> None:
        self.cuda, self.device, self.names, self.functions = cupy.cuda, device, names, functions
        self.entry = bound.contract.entry
        self.many_gpus = self.cuda.runtime.getDeviceCount() > 1
        self.current = _current_stream(cupy, device, torch)
        self.torch = torch
        self.own = [*[p.name for p in bound.contract.params], *bound.contract.sizes]
        # of `bound` no array is kept: that would keep its memory
        self.scalars = {name: a for name, a in zip(self.own, bound.arguments) if isinstance(a, Scalar)}
        self.maps = [(p, names.index(p.name), bound.arrays[p.name].shape, bound.boxes[p.name])
                     for p in bound.contract.params if p.box]
        self.blocks: list[_Block] = []

    def __call__(self, values: tuple, stream: Any) -> Any:
        """Enqueues the launches; MISSED where another GPU is current or a scalar does not fit its type."""
        if self.many_gpus and self.cuda.runtime.getDevice() != self.device:
            return MISSED
        try:
            block = self.blocks.pop()
        except IndexError:
            block = self.block()
        try:
            block.pack(*values)
        except (struct.error, OverflowError):
            return MISSED
        maps = self._map(block, values) if self.maps else None
        pointer = self.current() if stream is None else stream_pointer(stream, self.device, self.torch)
        try:
            for launch, pointers in block.calls:
                launch(pointer, pointers, 0)
        except self.cuda.driver.CUDADriverError as error:
            self._again(error, block, pointer)
        self.blocks.append(block)
        del maps                        # which the driver has read now
        return None

    def prepared(self, values: tuple) -> Callable[[Any], None]:
        """The call with these values, in a block of its own."""
        block = self.block()
        block.pack(*values)
        maps = self._map(block, values)

        calls, current, refused = block.calls, self.current, self.cuda.driver.CUDADriverError

        def call(stream: Any, kept: Any = maps) -> None:
            if self.many_gpus and self.cuda.runtime.getDevice() != self.device:
                with self.cuda.Device(self.device):
                    return call(stream)
            pointer = current() if stream is None else stream_pointer(stream, self.device, self.torch)
            try:
                for launch, pointers in calls:
                    launch(pointer, pointers, 0)
            except refused as error:
                self._again(error, block, pointer)
        return call

    def _again(self, error: Exception, block: _Block, stream: int) -> None:
        """The launches of a thread that had no context yet; raises TG0411 for another error."""
        if getattr(error, "status", None) != NO_CONTEXT:
            raise TilegenError("TG0411", f"{self.entry}: the launch failed: {error}") from None
        self.cuda.runtime.free(0)       # gives this thread its context
        try:
            for launch, pointers in block.calls:
                launch(stream, pointers, 0)
        except self.cuda.driver.CUDADriverError as error:
            raise TilegenError("TG0411", f"{self.entry}: the launch failed: {error}") from None

    def block(self) -> _Block:
        """New memory, with everything but the values in its place."""
        memory = (ctypes.c_ubyte * (_SLOT * (len(self.names) + len(self.own))))()
        start = ctypes.addressof(memory)
        slots = {name: start + _SLOT * position for position, name in enumerate((*self.names, *self.own))}
        slots |= {name: start + _SLOT * position for position, name in enumerate(self.names)}
        for name, argument in self.scalars.items():
            if name not in self.names:
                value = by_value(argument)
                ctypes.memmove(slots[name], ctypes.addressof(value), ctypes.sizeof(value))
        form = "".join(_FORMATS[self.scalars[n].dtype.name] if n in self.scalars else "Q" for n in self.names)
        calls, kept = [], []
        for function, positions, geometry in self.functions:
            pointers = (ctypes.c_void_p * len(positions))(*[slots[self.own[position]] for position in positions])
            kept.append(pointers)
            launch = partial(self.cuda.driver.launchKernel, function, *geometry.grid, *geometry.block, geometry.shared)
            calls.append((launch, ctypes.addressof(pointers)))
        return _Block(memory, partial(struct.Struct("=" + form).pack_into, memory, 0), calls, kept)

    def _map(self, block: _Block, values: tuple) -> list:
        """Points the arguments that are tensor maps at those of `values`, which it gives to be kept."""
        found = []
        for param, place, shape, box in self.maps:
            encoded = map_of(values[place], shape, param, box, self.device)
            found.append(encoded)
            address = encoded.__array_interface__["data"][0]
            for (_, positions, _), pointers in zip(self.functions, block.pointers):
                for place_there, position in enumerate(positions):
                    if self.own[position] == param.name:
                        pointers[place_there] = address
        return found


def stream_pointer(stream: object, device: int, torch: bool) -> int:
    """The address of `stream` (CuPy, torch, `__cuda_stream__`, or an int); None is the current stream of
    torch where an argument is torch's, else of CuPy. Raises TG0407 for anything else."""
    if stream is None:
        if torch:
            return sys.modules["torch"].cuda.current_stream(device).cuda_stream
        return sys.modules["cupy"].cuda.get_current_stream().ptr
    if isinstance(stream, int):
        return stream
    for attribute in ("ptr", "cuda_stream"):
        if isinstance(address := getattr(stream, attribute, None), int):
            return address
    if hasattr(stream, "__cuda_stream__"):
        return stream.__cuda_stream__()[1]
    raise TilegenError("TG0407", f"stream= is a {type(stream).__name__}, expected a CuPy or torch stream, or "
                       "its address")


def _current_stream(cupy: Any, device: int, torch: bool) -> Callable[[], int]:
    """What gives the address of the current stream, as `stream_pointer(None, ...)` does."""
    if not torch:
        current = cupy.cuda.get_current_stream
        return lambda: current().ptr
    raw = getattr(getattr(sys.modules["torch"], "_C", None), "_cuda_getCurrentRawStream", None)
    return partial(raw, device) if raw else partial(stream_pointer, None, device, True)
