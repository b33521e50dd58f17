"""What the emulator's runtime found, with the lines of the emitted file and of the Python file."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tilegen.build import lint
from tilegen.emulator import symbols
from tilegen.emulator.build import user_file
from tilegen.errors import Loc, Note, TilegenError
from tilegen.runtime.emulator_records import ReportRecord

Index = tuple[int, int, int]


@dataclass(frozen=True)
class Place:
    """A line of the emitted file (or of a header), the emitted lines that called it, from the inside out, and
    the Python line that they come from."""

    loc: Loc
    calls: tuple[Loc, ...] = ()
    python: Loc | None = None


@dataclass(frozen=True)
class Fault:
    """What is wrong, in a sentence; the block and thread that ran into it, where it was, and the access that
    it collides with. None for what is not known."""

    message: str
    block: Index | None = None
    thread: Index | None = None
    place: Place | None = None
    other: Place | None = None

    def error(self) -> TilegenError:
        """The fault as TG0601."""
        message, place = self.message, self.place
        if self.thread is not None:
            where = f"block {self.block}, thread {self.thread}"
            message = f"{message} ({where}{f', {place.loc.short}' if place else ''})"
        notes = [Note("called", call) for call in place.calls] if place else []
        if self.other:
            notes.append(Note("the other access", self.other.loc))
            notes += [Note("called", call) for call in self.other.calls]
        if place and place.python:
            notes.append(Note(f"this comes from {place.python.short}"))
        return TilegenError("TG0601", message, place.loc if place else None, notes=tuple(notes))


@dataclass(frozen=True)
class Writer:
    """Who last wrote a byte of an argument, and where."""

    block: Index
    thread: Index
    place: Place | None


def fault_of(library: Path, source: Path, report: ReportRecord, names: Sequence[str],
             origin: lint.Origin) -> Fault:
    """The fault in `report`. `source` is the emitted file as compiled, from `origin`; `names` are what its
    arguments are called."""
    calls = _calls(library, source, report.calls[:report.call_count])
    place = _place(library, source, origin, report.file.decode(), report.line, report.address, calls)
    around = _calls(library, source, report.other_callers)
    other = _place(library, source, origin, report.other_file.decode(), report.other_line,
                   report.other_address, around)
    message = re.sub(r"\bargument (\d+)", lambda m: f"argument {_name(names, int(m[1]))}",
                     report.message.decode(errors="replace"))
    if not report.has_thread:
        return Fault(message, place=place, other=other)
    return Fault(message, tuple(report.block), tuple(report.thread), place, other)


def writer_of(library: Path, source: Path, report: ReportRecord, origin: lint.Origin) -> Writer | None:
    """Who last wrote the byte that was watched; None where nobody did."""
    if not report.writer_known:
        return None
    calls = _calls(library, source, report.calls[:report.call_count])
    place = _place(library, source, origin, source.name, report.writer_line, report.writer_address, calls)
    return Writer(tuple(report.writer_block), tuple(report.writer_thread), place)


def _place(library: Path, source: Path, origin: lint.Origin, file: str, line: int, address: int,
           calls: Sequence[int] = ()) -> Place | None:
    """The place of a line, or where there is none of an address."""
    inlined = symbols.chains_of(library, [address], source.name)[0] if address else []
    if not line:
        if not inlined and not calls:
            return None
        line, file = (inlined or calls)[0], source.name
    if file != source.name:
        return Place(Loc(file, line))
    around = [*inlined, *calls]
    lines = [line, *(around[around.index(line) + 1:] if line in around else around)]
    lines = [n for i, n in enumerate(lines) if n not in lines[:i]]
    text = source.read_text(encoding="utf-8")
    emitted = lint.Origin(source.name, origin.source, origin.line_map)
    found = (lint.python_line(text, n, emitted) for n in lines)
    shown = user_file(source, origin)
    first, *rest = (Loc(shown, n) for n in lines)
    return Place(first, tuple(rest), next((loc for loc in found if loc), None))


def _calls(library: Path, source: Path, addresses: Sequence[int]) -> list[int]:
    """The lines of the emitted file that a thread was in, from the inside out."""
    return [line for chain in symbols.chains_of(library, addresses, source.name) for line in chain]


def _name(names: Sequence[str], number: int) -> str:
    return names[number] if number < len(names) else str(number)
