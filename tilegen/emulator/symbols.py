"""From addresses in compiled code to lines of the emitted file."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path

from tilegen.build.toolchain import run

_TOOLS = ("addr2line", "llvm-addr2line")
_UNKNOWN = ("", 0)


def lines_of(library: Path, addresses: Sequence[int], source: str) -> list[tuple[str, int]]:
    """(file, line) of the innermost line of `source` at each address of `library`; ("", 0) if unknown.

    Code of the emulator's headers is inlined into the emitted file: the line is that of the caller.
    """
    tool = next((found for name in _TOOLS if (found := shutil.which(name))), None)
    wanted = sorted({a for a in addresses if a})
    if tool is None or not wanted:
        return [_UNKNOWN] * len(addresses)
    status, text = run((tool, "-a", "-i", "-e", str(library), *map(hex, wanted)))
    found: dict[int, tuple[str, int]] = {}
    current = 0
    for row in text.splitlines() if not status else ():
        if row.startswith("0x"):
            current = int(row, 16)
            continue
        file, _, line = row.partition(" ")[0].rpartition(":")
        if current not in found and Path(file).name == source and line.isdigit():
            found[current] = (source, int(line))
    return [found.get(address, _UNKNOWN) for address in addresses]
