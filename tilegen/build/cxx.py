"""C++ compilers for the CPU target: g++, clang++, or the one in the `ziglang` package."""

from __future__ import annotations

import _ctypes
import ctypes
import importlib.util
import os
import shlex
import shutil
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib import metadata
from pathlib import Path

from tilegen.build.toolchain import CompilerRefusal, Toolchain, compile_with, run
from tilegen.errors import TilegenError

_AVX2 = ("-mavx2", "-mfma", "-mf16c")
ARCH_FLAGS = {"avx2": _AVX2, "avx512": (*_AVX2, "-mavx512f", "-mavx512bw", "-mavx512dq", "-mavx512vl")}
COMPILERS = ("g++", "clang++", "zig")
_OPENMP_PROBE = "#include <omp.h>\nextern \"C\" int threads() { return omp_get_max_threads(); }\n"


@dataclass(frozen=True)
class Cxx(Toolchain):
    """A C++ compiler that makes a shared library; `strict` turns its warnings into errors."""

    command: tuple[str, ...]
    openmp: bool
    strict: bool = False

    def flags(self, arch: str) -> tuple[str, ...]:
        if arch not in ARCH_FLAGS:
            raise TilegenError("TG0502", f"unknown CPU arch {arch!r}", hint=f"one of {', '.join(ARCH_FLAGS)}")
        parallel = ("-fopenmp",) if self.openmp else ("-Wno-unknown-pragmas",)
        return ("-O3", *ARCH_FLAGS[arch], *parallel, "-std=c++17", "-shared", "-fPIC", "-Wall",
                *(("-Wextra", "-Werror") if self.strict else ()))

    def compile(self, source: Path, artifact: Path, arch: str) -> str:
        note = "" if self.openmp else f"note: {self.name} has no OpenMP here: the kernel runs on one thread\n"
        files = ("-o", artifact.name, source.name)
        return note + compile_with((*self.command, *self.flags(arch), *files), source)

    def link(self, objects: Sequence[Path], artifact: Path) -> None:
        """Makes the shared library `artifact`. Raises CompilerRefusal with the log."""
        compile_with((*self.command, "-shared", "-pthread", "-o", artifact.name, *map(str, objects)), artifact)


@dataclass(frozen=True)
class Zig(Cxx):
    """The C++ compiler of the `ziglang` package.

    Its driver would build a C++ run-time library of its own for every new set of flags, which takes most
    of a minute. Kernels use the headers alone, so the object is linked without that library, unless it
    turns out to need it.
    """

    def compile(self, source: Path, artifact: Path, arch: str) -> str:
        made = source.with_suffix(".o")
        flags = [flag for flag in self.flags(arch) if flag != "-shared"]
        log = compile_with((*self.command, *flags, "-c", "-o", made.name, source.name), source)
        self.link([Path(made.name)], artifact)
        made.unlink()
        return f"note: {self.name} has no OpenMP: the kernel runs on one thread\n{log}"

    def link(self, objects: Sequence[Path], artifact: Path) -> None:
        """Makes the shared library `artifact`. Raises CompilerRefusal with the log."""
        names = [str(path) for path in objects]
        compile_with((*self.command[:-1], "ld.lld", "-shared", "-o", artifact.name, *names), artifact)
        if not _loads(artifact):
            super().link(objects, artifact)


def _loads(library: Path) -> bool:
    """Whether all that the library needs is there."""
    try:
        handle = ctypes.CDLL(str(library))._handle
    except OSError:
        return False
    _ctypes.dlclose(handle)
    return True


def find(name: str | None = None, strict: bool = False) -> Cxx:
    """The C++ compiler to use: `name` (of COMPILERS, or a command), else CXX, CC, g++, clang++, zig.

    Raises TG0301 where there is none.
    """
    if name is not None:
        command = _command(name)
        if command is None:
            raise TilegenError("TG0301", f"the C++ compiler {name} is not installed", hint=_HINT)
        return _probe(name, command, strict)
    for source, command in candidates():
        if shutil.which(command[0]):
            return _probe(source, command, strict)
    raise TilegenError("TG0301", "no C++ compiler found: no CXX, g++, clang++ or ziglang package", hint=_HINT)


def candidates() -> list[tuple[str, tuple[str, ...]]]:
    """(name, command) of every compiler that would be tried, in order."""
    found = []
    if chosen := os.environ.get("CXX"):
        found.append((chosen, tuple(shlex.split(chosen))))
    elif chosen := os.environ.get("CC"):
        command = _beside_c(shlex.split(chosen))
        found += [(" ".join(command), command)]
    found += [(name, command) for name in COMPILERS if (command := _command(name))]
    return found


def _command(name: str) -> tuple[str, ...] | None:
    if name == "zig":
        return (sys.executable, "-m", "ziglang", "c++") if importlib.util.find_spec("ziglang") else None
    words = tuple(shlex.split(name))
    return words if words and shutil.which(words[0]) else None


def _beside_c(words: list[str]) -> tuple[str, ...]:
    """The C++ compiler that belongs to a C compiler: g++ beside gcc, clang++ beside clang."""
    folder, name = os.path.split(words[0])
    for c, cxx in (("gcc", "g++"), ("clang", "clang++"), ("cc", "c++")):
        if c in name:
            return (os.path.join(folder, name.replace(c, cxx)), *words[1:])
    return tuple(words)


@lru_cache(maxsize=16)
def _probe(name: str, command: tuple[str, ...], strict: bool) -> Cxx:
    if "ziglang" in command:
        return Zig("zig", metadata.version("ziglang"), ".cpp", ".so", command, openmp=False, strict=strict)
    status, text = run((*command, "--version"))
    if status or not text.strip():
        reason = text.strip() or f"it ended with status {status}"
        raise TilegenError("TG0301", f"{name} does not work: {reason}", hint=_HINT)
    version = text.strip().splitlines()[0]
    # gcc brings its OpenMP library along; clang's is a package of its own
    openmp = "clang" not in version or has_openmp(command)
    return Cxx(name, version, ".cpp", ".so", command, openmp, strict)


@lru_cache(maxsize=16)
def has_openmp(command: tuple[str, ...]) -> bool:
    """Whether a program with OpenMP compiles and links."""
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder, "probe.cpp")
        source.write_text(_OPENMP_PROBE)
        try:
            compile_with((*command, "-fopenmp", "-shared", "-fPIC", "-o", "probe.so", source.name), source)
        except CompilerRefusal:
            return False
    return True


_HINT = "install g++ (apt-get install g++), or pip install ziglang"
