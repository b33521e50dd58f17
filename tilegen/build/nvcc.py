"""nvcc, from CUDA_HOME, CUDA_PATH or the PATH: the same cubin as NVRTC makes, by the toolkit's compiler."""

from __future__ import annotations

import os
import re
import shutil
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from tilegen.build.toolchain import Toolchain, compile_with, run
from tilegen.errors import TilegenError


@dataclass(frozen=True)
class Nvcc(Toolchain):
    """One nvcc."""

    command: str

    def flags(self, arch: str) -> tuple[str, ...]:
        return ("-cubin", f"-arch={arch}", "-O3", "-std=c++17", "-Xptxas", "-v", "-lineinfo")

    def compile(self, source: Path, artifact: Path, arch: str) -> str:
        return compile_with((self.command, *self.flags(arch), "-o", artifact.name, source.name), source)


@lru_cache(maxsize=1)
def find() -> Nvcc:
    """The nvcc to use. Raises TG0301 where there is none."""
    roots = [os.environ.get("CUDA_HOME"), os.environ.get("CUDA_PATH")]
    places = [shutil.which(str(Path(root, "bin", "nvcc"))) for root in roots if root]
    places += [shutil.which("nvcc"), shutil.which("/usr/local/cuda/bin/nvcc")]
    command = next(filter(None, places), None)
    if command is None:
        raise TilegenError("TG0301", "nvcc was not found", hint="set CUDA_HOME, or use NVRTC: "
                           "pip install nvidia-cuda-nvrtc-cu12")
    status, text = run((command, "--version"))
    version = re.search(r"V(\d[\d.]+)", text)
    if status or version is None:
        raise TilegenError("TG0301", f"{command} does not work: {text.strip()}")
    return Nvcc("nvcc", version[1], ".cu", ".cubin", command)
