"""Launches C++ kernels: the shared library is called through ctypes, on host memory."""

from __future__ import annotations

import ctypes
import platform
from collections.abc import Callable
from pathlib import Path

from tilegen.build import cxx
from tilegen.build.toolchain import Artifact
from tilegen.errors import TilegenError
from tilegen.runtime.arrays import ArrayView
from tilegen.runtime.backend import Backend, compile_contract
from tilegen.runtime.binding import Bound, Scalar
from tilegen.runtime.contract import Contract, Param
from tilegen.runtime.packing import c_type


class CpuKernel:
    """The loaded entries of one shared library. Grid and block are the library's own business."""

    def __init__(self, artifact: Artifact, contract: Contract) -> None:
        types = [_argument_type(p) for p in contract.params] + [ctypes.c_int32] * len(contract.sizes)
        self.functions = []
        for launch in contract.launches:
            try:
                function = getattr(ctypes.CDLL(str(artifact.path)), launch.entry)
            except (OSError, AttributeError) as error:
                raise TilegenError("TG0411", f"cannot load {launch.entry}: {error}") from None
            function.restype = None
            function.argtypes = [types[position] for position in launch.arguments]
            self.functions.append(function)

    def prepare(self, bound: Bound) -> list:
        """The functions to call with their C arguments. Raises TG0405 for memory of a GPU."""
        for name, array in bound.arrays.items():
            if array.device.kind != "cpu":
                raise TilegenError("TG0405", f"argument {name} is on {array.device}, but the kernel runs on "
                                   "the CPU", hint=f"pass a host array, such as {_host_copy(name, array)}")
        values = [a.value if isinstance(a, Scalar) else a.pointer for a in bound.arguments]
        return [(self.functions[number], tuple([values[position] for position in launch.arguments]))
                for number, launch, _ in bound.launches()]

    def launch(self, bound: Bound | None, prepared: list, stream: object = None) -> None:
        """Runs to the end. `stream` has no meaning on the CPU and must be None."""
        if stream is not None:
            raise TilegenError("TG0405", "stream= was given, but the kernel runs on the CPU")
        for function, arguments in prepared:
            function(*arguments)

    def prepared(self, bound: Bound) -> Callable[[object], None]:
        """See `backend.Kernel`."""
        calls = self.prepare(bound)
        return lambda stream: self.launch(bound, calls, stream)

    def repeat(self, bound: Bound, names: tuple[str, ...]) -> Callable[[tuple, object], object]:
        """See `backend.Kernel`."""
        calls = self.prepare(bound)
        own = [*[p.name for p in bound.contract.params], *bound.contract.sizes]
        places = [[names.index(own[p]) if own[p] in names else None for p in launch.arguments]
                  for _, launch, _ in bound.launches()]
        chosen = [(function, tuple([len(names) + i if place is None else place for i, place in enumerate(some)]), fixed)
                  for (function, fixed), some in zip(calls, places)]

        def launch(values: tuple, stream: object) -> None:
            if stream is not None:
                self.launch(None, [], stream)               # which refuses it
            for function, picked, fixed in chosen:
                all_values = values + fixed
                function(*[all_values[place] for place in picked])
        return launch


def require_avx2() -> None:
    """Raises TG0408 on a processor that cannot run the emitted instructions."""
    if not has_avx2():
        raise TilegenError("TG0408", f"this processor ({platform.machine()}) has no AVX2, which CPU kernels "
                           "use")


def has_avx2() -> bool:
    """Whether the processor says that it has AVX2 and FMA; without /proc, whether it is an x86-64."""
    try:
        flags = Path("/proc/cpuinfo").read_text()
    except OSError:
        return platform.machine().lower() in ("x86_64", "amd64")
    return " avx2" in flags and " fma" in flags


def _argument_type(param: Param) -> type:
    kind = ctypes.c_void_p if param.is_array else c_type(param.dtype)
    if kind is None:
        raise TilegenError("TG0702", f"argument {param.name}: a scalar cannot be a {param.dtype} on the CPU")
    return kind


def _host_copy(name: str, array: ArrayView) -> str:
    return f"{name}.cpu()" if array.library == "torch" else f"{name}.get()"


def _build(text: str, contract: Contract, arch: str | None, compiler: str | None) -> Artifact:
    return compile_contract(text, contract, cxx.find(compiler), arch or contract.arch or "avx2")


BACKEND = Backend("cpu", _build, require_avx2, CpuKernel)
