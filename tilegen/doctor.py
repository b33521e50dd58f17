"""What is installed, what works, and what to install for the rest."""

from __future__ import annotations

import os
import platform
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from importlib import metadata

from tilegen.build import cache, clang_hip, cxx, hiprtc, nvcc, nvrtc
from tilegen.errors import TilegenError
from tilegen.runtime import cpu, cupy


@dataclass(frozen=True)
class Check:
    """One line of the report: what was looked for, whether it works, what was found, and how to get it."""

    name: str
    ok: bool
    detail: str
    fix: str = ""


def collect() -> list[Check]:
    """All checks, in the order of the report. Nothing is raised and nothing is changed."""
    return [_attempt(name, look) for name, look in _LOOKS.items()]


def _attempt(name: str, look: Callable[[], str]) -> Check:
    try:
        return Check(name, True, look())
    except TilegenError as error:
        return Check(name, False, error.message, error.hint)


def _python() -> str:
    if sys.version_info < (3, 10):
        raise TilegenError("TG0304", f"{platform.python_version()} is too old",
                           hint="use Python 3.10 or newer")
    system = f"{platform.system()} {platform.machine()}"
    return f"{platform.python_version()} on {system}, {os.cpu_count()} processors"


def _package(name: str, extra: str) -> Callable[[], str]:
    def look() -> str:
        try:
            return metadata.version(name)
        except metadata.PackageNotFoundError:
            raise TilegenError("TG0304", "not installed", hint=f"pip install {extra}") from None
    return look


def _compiler(name: str) -> Callable[[], str]:
    def look() -> str:
        found = cxx.find(name)
        return f"{found.version}, {'with' if found.openmp else 'without'} OpenMP"
    return look


def _chosen_compiler() -> str:
    found = cxx.find()
    return f"{found.name} ({' '.join(found.command)})"


def _openmp() -> str:
    found = cxx.find()
    if "ziglang" in found.command or not cxx.has_openmp(found.command):
        raise TilegenError("TG0301", f"{found.name} has no OpenMP: CPU kernels run on one thread",
                           hint="install g++, or libomp-dev for clang++")
    return f"{found.name} -fopenmp, {os.environ.get('OMP_NUM_THREADS') or os.cpu_count()} threads"


def _avx2() -> str:
    cpu.require_avx2()
    return "AVX2 and FMA"


def _nvrtc() -> str:
    found = nvrtc.find()
    architectures = found.architectures()
    return f"{found.version}, {architectures[0]} to {architectures[-1]}"


def _nvcc() -> str:
    found = nvcc.find()
    return f"{found.version} ({found.command})"


def _gpu() -> str:
    return ", ".join(cupy.device_names())


def _hip_compiler() -> str:
    found = clang_hip.find()
    return f"{found.name} {found.version} (to check HIP sources without ROCm)"


def _hip() -> str:
    return f"hiprtc, HIP {hiprtc.find().version}"


def _cache() -> str:
    place = cache.folder()
    existing = next(p for p in (place, *place.parents) if p.exists())
    try:
        with tempfile.TemporaryFile(dir=existing):
            pass
    except OSError as error:
        raise TilegenError("TG0303", f"{place} cannot be written: {error.strerror}",
                           hint="set TILEGEN_CACHE_DIR to a folder that you can write to") from None
    found = cache.entries()
    used, limit = sum(entry.bytes for entry in found) / 1e6, cache.LIMIT_BYTES / 1e6
    return f"{place}, {len(found)} entries, {used:.1f} MB of {limit:.0f}"


_LOOKS: dict[str, Callable[[], str]] = {
    "Python": _python,
    "NumPy": _package("numpy", "numpy"),
    "g++": _compiler("g++"),
    "clang++": _compiler("clang++"),
    "zig c++": _compiler("zig"),
    "C++ compiler used": _chosen_compiler,
    "OpenMP": _openmp,
    "AVX2": _avx2,
    "NVRTC": _nvrtc,
    "nvcc": _nvcc,
    "NVIDIA GPU": _gpu,
    "HIP compiler": _hip_compiler,
    "HIP": _hip,
    "torch": _package("torch", "'tilegen[torch]' (only for torch tensors)"),
    "cache": _cache,
}
