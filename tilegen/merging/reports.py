"""Reports of other tools on an emitted file, with the Python line beside each of its lines."""

from __future__ import annotations

import re
import shutil
from collections.abc import Sequence
from pathlib import Path

from tilegen.build.toolchain import run
from tilegen.errors import TilegenError
from tilegen.merging.places import python_place
from tilegen.merging.python import Source
from tilegen.merging.regions import lines_of
from tilegen.runtime.contract import Contract

# matmul.cu:141 and matmul.cu(141), as compilers, compute-sanitizer and profilers write a place
_PLACE = re.compile(r"(?P<file>[\w./+-]+\.(?:cu|hip|maca|cpp|cc))(?::(?P<line>\d+)|\((?P<other>\d+)\))")


def annotated(log: str, text: str, contract: Contract, source: Source | None, name: str = "") -> str:
    """`log` with a line after each that names a line of the file: what stands there, and the Python that it is for.

    The file is known by its own `name` or by the one that it is compiled as, which is the kernel's.
    """
    own, lines = {Path(name).name, *(f"{contract.entry}{suffix}" for suffix in (".cu", ".hip", ".maca", ".cpp"))}, []
    emitted = lines_of(text)
    for line in log.split("\n"):
        lines.append(line)
        for match in _PLACE.finditer(line):
            number = int(match["line"] or match["other"])
            if Path(match["file"]).name in own and 0 < number <= len(emitted):
                lines.append(f"    | {_words(text, number, contract, source)}")
    return "\n".join(lines)


def _words(text: str, number: int, contract: Contract, source: Source | None) -> str:
    """`C[...] = sum;  <- gemm.py:22  T.copy(...)`, or the part of the file that the line is in."""
    region, place = python_place(text, number, contract, source)
    emitted = lines_of(text)[number - 1].strip()
    if region.origin is None or place is None:
        return f"{emitted}  <- {region.section}" + (f", {place}" if place else "")
    return f"{emitted}  <- {place}  {place.text}".rstrip()


def compute_sanitizer(command: Sequence[str]) -> tuple[bool, str]:
    """Runs a command under NVIDIA's compute-sanitizer: whether it found nothing, and its report.

    Raises TG0301 where the tool is not installed.
    """
    tool = shutil.which("compute-sanitizer") or shutil.which("/usr/local/cuda/bin/compute-sanitizer")
    if tool is None:
        raise TilegenError("TG0301", "compute-sanitizer, which watches kernels on a GPU, was not found",
                           hint="it comes with the CUDA toolkit; --on emulator watches without it")
    status, log = run((tool, "--tool", "memcheck", "--error-exitcode", "9", *command))
    return status == 0, log
