"""Launches HIP kernels through pyhip: code object -> module, on the caller's stream."""

from __future__ import annotations

import ctypes
import sys
from dataclasses import dataclass

from tilegen.build import hiprtc
from tilegen.build.toolchain import Artifact
from tilegen.errors import TilegenError
from tilegen.runtime.arrays import ArrayView
from tilegen.runtime.backend import Backend, compile_contract
from tilegen.runtime.binding import Bound, Scalar
from tilegen.runtime.contract import Contract
from tilegen.runtime.packing import Staged, by_value, stage_host_arrays, uses_torch


class _Memory:
    """Device memory that is freed with its last reference."""

    def __init__(self, hip: object, size: int) -> None:
        self.hip, self.pointer = hip, hip.hipMalloc(max(size, 1))

    def __del__(self) -> None:
        self.hip.hipFree(self.pointer)


@dataclass(slots=True)
class _Prepared:
    """Function, geometry and packed arguments of each launch, and the device memory of host arrays."""

    calls: tuple
    staged: tuple[Staged, ...]
    torch: bool


class HipKernel:
    """The loaded entry of one code object."""

    def __init__(self, artifact: Artifact, contract: Contract) -> None:
        self.hip, _ = hiprtc.require_pyhip()
        self.contract = contract
        self.image = artifact.path.read_bytes()
        try:
            self.module = self.hip.hipModuleLoadData(self.image)
            self.functions = [self.hip.hipModuleGetFunction(self.module, launch.entry)
                              for launch in contract.launches]
        except self.hip.hipError as error:
            raise TilegenError("TG0408", f"the GPU cannot load {contract.entry}, made for {contract.arch}: "
                               f"{_name(error)}", hint="load the file with arch= set to the GPU's") from None

    def prepare(self, bound: Bound) -> _Prepared:
        """Packs the arguments in signature order, as the HIP launch buffer wants them."""
        staged = stage_host_arrays(bound, lambda size: _Memory(self.hip, size))
        values = [staged[p.name].memory.pointer if p.name in staged else _by_value_or_address(argument)
                  for p, argument in zip(self.contract.params, bound.arguments)]
        values += map(_by_value_or_address, bound.arguments[len(values):])
        calls = tuple([(self.functions[number], geometry, _packed([values[position] for position in launch.arguments]))
                       for number, launch, geometry in bound.launches()])
        return _Prepared(calls, tuple(staged.values()), uses_torch(bound))

    def launch(self, bound: Bound, prepared: _Prepared, stream: object = None) -> None:
        """Enqueues the kernel. With host arrays it also copies them in and out, and waits.

        Raises TG0411 where the driver refuses the launch.
        """
        hip = self.hip
        pointer = _stream_pointer(stream, prepared.torch)
        try:
            for staged in prepared.staged:
                if staged.copy_in and staged.array.nbytes:
                    hip.hipMemcpyAsync_htod(staged.memory.pointer, staged.array.pointer,
                                            staged.array.nbytes, pointer)
            for function, geometry, arguments in prepared.calls:
                hip.hipModuleLaunchKernel(function, *geometry.grid, *geometry.block, geometry.shared, pointer,
                                          arguments)
            for staged in prepared.staged:
                if staged.copy_out and staged.array.nbytes:
                    hip.hipMemcpyAsync_dtoh(staged.array.pointer, staged.memory.pointer,
                                            staged.array.nbytes, pointer)
            if prepared.staged:
                hip.hipStreamSynchronize(pointer)
            elif stream is not None:
                _hold_workspaces(bound, pointer)
        except hip.hipError as error:
            name = self.contract.entry
            raise TilegenError("TG0411", f"{name}: the launch failed: {_name(error)}") from None

    def repeat(self, bound: Bound, names: tuple[str, ...]) -> None:
        """No shorter way than `launch`."""

    def prepared(self, bound: Bound) -> None:
        """No shorter way than `launch`."""


def _hold_workspaces(bound: Bound, stream: int) -> None:
    """Tells torch that the workspaces are in use on a stream that is not its current one."""
    for param in bound.contract.params:
        if param.is_workspace and bound.arrays[param.name].library == "torch":
            torch = sys.modules["torch"]
            bound.arrays[param.name].owner.record_stream(torch.cuda.ExternalStream(stream))


def _packed(values: list) -> ctypes.Structure:
    fields = [(f"argument{number}", type(value)) for number, value in enumerate(values)]
    return type("Arguments", (ctypes.Structure,), {"_fields_": fields})(*values)


def require_device() -> None:
    """Raises TG0304 without pyhip, TG0408 without ROCm or an AMD GPU."""
    hip, _ = hiprtc.require_pyhip()
    try:
        count = hip.hipGetDeviceCount()
    except hip.hipError as error:
        raise TilegenError("TG0408", f"no AMD GPU can be used: {_name(error)}") from None
    if count == 0:
        raise TilegenError("TG0408", "this machine has no AMD GPU")


def _by_value_or_address(argument: ArrayView | Scalar) -> ctypes._SimpleCData:
    return ctypes.c_void_p(argument.pointer) if isinstance(argument, ArrayView) else by_value(argument)


def _stream_pointer(stream: object, torch: bool) -> int:
    if stream is None:
        return sys.modules["torch"].cuda.current_stream().cuda_stream if torch else 0
    if isinstance(stream, int):
        return stream
    for attribute in ("cuda_stream", "ptr", "value"):
        if isinstance(address := getattr(stream, attribute, None), int):
            return address
    raise TilegenError("TG0407", f"stream= is a {type(stream).__name__}, expected a torch or HIP stream, or "
                       "its address")


def _name(error: Exception) -> str:
    return getattr(error, "__name__", type(error).__name__)


def _build(text: str, contract: Contract, arch: str | None, compiler: str | None) -> Artifact:
    if compiler not in (None, "hiprtc"):
        raise TilegenError("TG0301", f"{compiler} makes no HIP code that can be launched", hint="hiprtc does")
    return compile_contract(text, contract, hiprtc.find(), arch or contract.arch)


BACKEND = Backend("hip", _build, require_device, HipKernel)
