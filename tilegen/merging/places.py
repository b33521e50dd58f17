"""From a line of an emitted file to its Python line, and back."""

from __future__ import annotations

import re
from dataclasses import dataclass

from tilegen.build.lint import Origin, python_line
from tilegen.merging.python import Source
from tilegen.merging.regions import HEADER, STAND_ALONE, Place, Region, lines_of, origin_of, region_at, regions
from tilegen.runtime.contract import Contract

_CONSTANT = re.compile(r"\s*constexpr\s+[\w:\s]+?(\w+)\s*=")


@dataclass(frozen=True)
class Emitted:
    """Lines of an emitted file that one Python statement is for. `section` is where they stand."""

    first: int
    last: int
    section: str
    origin: Place


def python_place(text: str, line: int, contract: Contract, source: Source | None) -> tuple[Region, Place | None]:
    """The region that line `line` stands in, and the Python that it is for.

    A statement of the kernel has its own place; a knob that the signature sets has its parameter; the sections have
    the kernel's definition. None where the contract names no Python.
    """
    lines = lines_of(text)
    region = region_at(regions(text), line)
    file, _, number = contract.source.rpartition(":")
    defined = (source and source.definition) or (int(number) if number.isdigit() else 0)
    definition = Place(file, defined, defined) if file and defined else None
    if region.section == STAND_ALONE:
        return region, _above(lines, line) or definition
    if region.section == "frame" and region.origin is None:
        return region, definition
    if region.section == "frame":
        found = python_line(text, line, Origin(contract.file, contract.source, contract.line_map))
        if found and found.line != region.origin.line:
            return region, next((r.origin for r in regions(text) if r.origin and r.origin.line == found.line),
                                Place(found.file, found.line, found.line))
        return region, region.origin
    match = _CONSTANT.match(lines[line - 1])
    if match and source and region.section != HEADER:
        at = source.parameters.get(match[1]) or source.module.get(match[1])
        if at:
            return region, Place(source.name, at, at, source.text(at))
    return region, definition


def _above(lines: list[str], line: int) -> Place | None:
    """The nearest origin comment above a line of the same function."""
    for text in reversed(lines[:line]):
        if text.startswith("}") and text is not lines[line - 1]:
            return None
        if place := origin_of(text):
            return place
    return None


def emitted_lines(text: str, file: str, line: int, source: Source | None = None) -> list[Emitted]:
    """The lines of an emitted text that are for line `line` of the Python file called `file`, in order. With the
    `source` as it is today, statements that have moved since are found by their words."""
    found = [Emitted(region.first, _last(region), region.section, region.origin) for region in regions(text)
             if region.origin]
    for region in regions(text):
        if region.section == STAND_ALONE:
            found += _in_reference(region)
    return [e for e in found if e.origin.file == file and _covers(e.origin, line, source)]


def _covers(origin: Place, line: int, source: Source | None) -> bool:
    first = source.line_of(origin.line, origin.text) if source and origin.text else origin.line
    return 0 < first <= line <= first + origin.last - origin.line


def _in_reference(region: Region) -> list[Emitted]:
    """The parts of the self-test's plain loops, each up to the next comment or the end of its function."""
    starts = [(n, place) for n, text in enumerate(region.lines) if (place := origin_of(text))]
    ends = [n for n, _ in starts[1:]] + [len(region.lines)]
    found = []
    for (start, place), end in zip(starts, ends):
        end = next((n for n in range(start, end) if region.lines[n].startswith("}")), end)
        found.append(Emitted(region.first + start, region.first + end - 1, region.section, place))
    return found


def _last(region: Region) -> int:
    """The last line of a region that is not blank."""
    blank = next((n for n, line in enumerate(reversed(region.lines)) if line.strip()), 0)
    return region.last - blank
