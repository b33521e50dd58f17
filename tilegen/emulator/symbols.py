"""From an address in compiled code to a line of the emitted file."""

from __future__ import annotations

import shutil
from pathlib import Path

from tilegen.build.toolchain import run

_TOOLS = ("addr2line", "llvm-addr2line")


def line_of(library: Path, address: int, source: str) -> tuple[str, int]:
    """(file, line) of the innermost line of `source` at `address` of `library`; ("", 0) if unknown.

    Code of the emulator's headers is inlined into the emitted file: the line is that of the caller.
    """
    tool = next((found for name in _TOOLS if (found := shutil.which(name))), None)
    if tool is None:
        return "", 0
    # the address is that of a return, or of the access itself: one byte back is inside of the access
    status, text = run((tool, "-i", "-e", str(library), hex(address)))
    for frame in text.split("\n") if not status else ():
        file, _, line = frame.partition(" ")[0].rpartition(":")
        if Path(file).name == source and line.isdigit():
            return source, int(line)
    return "", 0
