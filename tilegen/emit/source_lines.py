"""Where a statement comes from, as the comment above it: `gemm.py:24  T.gemm(A, B, C)`."""

from __future__ import annotations

import os

from pathlib import Path

from tilegen import ir
from tilegen.errors import Loc

_WIDTH = 84


def origin(statement: ir.Stmt) -> str:
    """File, line and source text of a statement, shortened to one comment line; '' where unknown."""
    loc = statement.loc
    if loc is None or not loc.text():
        return ""
    last = _last_line(statement)
    lines = [loc.text(n).strip() for n in range(loc.line, last + 1)]
    place = f"{os.path.basename(loc.file)}:{loc.line}" + (f"-{last}" if last > loc.line else "")
    text = " ".join(lines)
    if len(place) + len(text) > _WIDTH:
        text = (
            lines[0]
            if last > loc.line and len(lines[0]) + len(place) <= _WIDTH
            else text[: _WIDTH - len(place) - 4] + " ..."
        )
    return f"{place}  {text}"


def path_of(loc: Loc) -> str:
    """The Python file as text that is the same on every machine: relative as it was named, else its name alone."""
    return os.path.basename(loc.file) if os.path.isabs(loc.file) else Path(loc.file).as_posix()


def _last_line(statement: ir.Stmt) -> int:
    """The last Python line of a tile statement; of a plain loop or condition only its head."""
    loc = statement.loc
    if isinstance(statement, (ir.For, ir.While, ir.If)):
        return loc.line
    return max(loc.end_line, loc.line)
