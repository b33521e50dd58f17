"""NVRTC, NVIDIA's run-time compiler, through ctypes: from the pip wheels, CUDA_HOME, or the system.

The result is a cubin for one exact architecture; no header is on the include path, since emitted
files include none.
"""

from __future__ import annotations

import ctypes
import importlib.util
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

from tilegen.build.toolchain import CompilerRefusal, Toolchain
from tilegen.errors import TilegenError

_IN_WHEELS = ("cuda_nvrtc/lib", "cuda_nvrtc/bin", "cu13/lib", "cu13/bin", "cu13/bin/x86_64")
_IN_TOOLKIT = ("lib64", "lib", "targets/x86_64-linux/lib", "targets/sbsa-linux/lib", "bin", "bin/x64")
_FILE = re.compile(r"libnvrtc\.so\.(\d+)|nvrtc64_(\d+)_0\.dll")
_SYSTEM_NAMES = ("libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so")


@dataclass(frozen=True)
class Nvrtc(Toolchain):
    """A loaded NVRTC."""

    library: ctypes.CDLL = field(compare=False, repr=False, default=None)

    def flags(self, arch: str) -> tuple[str, ...]:
        # from 12.9 on it may take the result of an earlier compilation, and then it has no log
        fresh = ("--no-cache",) if self.numbers >= (12, 9) else ()
        return (f"--gpu-architecture={arch}", "-std=c++17", "--ptxas-options=-v", "--generate-line-info", *fresh)

    @property
    def numbers(self) -> tuple[int, ...]:
        """The version as numbers: (12, 9)."""
        return tuple(map(int, self.version.split(".")))

    def compile(self, source: Path, artifact: Path, arch: str) -> str:
        known = self.architectures()
        if arch.rstrip("af") not in known:
            raise TilegenError("TG0502", f"NVRTC {self.version} cannot compile for {arch}",
                               hint=f"it compiles for {', '.join(known)}")
        program = ctypes.c_void_p()
        self._call("nvrtcCreateProgram", ctypes.byref(program), source.read_bytes(), source.name.encode(),
                   0, None, None)
        try:
            flags = [flag.encode() for flag in self.flags(arch)]
            array = (ctypes.c_char_p * len(flags))(*flags)
            status = self.library.nvrtcCompileProgram(program, len(flags), array)
            log = self._fetch("nvrtcGetProgramLog", program).rstrip(b"\0").decode(errors="replace")
            if status:
                raise CompilerRefusal(log or self._message(status))
            artifact.write_bytes(self._fetch("nvrtcGetCUBIN", program))
            return log
        finally:
            self.library.nvrtcDestroyProgram(ctypes.byref(program))

    def architectures(self) -> list[str]:
        """The architectures that this NVRTC compiles for: sm_75, sm_80, ..."""
        count = ctypes.c_int()
        self._call("nvrtcGetNumSupportedArchs", ctypes.byref(count))
        numbers = (ctypes.c_int * count.value)()
        self._call("nvrtcGetSupportedArchs", numbers)
        return [f"sm_{n}" for n in numbers]

    def _fetch(self, getter: str, program: ctypes.c_void_p) -> bytes:
        size = ctypes.c_size_t()
        self._call(f"{getter}Size", program, ctypes.byref(size))
        buffer = ctypes.create_string_buffer(size.value)
        self._call(getter, program, buffer)
        return buffer.raw

    def _call(self, function: str, *arguments: object) -> None:
        status = getattr(self.library, function)(*arguments)
        if status:
            raise TilegenError("TG0301", f"NVRTC {self.version}: {function} failed: {self._message(status)}")

    def _message(self, status: int) -> str:
        self.library.nvrtcGetErrorString.restype = ctypes.c_char_p
        return self.library.nvrtcGetErrorString(status).decode()


@lru_cache(maxsize=1)
def find() -> Nvrtc:
    """The newest NVRTC of the pip wheels, else the one of CUDA_HOME, CUDA_PATH or the system.

    Raises TG0301 where there is none.
    """
    for candidate in (*_wheel_files(), *_toolkit_files(), *_SYSTEM_NAMES):
        try:
            library = ctypes.CDLL(str(candidate))
        except OSError:
            continue
        major, minor = ctypes.c_int(), ctypes.c_int()
        library.nvrtcVersion(ctypes.byref(major), ctypes.byref(minor))
        return Nvrtc("nvrtc", f"{major.value}.{minor.value}", ".cu", ".cubin", library)
    raise TilegenError("TG0301", "NVRTC, which compiles CUDA kernels, was not found",
                       hint="pip install nvidia-cuda-nvrtc-cu12 (or nvidia-cuda-nvrtc for CUDA 13), "
                            "or set CUDA_HOME")


def _wheel_files() -> Iterator[Path]:
    package = importlib.util.find_spec("nvidia")
    roots = list(package.submodule_search_locations or ()) if package else []
    yield from _newest_first(Path(root, part) for root in roots for part in _IN_WHEELS)


def _toolkit_files() -> Iterator[Path]:
    roots = [os.environ.get("CUDA_HOME"), os.environ.get("CUDA_PATH"), "/usr/local/cuda"]
    for root in filter(None, roots):
        yield from _newest_first(Path(root, part) for part in _IN_TOOLKIT)


def _newest_first(folders: Iterator[Path]) -> list[Path]:
    found = [(match, path) for folder in folders if folder.is_dir() for path in folder.iterdir()
             if (match := _FILE.fullmatch(path.name))]
    return [path for match, path in sorted(found, key=lambda pair: -int(pair[0][1] or pair[0][2]))]
