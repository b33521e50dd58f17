"""An emitted file in regions: its sections, and in the kernel what stands under each `// gemm.py:24  T.gemm(...)`."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass

from tilegen.runtime.contract import MARK

# `// gemm.py:24  T.gemm(A, B, C)`, on a line of its own or behind a statement; `gemm.py:24-26` for several lines
ORIGIN = re.compile(r"//\s*(?P<file>[\w.-]+\.py|<[\w -]+>):(?P<line>\d+)(?:-(?P<last>\d+))?(?:\s+(?P<text>.*))?$")
_SECTION = re.compile(r"// ---- (?P<title>[\w -]+?)(?::.*?)? -{4,}$")
_NAMES = {"Knobs": "knobs", "Device helpers": "helpers", "Helpers": "helpers", "Shared memory": "shared memory",
          "Tiles": "shared memory", "Layouts": "layouts", "The kernel": "frame", "Stand-alone": "stand-alone"}
HEADER, CONTRACT, STAND_ALONE = "header", "contract", "stand-alone"


@dataclass(frozen=True)
class Place:
    """Lines of a Python file, and what the origin comment says of them."""

    file: str
    line: int
    last: int
    text: str = ""

    def __str__(self) -> str:
        return f"{self.file}:{self.line}" + (f"-{self.last}" if self.last > self.line else "")


@dataclass(frozen=True)
class Region:
    """Lines of an emitted file from `first` (counted from 1) on. `origin` is the Python that they are for; a
    section such as the knobs has none."""

    section: str
    first: int
    lines: tuple[str, ...]
    origin: Place | None = None

    @property
    def last(self) -> int:
        """The last line; before `first` in an empty region."""
        return self.first + len(self.lines) - 1

    @property
    def key(self) -> tuple[str, str]:
        """What stays the same when lines are added to the Python: the section, or the Python text."""
        return self.section, self.origin.text if self.origin else ""

    @property
    def name(self) -> str:
        """`knobs`, or `gemm.py:24  T.gemm(A, B, C)`."""
        return f"{self.origin}  {self.origin.text}".rstrip() if self.origin else self.section


def lines_of(text: str) -> list[str]:
    """The lines of a text, so that joining them by line breaks gives it back."""
    return text.split("\n")


def regions(text: str) -> list[Region]:
    """All regions in the order of the file; together they are the whole text."""
    lines = lines_of(text)
    kernel_ends = _contract_span(lines) or (len(lines), len(lines))
    starts: list[tuple[int, str, Place | None]] = [(0, HEADER, None)]
    section = HEADER
    for number, line in enumerate(lines):
        if kernel_ends[0] <= number < kernel_ends[1]:
            if number == kernel_ends[0]:
                starts.append((number, CONTRACT, None))
            continue
        if number == kernel_ends[1]:
            section = STAND_ALONE
            starts.append((number, section, None))
        if match := _SECTION.match(line):
            title = match["title"]
            named = _NAMES.get(title, title.lower())
            if named != section:
                section = named
                starts.append((number, section, None))
        elif section == "frame" and (place := origin_of(line)):
            starts.append((number, section, place))
        elif section == "frame" and starts[-1][2] and line.startswith("}"):
            starts.append((number, section, None))
    ends = [start for start, _, _ in starts[1:]] + [len(lines)]
    return [Region(name, start + 1, tuple(lines[start:end]), origin)
            for (start, name, origin), end in zip(starts, ends) if end > start or len(lines) == 0]


def origin_of(line: str) -> Place | None:
    """The Python place that a line's comment names; None for a line without one."""
    match = ORIGIN.search(line)
    if match is None:
        return None
    first = int(match["line"])
    return Place(match["file"], first, int(match["last"] or first), (match["text"] or "").strip())


def region_at(found: Sequence[Region], line: int) -> Region:
    """The region that holds a line (from 1); the last one for a line behind the end."""
    return next((region for region in found if region.first <= line <= region.last), found[-1])


def _contract_span(lines: list[str]) -> tuple[int, int] | None:
    """The lines of the contract comment, from 0, the second one exclusive."""
    first = next((n for n, line in enumerate(lines) if line.lstrip().startswith(MARK)), None)
    return None if first is None else (first, first + contract_of(lines[first:])[1])


def contract_of(lines: Sequence[str]) -> tuple[dict | None, int, str]:
    """The contract that starts in the first of the lines, None where it is no JSON object; how many lines it takes;
    and what stands behind it in the last of them."""
    comment = list(itertools.takewhile(lambda line: line.lstrip().startswith("//"), lines))
    text = "\n".join([comment[0].lstrip()[len(MARK):].lstrip(), *(line.lstrip()[2:] for line in comment[1:])])
    try:
        raw, end = json.JSONDecoder().raw_decode(text)
    except json.JSONDecodeError:
        return None, next((n for n, line in enumerate(comment) if _SECTION.match(line)), len(comment)), ""
    return raw if isinstance(raw, dict) else None, text.count("\n", 0, end) + 1, text[end:].partition("\n")[0]
