"""Launches CUDA kernels through CuPy: cubin -> RawModule, on the caller's current stream."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from dataclasses import dataclass

import numpy

from tilegen.build import nvcc, nvrtc
from tilegen.build.toolchain import Artifact, Toolchain
from tilegen.errors import TilegenError
from tilegen.runtime.arrays import ArrayView, require_cupy
from tilegen.runtime.backend import Backend, compile_contract
from tilegen.runtime.binding import Bound, Scalar
from tilegen.runtime.contract import Contract, Geometry
from tilegen.runtime.cuda_calls import CudaCall, stream_pointer
from tilegen.runtime.tensor_maps import encode_maps
from tilegen.runtime.packing import Staged, by_value, stage_host_arrays, uses_torch

_STATIC_SHARED_LIMIT = 48 * 1024        # more than this has to be asked for
_GRID_LIMITS = (2**31 - 1, 65535, 65535)
_TO_DEVICE, _TO_HOST = 1, 2             # cudaMemcpyKind


@dataclass(slots=True)
class _Prepared:
    """Entry, geometry and arguments of each launch, and the staging memory of host arrays."""

    device: int
    calls: tuple
    staged: tuple[Staged, ...]
    torch: bool


class CudaKernel:
    """The loaded entries of one cubin, on every device that it is launched on."""

    def __init__(self, artifact: Artifact, contract: Contract) -> None:
        self.cupy = require_cupy("launching CUDA kernels")
        self.contract = contract
        try:
            self.module = self.cupy.RawModule(path=str(artifact.path))
        except self.cupy.cuda.driver.CUDADriverError as error:
            raise TilegenError("TG0408", f"the GPU cannot load {contract.entry}: {error}",
                               hint="load the file without arch=") from None
        self.functions: dict[tuple[int, str], object] = {}      # by GPU and entry
        self.shared: dict[tuple[int, str], int] = {}
        self.checked: tuple[Geometry, ...] = ()
        self.held: list[tuple[object, Bound]] = []              # calls whose workspaces are in use, and their ends

    def prepare(self, bound: Bound) -> _Prepared:
        """Device pointers and scalars; host arrays get device memory. Raises TG0405 for mixed devices."""
        device = _device(bound, self.cupy)
        if bound.geometries is not self.checked:
            for _, launch, geometry in bound.launches():
                _check_geometry(geometry, launch.entry)
            self.checked = bound.geometries
        arguments = [_by_value_or_address(argument) for argument in bound.arguments]
        if all([a.device.kind == "gpu" for a in bound.arrays.values()]):
            encode_maps(bound, arguments, device)
            return _Prepared(device, _calls(bound, arguments), (), uses_torch(bound))
        with self.cupy.cuda.Device(device):
            staged = stage_host_arrays(bound, self.cupy.cuda.alloc)
        for position, param in enumerate(self.contract.params):
            if param.name in staged:
                arguments[position] = staged[param.name].memory.ptr
        encode_maps(bound, arguments, device)
        return _Prepared(device, _calls(bound, arguments), tuple(staged.values()), uses_torch(bound))

    def launch(self, bound: Bound, prepared: _Prepared, stream: object = None) -> None:
        """Enqueues the kernel. With host arrays it also copies them in and out, and waits.

        Raises TG0411 where the driver refuses the launch.
        """
        cuda = self.cupy.cuda
        try:
            if cuda.runtime.getDevice() == prepared.device:
                self._launch(bound, prepared, stream)
            else:
                with cuda.Device(prepared.device):
                    self._launch(bound, prepared, stream)
        except (cuda.runtime.CUDARuntimeError, cuda.driver.CUDADriverError) as error:
            raise TilegenError("TG0411", f"{self.contract.entry}: the launch failed: {error}") from None

    def repeat(self, bound: Bound, names: tuple[str, ...]) -> CudaCall | None:
        """See `backend.Kernel`. None for host arrays, for those whose producer named its stream, and for workspaces
        that live on a stream of their own."""
        if _needs_more_than_launches(bound):
            return None
        device = _device(bound, self.cupy)
        functions = [(self._function(device, launch.entry, geometry.shared).ptr, launch.arguments, geometry)
                     for _, launch, geometry in bound.launches()]
        return CudaCall(self.cupy, device, bound, names, uses_torch(bound), functions)

    def prepared(self, bound: Bound) -> Callable[[object], None] | None:
        """See `backend.Kernel`."""
        if _needs_more_than_launches(bound):
            return None
        names = tuple(p.name for p in self.contract.params if p.is_array)
        self.prepare(bound)                 # checks geometries and devices
        with self.cupy.cuda.Device(_device(bound, self.cupy)):
            call = self.repeat(bound, names)
        return call.prepared(tuple([bound.arrays[name].pointer for name in names]))

    def _launch(self, bound: Bound, prepared: _Prepared, stream: object) -> None:
        runtime = self.cupy.cuda.runtime
        pointer = stream_pointer(stream, prepared.device, prepared.torch)
        for array in bound.arrays.values():
            if array.stream is not None and array.stream != pointer:
                self._wait(pointer, array.stream)
        for staged in prepared.staged:
            if staged.copy_in and staged.array.nbytes:
                runtime.memcpyAsync(staged.memory.ptr, staged.array.pointer, staged.array.nbytes, _TO_DEVICE,
                                    pointer)
        for entry, geometry, arguments in prepared.calls:
            function = self._function(prepared.device, entry, geometry.shared)
            function(geometry.grid, geometry.block, arguments, geometry.shared, _Stream(pointer))
        for staged in prepared.staged:
            if staged.copy_out and staged.array.nbytes:
                runtime.memcpyAsync(staged.array.pointer, staged.memory.ptr, staged.array.nbytes, _TO_HOST,
                                    pointer)
        if prepared.staged:
            runtime.streamSynchronize(pointer)
        elif stream is not None and any(p.is_workspace for p in self.contract.params):
            self._hold(bound, pointer)

    def _function(self, device: int, entry: str, shared: int) -> object:
        """The function on the current device, allowed to use `shared` bytes."""
        key = device, entry
        if key not in self.functions:
            self.functions[key] = self.module.get_function(entry)
        raw = self.functions[key]
        if shared > self.shared.get(key, _STATIC_SHARED_LIMIT):
            most = self.cupy.cuda.Device(device).attributes["MaxSharedMemoryPerBlockOptin"]
            if shared > most:
                raise TilegenError("TG0411", f"{entry} needs {shared} bytes of shared memory "
                                   f"per block, but GPU {device} has {most}",
                                   hint="turn down a tile size or the stages in the file")
            raw.max_dynamic_shared_size_bytes = shared
            self.shared[key] = shared
        return raw.kernel

    def _hold(self, bound: Bound, stream: int) -> None:
        """Keeps the workspaces of a call on a stream of its own until it is done: the library that allocated
        them would give them to others as soon as nobody refers to them."""
        self.held = [(event, other) for event, other in self.held if not event.done]
        event = self.cupy.cuda.Event(disable_timing=True)
        self.cupy.cuda.runtime.eventRecord(event.ptr, stream)
        self.held.append((event, bound))

    def _wait(self, stream: int, producer: int) -> None:
        """The launch waits for what the producer of an array has on its stream until now."""
        event = self.cupy.cuda.Event(disable_timing=True)
        self.cupy.cuda.runtime.eventRecord(event.ptr, producer)
        self.cupy.cuda.runtime.streamWaitEvent(stream, event.ptr)


class _Stream:
    """A stream as CuPy's launch takes it: anything with the address as `ptr`."""

    __slots__ = ("ptr",)

    def __init__(self, pointer: int) -> None:
        self.ptr = pointer


