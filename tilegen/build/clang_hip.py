"""Compiles HIP without ROCm: a clang with the AMDGPU back end, and a stub header of ours.

The result is assembly. It proves that the source is right for the architecture and says what a
kernel uses; it cannot be launched. MACA sources compile the same way as a check of their text only.
"""

from __future__ import annotations

import importlib.util
import re
import shutil
import sys
from dataclasses import dataclass
from functools import lru_cache
from importlib import metadata
from pathlib import Path

from tilegen.build.cache import content_hash
from tilegen.build.toolchain import Toolchain, compile_with, run
from tilegen.errors import TilegenError

STUBS = Path(__file__).parent / "stubs"
_FIGURE = re.compile(r"^\s+\.(?:[sv]gpr(?:_spill)?_count|(?:group|private)_segment_fixed_size):.*$",
                     re.MULTILINE)
COMPILERS = ("clang-22", "clang-19", "zig", "hipcc")


@dataclass(frozen=True)
class ClangHip(Toolchain):
    """One clang (or hipcc, which brings its own headers)."""

    command: tuple[str, ...]
    headers: str        # a hash of our stub headers, or empty

    @property
    def identity(self) -> tuple[str, ...]:
        return *super().identity, self.headers

    def flags(self, arch: str) -> tuple[str, ...]:
        stubs = ("-nogpuinc", "-nogpulib") if self.headers else ()
        return ("-x", "hip", f"--offload-arch={arch}", "--offload-device-only", *stubs, "-O3", "-std=c++17",
                "-Wall", "-Wno-unused-command-line-argument", "-S")

    def compile(self, source: Path, artifact: Path, arch: str) -> str:
        include = ("-I", str(STUBS)) if self.headers else ()
        files = ("-o", artifact.name, source.name)
        log = compile_with((*self.command, *self.flags(arch), *include, *files), source)
        return log + _figures(artifact.read_text(encoding="utf-8"))


@lru_cache(maxsize=8)
def find(name: str | None = None) -> ClangHip:
    """The compiler `name` (of COMPILERS), else the first of them. Raises TG0301 where there is none."""
    for candidate in COMPILERS if name is None else (name,):
        command = _command(candidate)
        if command is not None:
            headers = "" if candidate == "hipcc" else _hash_of_stubs()
            return ClangHip(candidate, _version(candidate, command), ".hip", ".s", command, headers)
    missing = f"none of {', '.join(COMPILERS)} is installed" if name is None else f"{name} is not installed"
    raise TilegenError("TG0301", f"no compiler for HIP: {missing}",
                       hint="pip install ziglang, or apt-get install clang-22")


def _command(name: str) -> tuple[str, ...] | None:
    if name == "zig":
        return (sys.executable, "-m", "ziglang", "clang") if importlib.util.find_spec("ziglang") else None
    path = shutil.which(name)
    return (path,) if path else None


def _version(name: str, command: tuple[str, ...]) -> str:
    if name == "zig":
        return metadata.version("ziglang")
    return run((*command, "--version"))[1].strip().partition("\n")[0]


def _hash_of_stubs() -> str:
    return content_hash(*(path.read_text() for path in sorted(STUBS.rglob("*.h"))))


def _figures(assembly: str) -> str:
    """The lines of the kernel's metadata that say what it uses, for the log."""
    return "".join(f"{line.strip()}\n" for line in _FIGURE.findall(assembly))
