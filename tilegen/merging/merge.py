"""Hand edits onto a new emission: a three-way merge by region, and inside of regions by line. Nothing is lost: what
neither side decides stands in the result twice, between markers."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from tilegen.errors import Loc, TilegenError
from tilegen.merging import contracts, knobs, threeway
from tilegen.merging.regions import CONTRACT, ORIGIN, Region, contract_of, lines_of, region_at, regions

_FROM = re.compile(r"(// from [\w.-]+\.py):\d+(?= for )")     # in the header
_MARKER = re.compile(r"(<{7}|\|{7}|>{7}) |={7}$")


@dataclass(frozen=True)
class Conflict:
    """A place that both sides changed: the regions of both, by name, and its first line in the merged text."""

    edited: str
    new: str
    line: int


@dataclass(frozen=True)
class Merge:
    """The merged text, its conflicts, the constants that were set by hand, and whether the edited file's contract
    was missing."""

    text: str
    conflicts: tuple[Conflict, ...]
    changes: tuple[knobs.Change, ...]
    contract_was_missing: bool = False


def merge(base: str, edited: str, new: str, file: str = "<text>") -> Merge:
    """What `new` is with the edits that lead from `base` to `edited`, the content of `file`.

    Raises TG0705 where `edited` still has the markers of an earlier merge.
    """
    if marked := marker_line(edited):
        raise TilegenError("TG0705", f"{file} has the conflict markers of an earlier merge", Loc(file, marked),
                           "choose between the two texts there, and remove the markers")
    carried = knobs.carry(base, edited, new)
    sides = [_Side(text) for text in (carried.base, edited, carried.new)]
    result = _Result(*sides)
    result.add([side.before for side in sides])
    result.add_contract()
    result.add([side.after for side in sides])
    return Merge("\n".join(result.lines), tuple(result.conflicts), carried.changes,
                 sides[1].contract is None and sides[0].contract is not None)


def marker_line(text: str) -> int:
    """The first line, from 1, with a conflict marker; 0 where there is none."""
    return next((n for n, line in enumerate(lines_of(text), 1) if _MARKER.match(line)), 0)


class _Side:
    """One of the three texts: its regions before and after the contract."""

    def __init__(self, text: str) -> None:
        self.regions = regions(text)
        at = next((n for n, region in enumerate(self.regions) if region.section == CONTRACT), None)
        self.contract = None if at is None else self.regions[at]
        if at is None:
            at = next((n for n, r in enumerate(self.regions) if r.section == "stand-alone"), len(self.regions))
        self.before = self.regions[:at]
        self.after = self.regions[at + (self.contract is not None):]
        if self.contract is None and self.after and self.before[-1].lines[-2:] == ("", ""):
            self._split_blank_lines()

    def _split_blank_lines(self) -> None:
        """Of the two blank lines that a deleted contract leaves, the second stands below it."""
        above, below = self.before[-1], self.after[0]
        self.before[-1] = replace(above, lines=above.lines[:-1])
        self.after[0] = replace(below, first=below.first - 1, lines=("", *below.lines))

    @property
    def fields(self) -> dict | None:
        """The contract's fields; None where there is none that can be read."""
        return contract_of(self.contract.lines)[0] if self.contract else None


