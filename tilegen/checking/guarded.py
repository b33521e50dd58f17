"""Lines that the emulator does not run: hardware helpers behind `#ifndef TILEGEN_EMULATOR`, which it replaces by
its own. A hand edit of one of them shows on a GPU only."""

from __future__ import annotations

import re

from tilegen import ir, passes, targets
from tilegen.emit.file import emit_file
from tilegen.errors import TilegenError
from tilegen.runtime.contract import Contract

_START = re.compile(r"\s*#\s*ifndef\s+TILEGEN_EMULATOR\b")
_OPEN, _CLOSE = re.compile(r"\s*#\s*if"), re.compile(r"\s*#\s*endif")
_OTHERWISE = re.compile(r"\s*#\s*el")


def unchecked_edits(text: str, contract: Contract, kernel: ir.Kernel | None) -> list[int]:
    """The numbers of guarded lines in `text` that the file would not have if `kernel` were emitted now; none
    where that cannot be told."""
    own = _guarded(text)
    if kernel is None or not own:
        return []
    target = targets.find(contract.target, contract.arch or None)
    try:
        emitted = emit_file(passes.run(kernel, target), target, kernel)
    except TilegenError:
        return []
    known = {line.strip() for line in emitted.splitlines()}
    return [number for number, line in own if line not in known]


def _guarded(text: str) -> list[tuple[int, str]]:
    """(number, line) of everything between the guard and its #else or #endif."""
    found, depth = [], 0
    for number, line in enumerate(text.splitlines(), 1):
        if depth == 0:
            depth = 1 if _START.match(line) else 0
            continue
        depth += bool(_OPEN.match(line)) - bool(_CLOSE.match(line))
        if depth == 1 and _OTHERWISE.match(line):
            depth = 0
        elif depth and line.strip():
            found.append((number, line.strip()))
    return found
