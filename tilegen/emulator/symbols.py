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
    return [(source, chain[0]) if chain else _UNKNOWN for chain in chains_of(library, addresses, source)]


def chains_of(library: Path, addresses: Sequence[int], source: str) -> list[list[int]]:
    """The lines of `source` at each address of `library`: the innermost first, then those of the calls that
    the compiler has replaced by what they call."""
    tool = next((found for name in _TOOLS if (found := shutil.which(name))), None)
    wanted = sorted({a for a in addresses if a})
    if tool is None or not wanted:
        return [[] for _ in addresses]
    status, text = run((tool, "-a", "-i", "-e", str(library), *map(hex, wanted)))
    found: dict[int, list[int]] = {}
    current = 0
    for row in text.splitlines() if not status else ():
        if row.startswith("0x"):
            current = int(row, 16)
            continue
        file, _, line = row.partition(" ")[0].rpartition(":")
        if Path(file).name == source and line.isdigit():
            found.setdefault(current, []).append(int(line))
    return [found.get(address, []) for address in addresses]
