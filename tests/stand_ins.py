"""Small stand-ins for packages that need a GPU: the same calls, on host memory, recorded."""

from __future__ import annotations

import contextlib
import ctypes
import dataclasses
import types

import numpy


@dataclasses.dataclass(frozen=True)
class TorchDevice:
    """A torch.device."""

    type: str
    index: int | None = None


class Tensor:
    """What the loader asks of a torch tensor, over a NumPy array."""

    __module__ = "torch"
    requires_grad = False

    def __init__(self, array: numpy.ndarray, device: str = "cpu", index: int | None = None) -> None:
        self.array = array
        self.device = TorchDevice(device, index)
        self.dtype = f"torch.{array.dtype}"
        self.shape = array.shape
        self.layout = "torch.strided"

    def data_ptr(self) -> int:
        return self.array.ctypes.data

    def is_contiguous(self) -> bool:
        return self.array.flags.c_contiguous

    def stride(self) -> tuple[int, ...]:
        return tuple(s // self.array.itemsize for s in self.array.strides)

    def is_neg(self) -> bool:
        return False

    def is_conj(self) -> bool:
        return False


def torch_module(stream: int = 0) -> types.SimpleNamespace:
    """A torch that allocates on the host and whose current CUDA stream is `stream`."""
    def empty(shape: tuple, dtype: str, device: TorchDevice) -> Tensor:
        return Tensor(numpy.empty(shape, dtype), device.type, device.index)
    current = types.SimpleNamespace(cuda_stream=stream)
    dtypes = {name: name for name in ("float32", "float16", "int32")}
    cuda = types.SimpleNamespace(current_stream=lambda device=None: current)
    return types.SimpleNamespace(empty=empty, cuda=cuda, **dtypes)


class Dlpack:
    """An object that has DLPack and nothing else."""

    def __init__(self, array: numpy.ndarray) -> None:
        self.array = array

    def __dlpack__(self, **options: object) -> object:
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.array.__dlpack_device__()


class CudaInterface:
    """An object that has `__cuda_array_interface__` and nothing else."""

    def __init__(self, array: numpy.ndarray, stream: int | None = None, readonly: bool = False) -> None:
        self.array = array
        self.__cuda_array_interface__ = {
            "shape": array.shape, "typestr": array.dtype.str, "version": 3, "strides": None,
            "data": (array.ctypes.data, readonly), "stream": stream}


class CudaError(RuntimeError):
    """Stands for CUDARuntimeError and CUDADriverError."""


class CupyModule(types.ModuleType):
    """A CuPy whose device memory is host memory. `launches` and `calls` record what was asked of it."""

    def __init__(self, run: object = None, devices: int = 1, capability: str = "90") -> None:
        super().__init__("cupy")
        self.run, self.devices, self.capability = run, devices, capability
        self.launches: list[types.SimpleNamespace] = []
        self.calls: list[tuple] = []
        self.buffers: list[object] = []
        self.stream = 7
        self.prepared: list[types.SimpleNamespace] = []         # launches through the driver
        self.arguments: int | None = None                       # how many arguments those have
        self.cuda = types.SimpleNamespace(
            alloc=self._alloc, Device=self._device,
            get_current_stream=lambda: types.SimpleNamespace(ptr=self.stream),
            Event=lambda disable_timing: types.SimpleNamespace(ptr=99),
            runtime=types.SimpleNamespace(
                CUDARuntimeError=CudaError, getDevice=lambda: 0, getDeviceCount=self._count,
                memcpyAsync=self._copy,
                streamSynchronize=lambda stream: self.calls.append(("synchronize", stream)),
                eventRecord=lambda event, stream: self.calls.append(("record", stream)),
                streamWaitEvent=lambda stream, event: self.calls.append(("wait", stream))),
            driver=types.SimpleNamespace(CUDADriverError=CudaError, launchKernel=self._launch_prepared))
        module = self

        class RawModule:
            def __init__(self, path: str) -> None:
                self.path = path

            def get_function(self, name: str) -> types.SimpleNamespace:
                module.calls.append(("function", name))
                kernel = _Function(module._launch, len(module.prepared))
                return types.SimpleNamespace(kernel=kernel, max_dynamic_shared_size_bytes=0)

        self.RawModule = RawModule

    def _count(self) -> int:
        if self.devices == 0:
            raise CudaError("cudaErrorNoDevice: no CUDA-capable device is detected")
        return self.devices

    @contextlib.contextmanager
    def _context(self):
        yield

    def _device(self, index: int | None = None) -> object:
        context = self._context()
        context.compute_capability = self.capability
        context.attributes = {"MaxSharedMemoryPerBlockOptin": 232448}
        return context

    def _alloc(self, size: int) -> types.SimpleNamespace:
        self.buffers.append(ctypes.create_string_buffer(max(size, 1)))
        return types.SimpleNamespace(ptr=ctypes.addressof(self.buffers[-1]))

    def _copy(self, to: int, source: int, size: int, kind: int, stream: int) -> None:
        self.calls.append(("to device" if kind == 1 else "to host", size, stream))
        ctypes.memmove(to, source, size)

    def _launch_prepared(self, function: int, *rest: int) -> None:
        """As the driver: `pointers` is the address of the addresses of the arguments, of which 8 bytes are recorded."""
        *geometry, shared, stream, pointers, extra = rest
        assert extra == 0
        count = self.arguments if self.arguments is not None else 0
        addresses = (ctypes.c_void_p * count).from_address(pointers)
        self.prepared.append(types.SimpleNamespace(
            function=function, grid=tuple(geometry[:3]), block=tuple(geometry[3:]), shared=shared, stream=stream,
            arguments=[ctypes.string_at(address, 8) for address in addresses]))

    def _launch(self, grid: tuple, block: tuple, arguments: tuple, shared: int, stream: object) -> None:
        self.launches.append(types.SimpleNamespace(grid=grid, block=block, arguments=arguments, shared=shared,
                                                   stream=stream.ptr))
        if self.run:
            self.run(*arguments)


class _Function:
    """A cupy.cuda.Function: CuPy launches it, and `ptr` is the driver's name of it."""

    def __init__(self, launch: object, pointer: int) -> None:
        self.launch, self.ptr = launch, pointer

    def __call__(self, *arguments: object) -> None:
        self.launch(*arguments)


def floats_at(address: int, count: int) -> numpy.ndarray:
    """`count` float32 values at an address."""
    return numpy.ctypeslib.as_array((ctypes.c_float * count).from_address(address))


class HipError(Exception):
    """Stands for pyhip's hipError."""


class PyhipModules:
    """A pyhip whose device memory is host memory and whose kernel is `run(arguments)`."""

    def __init__(self, run: object = None, devices: int = 1, refuse: str = "") -> None:
        self.launches: list[tuple] = []
        self.freed = 0
        self.options: list[str] = []
        self.refuse = refuse
        keep: list[object] = []

        def allocate(size: int) -> ctypes.c_void_p:
            keep.append(ctypes.create_string_buffer(size))
            return ctypes.c_void_p(ctypes.addressof(keep[-1]))

        def launch(function: str, *rest: object) -> None:
            self.launches.append((function, *rest))
            if run:
                run(rest[-1])

        def move(to: object, source: object, size: int, stream: int) -> None:
            ctypes.memmove(to, source, size)

        self.hip = types.SimpleNamespace(
            hipError=HipError, hipGetDeviceCount=lambda: devices, hipRuntimeGetVersion=lambda: 60000000,
            hipMalloc=allocate, hipFree=self._free, hipModuleLoadData=lambda image: image,
            hipModuleGetFunction=lambda module, name: name, hipModuleLaunchKernel=launch,
            hipMemcpyAsync_htod=move, hipMemcpyAsync_dtoh=move, hipStreamSynchronize=lambda stream: None)
        self.hiprtc = types.SimpleNamespace(
            hiprtcError=HipError, hiprtcCreateProgram=lambda source, name, headers, texts: [source],
            hiprtcCompileProgram=self._compile, hiprtcGetProgramLog=lambda program: self.refuse + "\0",
            hiprtcGetCode=lambda program: b"code object", hiprtcDestroyProgram=lambda program: None)

    def install(self, monkeypatch: object) -> None:
        package = types.ModuleType("pyhip")
        package.hip, package.hiprtc = self.hip, self.hiprtc
        monkeypatch.setitem(__import__("sys").modules, "pyhip", package)

    def _free(self, pointer: object) -> None:
        self.freed += 1

    def _compile(self, program: object, options: list[str]) -> None:
        self.options = options
        if self.refuse:
            raise HipError("hiprtcErrorCompilation")