def require_device() -> None:
    """Raises TG0304 without CuPy, TG0408 without a GPU that CUDA can use."""
    cupy = require_cupy("launching CUDA kernels")
    try:
        count = cupy.cuda.runtime.getDeviceCount()
    except cupy.cuda.runtime.CUDARuntimeError as error:
        raise TilegenError("TG0408", f"no NVIDIA GPU can be used: {error}", hint=_NO_GPU) from None
    if count == 0:
        raise TilegenError("TG0408", "this machine has no NVIDIA GPU", hint=_NO_GPU)


def device_names() -> list[str]:
    """Name and architecture of each GPU. Raises as `require_device`."""
    require_device()
    runtime = sys.modules["cupy"].cuda.runtime
    found = [runtime.getDeviceProperties(index) for index in range(runtime.getDeviceCount())]
    return [f"{p['name'].decode()} (sm_{p['major']}{p['minor']})" for p in found]


def device_arch(wanted: str, index: int | None = None) -> str:
    """The architecture to compile a file for `wanted` for on GPU `index` (None: the current one).

    A plain architecture runs on every newer GPU and is compiled for that GPU; one with a suffix, such
    as sm_90a, only on its own. Raises TG0408 where the GPU cannot run it.
    """
    cupy = require_cupy("launching CUDA kernels")
    capability = cupy.cuda.Device(index).compute_capability
    number, suffix = wanted.removeprefix("sm_").rstrip("af"), wanted[-1:] in "af"
    if int(capability) == int(number):
        return wanted
    if suffix or int(capability) < int(number):
        raise TilegenError("TG0408", f"the kernel is made for {wanted}, but the GPU is sm_{capability}",
                           hint=f"emit the kernel with -a sm_{capability}")
    return f"sm_{capability}"


