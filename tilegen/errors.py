"""Locations in the user's source, and the one exception that a user's mistake raises."""

from __future__ import annotations

import linecache
import os
import unicodedata
from dataclasses import dataclass, field, replace


@dataclass(frozen=True)
class Loc:
    """A span of source text: lines count from 1, columns from 0 (as `ast` does)."""

    file: str
    line: int
    column: int = 0
    end_line: int = 0
    end_column: int = 0
    call_site: Loc | None = None     # where the macro that holds this span was called

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column + 1}"

    @property
    def short(self) -> str:
        """`gemm.py:24`, the form used in emitted comments."""
        return f"{os.path.basename(self.file)}:{self.line}"

    def text(self, line: int | None = None) -> str:
        """The source line (without its newline), or an empty string where it is unknown."""
        return linecache.getline(self.file, line or self.line).rstrip("\n")


@dataclass(frozen=True)
class Note:
    """A further place that an error speaks of: `message` and where it is."""

    message: str
    loc: Loc | None = None


@dataclass
class TilegenError(Exception):
    """The only exception that a user's mistake raises.

    `code` is a key of `CODES`; `loc` the span at fault; `spans` further spans of the same line that
    get carets too; `notes` are other places; `hint` says what to write instead.
    """

    code: str
    message: str
    loc: Loc | None = None
    hint: str = ""
    notes: tuple[Note, ...] = ()
    spans: tuple[Loc, ...] = field(default=())

    def __post_init__(self) -> None:
        assert self.code in CODES, f"unknown error code {self.code}"
        super().__init__(self.message)

    def __str__(self) -> str:
        return render(self)

    def __reduce__(self):
        return (type(self), (self.code, self.message, self.loc, self.hint, self.notes, self.spans))

    def with_loc(self, loc: Loc) -> TilegenError:
        """The same error at `loc`, unless it has a place already."""
        return self if self.loc else replace(self, loc=loc)


def render(error: TilegenError) -> str:
    """The error as text: headline, place, excerpt with carets, notes, help."""
    lines = [f"error[{error.code}]: {error.message}"]
    if error.loc:
        lines += _excerpt(error.loc, error.spans or (error.loc,))
        site = error.loc.call_site
        while site:
            lines.append(f"  in the macro called at {site}: {site.text().strip()}")
            site = site.call_site
    for note in error.notes:
        place = f" at {note.loc}" if note.loc else ""
        lines.append(f"   = note: {note.message}{place}")
        if note.loc and note.loc.text():
            lines.append(f"           {note.loc.line} | {note.loc.text().strip()}")
    if error.hint:
        lines.append(f"   = help: {error.hint}")
    return "\n".join(lines)


def _excerpt(loc: Loc, spans: tuple[Loc, ...]) -> list[str]:
    text = loc.text()
    lines = [f"  --> {loc}"]
    if not text:
        return lines
    gutter = " " * len(str(loc.line))
    carets = [" "] * (_width(text) + 1)
    for span in spans:
        if span.line != loc.line:
            continue
        last = span.end_column if span.end_line in (0, span.line) else len(text)
        start, stop = _width(text[:span.column]), _width(text[:max(last, span.column + 1)])
        carets[start:stop] = "^" * (stop - start)
    return lines + [f"{gutter} |", f"{loc.line} | {text}", f"{gutter} | {''.join(carets).rstrip()}"]


def _width(text: str) -> int:
    return sum(2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)


# One line for each code. TG00 the Python that we read, TG01 types, shapes and scopes, TG02 planning
# and resources, TG03 compilers and cache, TG04 arrays and launching, TG05 the command line,
# TG06 the emulator, TG07 hand-edited files.
CODES: dict[str, str] = {
    "TG0001": "a Python construct that kernels do not have",
    "TG0002": "an unknown name",
    "TG0003": "the source text of the kernel cannot be found",
    "TG0004": "a value of the wrong kind for this place",
    "TG0005": "wrong arguments to an operation",
    "TG0006": "a tile operation outside of T.Kernel, or T.Kernel where it cannot be",
    "TG0007": "an unknown operation of T",
    "TG0008": "an assignment that kernels do not have",
    "TG0009": "a kernel without T.Kernel, or with more than one",
    "TG0010": "a bad tensor annotation",
    "TG0011": "a break or continue in a loop that has none",
    "TG0012": "a slice with a step",
    "TG0013": "a name that the emitted languages have already",
    "TG0101": "shapes differ",
    "TG0102": "dtypes differ, or an operation does not take this dtype",
    "TG0103": "a buffer of the wrong scope",
    "TG0104": "the sizes of a gemm do not fit",
    "TG0105": "an index out of bounds",
    "TG0106": "the number of indices differs from the rank",
    "TG0107": "a write to an input that is read only",
    "TG0108": "an unknown dtype",
    "TG0109": "a size that has to be known at compile time",
    "TG0110": "a size that is not positive",
    "TG0111": "a value of the wrong type",
    "TG0112": "a value that is used before it has one",
    "TG0113": "an integer division by zero",
    "TG0114": "iterations of T.Parallel that write different values to one element",
    "TG0201": "too much shared memory",
    "TG0202": "too many threads, or a number that the target cannot launch",
    "TG0203": "layouts of a fragment that disagree",
    "TG0204": "an operation that the target lacks",
    "TG0205": "a barrier under a condition that differs between threads",
    "TG0206": "a layout that gives two elements one place",
    "TG0207": "too many registers",
    "TG0208": "an access to a fragment that its layout cannot serve",
    "TG0209": "an order or stage of T.Pipelined that would change the result",
    "TG0301": "no compiler found",
    "TG0302": "the compiler refused the source",
    "TG0303": "the cache folder cannot be used",
    "TG0304": "a package is missing",
    "TG0401": "wrong number of arguments",
    "TG0402": "an array of the wrong dtype",
    "TG0403": "an array of the wrong shape",
    "TG0404": "an array that is not contiguous",
    "TG0405": "an array on the wrong device",
    "TG0406": "an array that is not aligned",
    "TG0407": "an object that is not an array",
    "TG0408": "no device, or the device cannot run this",
    "TG0409": "a condition that the kernel requires does not hold",
    "TG0410": "an array that is read only",
    "TG0411": "the launch failed",
    "TG0412": "an array with too many elements",
    "TG0413": "an output that shares memory with another argument",
    "TG0414": "a device assertion failed",
    "TG0415": "a torch tensor whose gradient would be lost",
    "TG0501": "a value is missing (-D NAME=VALUE)",
    "TG0502": "an unknown target or arch",
    "TG0503": "an unknown knob or size",
    "TG0504": "a file that cannot be read or written",
    "TG0505": "no kernel, or several kernels, in a file",
    "TG0506": "an unknown option or value on the command line",
    "TG0507": "a Python file that fails when it is run",
    "TG0601": "the emulator found a fault in the kernel",
    "TG0602": "source that the emulator cannot compile",
    "TG0701": "an emitted file without a launch contract",
    "TG0702": "a launch contract that cannot be read",
    "TG0703": "the results differ from the reference",
    "TG0704": "the text that a file was emitted as cannot be recovered",
    "TG0705": "conflict markers of an earlier merge",
}