class _Result:
    """The merged lines as they grow."""

    def __init__(self, base: _Side, edited: _Side, new: _Side) -> None:
        self.base, self.edited, self.new = base, edited, new
        self.lines: list[str] = []
        self.conflicts: list[Conflict] = []
        self._moved = _moved(edited.before, new.before)

    def add(self, sides: list[list[Region]]) -> None:
        """Regions of the three texts, merged."""
        for spans in _joined(threeway.parts(*[[region.key for region in side] for side in sides])):
            found = [side[start:end] for side, (start, end) in zip(sides, spans)]
            texts = [list(itertools.chain.from_iterable(region.lines for region in side)) for side in found]
            starts = [side[0].first if side else 0 for side in found]
            for chunk in threeway.chunks(*texts, key=comparable):
                self._add_chunk(chunk, starts[1], starts[2])

    def _add_chunk(self, chunk: threeway.Chunk, edited_first: int, new_first: int) -> None:
        if chunk.kind == "same":
            self.lines += [edited if new == base else new
                           for base, edited, new in zip(chunk.base, chunk.edited, chunk.new)]
        elif chunk.kind in ("new", "both"):
            self.lines += chunk.new
        elif chunk.kind == "edited":
            self.lines += [self._renumbered(line) for line in chunk.edited]
        else:
            names = [region_at(side.regions, first + at).name if first else "nothing"
                     for side, first, at in ((self.edited, edited_first, chunk.at[0]),
                                             (self.new, new_first, chunk.at[1]))]
            self._add_conflict(names, chunk.base, chunk.edited, chunk.new)

    def _add_conflict(self, names: list[str], base: Sequence[str], edited: Sequence[str], new: Sequence[str]) -> None:
        self.conflicts.append(Conflict(*names, len(self.lines) + 1))
        self.lines += [f"<<<<<<< edited: {names[0]}", *edited, "||||||| as it was emitted", *base, "=======", *new,
                       f">>>>>>> new: {names[1]}"]

    def add_contract(self) -> None:
        """The new contract with the fields that were edited, or both where a field is disputed."""
        base, edited, new = (side.fields for side in (self.base, self.edited, self.new))
        if new is None:
            self._add_contract_as_text()
            return
        disputed: list[str] = []
        above = "\n".join(self.lines)
        if edited is not None:
            fields, disputed = contracts.merged(base or new, edited, new)
        else:
            fields = new
        now = contracts.rendered(fields, above)
        behind = [contract_of(side.contract.lines)[2] for side in (self.edited, self.new) if side.contract]
        now[-1] += "".join(dict.fromkeys(behind))
        unread = edited is None and self.edited.contract is not None
        if disputed or unread:
            before = self.base.contract.lines if self.base.contract else ()
            what = f"contract ({', '.join(disputed)})" if disputed else "contract, which is not JSON"
            self._add_conflict([what, "contract"], before, self.edited.contract.lines, now)
        else:
            self.lines += now

    def _add_contract_as_text(self) -> None:
        """The contract where the new text has none that can be read: its lines are merged as any others."""
        found = [side.contract for side in (self.base, self.edited, self.new)]
        firsts = [contract.first if contract else 0 for contract in found]
        for chunk in threeway.chunks(*[contract.lines if contract else () for contract in found]):
            self._add_chunk(chunk, firsts[1], firsts[2])

    def _renumbered(self, line: str) -> str:
        """An edited line whose origin comment names the Python line of today."""
        match = ORIGIN.search(line)
        moved = match and self._moved.get((match["file"], int(match["line"])))
        if not moved:
            return line
        end = match.end("last") if match["last"] else match.end("line")
        return line[:match.start("file")] + str(moved) + line[end:]


def comparable(line: str) -> str:
    """A line as merges compare it: without the number of its Python line, and however far its comment stands to
    the right."""
    match = ORIGIN.search(line)
    if match:
        end = match.end("last") if match["last"] else match.end("line")
        line = line[:match.start("line")] + line[end:]
    elif match := _FROM.match(line):
        line = match[1] + line[match.end():]
    return re.sub(r"(?<=\S)[ \t]+//", " //", line)


def _joined(found: Iterator[threeway.Part]) -> list[tuple[tuple[int, int], ...]]:
    """One span for each region that all have, and for what lies between such regions, with the one before it: a
    region whose comment is gone has become a part of that one."""
    spans: list[tuple[tuple[int, int], ...]] = []
    for part in found:
        if part.stable:
            starts = part.base[0], part.edited[0], part.new[0]
            spans += [tuple((s + i, s + i + 1) for s in starts) for i in range(part.base[1] - part.base[0])]
        elif spans:
            before = spans.pop()
            spans.append(tuple((old[0], now[1]) for old, now in zip(before, (part.base, part.edited, part.new))))
        else:
            spans.append((part.base, part.edited, part.new))
    return spans


def _moved(edited: list[Region], new: list[Region]) -> dict:
    """Where today's Python has the statement that the edited file names by (file, line)."""
    found = threeway.parts(*[[region.key for region in side] for side in (edited, edited, new)])
    pairs = [(edited[part.edited[0] + i].origin, new[part.new[0] + i].origin) for part in found if part.stable
             for i in range(part.edited[1] - part.edited[0])]
    return {(old.file, old.line): now for old, now in pairs if old and now}