def _build(text: str, contract: Contract, arch: str | None, compiler: str | None) -> Artifact:
    return compile_contract(text, contract, _toolchain(compiler), _arch(contract, arch))


def _arch(contract: Contract, arch: str | None) -> str:
    """`arch`, else the GPU's where there is one, else the contract's (compiling needs no GPU)."""
    if arch is not None:
        return arch
    try:
        require_device()
    except TilegenError:
        return contract.arch
    return device_arch(contract.arch)


def _toolchain(name: str | None) -> Toolchain:
    if name not in (None, "nvrtc", "nvcc"):
        raise TilegenError("TG0301", f"{name} is no CUDA compiler", hint="nvrtc and nvcc are")
    if name is not None:
        return (nvrtc if name == "nvrtc" else nvcc).find()
    try:
        return nvrtc.find()
    except TilegenError as missing:
        try:
            return nvcc.find()
        except TilegenError:
            raise missing from None


def _by_value_or_address(argument: ArrayView | Scalar) -> object:
    """As CuPy's launch takes it: an address as an int, a scalar as an array of its bytes."""
    if isinstance(argument, ArrayView):
        return argument.pointer
    if argument.packed is None:
        argument.packed = numpy.frombuffer(by_value(argument), f"V{argument.dtype.bytes}")
    return argument.packed


def _device(bound: Bound, cupy: object) -> int:
    found = {a.device.index: name for name, a in bound.arrays.items() if a.device.kind == "gpu"}
    if len(found) > 1:
        places = " and ".join(f"argument {name} is on GPU {index}" for index, name in sorted(found.items()))
        raise TilegenError("TG0405", places, hint="move all arrays to one GPU")
    return next(iter(found)) if found else cupy.cuda.runtime.getDevice()


def _needs_more_than_launches(bound: Bound) -> bool:
    """Whether host arrays have to be copied, or a producer named the stream that has to be waited for."""
    return any([a.device.kind != "gpu" or a.stream is not None for a in bound.arrays.values()])


def _calls(bound: Bound, arguments: list) -> tuple:
    """(entry, geometry, arguments) of each launch that has blocks."""
    return tuple([(launch.entry, geometry, tuple([arguments[position] for position in launch.arguments]))
                  for _, launch, geometry in bound.launches()])


def _check_geometry(geometry: Geometry, entry: str) -> None:
    for axis, (blocks, limit, cluster) in enumerate(zip(geometry.grid, _GRID_LIMITS, geometry.cluster)):
        fault = f"more than {limit}" if blocks > limit else f"not a multiple of the cluster's {cluster}"
        if blocks > limit or blocks % cluster:
            raise TilegenError("TG0411", f"{entry}: grid dimension {axis} is {blocks}, {fault}")
    threads = math.prod(geometry.block)
    if not 1 <= threads <= 1024:
        raise TilegenError("TG0411", f"{entry}: a block has {threads} threads, not 1 to 1024")


_NO_GPU = "the CPU target runs here: emit the kernel with -t cpu"
BACKEND = Backend("cuda", _build, require_device, CudaKernel)
