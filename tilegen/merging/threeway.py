"""Three-way merging of sequences: which parts both sides kept, which one of them changed, and conflicts."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher


@dataclass(frozen=True)
class Part:
    """Spans [start, end) of the base and of both sides that belong together. `stable` ones are equal in all
    three, element by element."""

    stable: bool
    base: tuple[int, int]
    edited: tuple[int, int]
    new: tuple[int, int]


@dataclass(frozen=True)
class Chunk:
    """Lines of a merge. kind: "same", "edited", "new" (only that side changed them), "both" (both made the same
    change) or "conflict". `at` are the first lines in the edited and the new sequence, from 0."""

    kind: str
    base: tuple[str, ...]
    edited: tuple[str, ...]
    new: tuple[str, ...]
    at: tuple[int, int]


def parts(base: Sequence[Hashable], edited: Sequence[Hashable], new: Sequence[Hashable]) -> Iterator[Part]:
    """The three sequences from start to end, as stable and unstable parts in turn."""
    to_edited, to_new = _matches(base, edited), _matches(base, new)
    b = e = n = 0
    while b < len(base) or e < len(edited) or n < len(new):
        length = 0
        while b + length < len(base) and to_edited.get(b + length) == e + length and \
                to_new.get(b + length) == n + length:
            length += 1
        if length:
            yield Part(True, (b, b + length), (e, e + length), (n, n + length))
            b, e, n = b + length, e + length, n + length
            continue
        ahead = next((i for i in range(b, len(base)) if i in to_edited and i in to_new), None)
        ends = (len(base), len(edited), len(new)) if ahead is None else (ahead, to_edited[ahead], to_new[ahead])
        yield Part(False, (b, ends[0]), (e, ends[1]), (n, ends[2]))
        b, e, n = ends


def _matches(base: Sequence[Hashable], other: Sequence[Hashable]) -> dict[int, int]:
    """Which element of `other` each element of `base` became."""
    found = SequenceMatcher(None, base, other, autojunk=False).get_matching_blocks()
    return {block.a + i: block.b + i for block in found for i in range(block.size)}


def chunks(base: Sequence[str], edited: Sequence[str], new: Sequence[str], key=lambda line: line) -> Iterator[Chunk]:
    """The merge of lines. Lines with the same `key` count as equal."""
    keys = [[key(line) for line in side] for side in (base, edited, new)]
    for part in parts(*keys):
        b, e, n = (slice(*span) for span in (part.base, part.edited, part.new))
        at = part.edited[0], part.new[0]
        texts = tuple(base[b]), tuple(edited[e]), tuple(new[n])
        kb, ke, kn = keys[0][b], keys[1][e], keys[2][n]
        if part.stable:
            yield Chunk("same", *texts, at)
        elif ke == kn:
            yield Chunk("both", *texts, at)
        elif kb == ke:
            yield Chunk("new", *texts, at)
        elif kb == kn:
            yield Chunk("edited", *texts, at)
        else:
            yield from _conflict(texts, (ke, kn), at)


def _conflict(texts: tuple, keys: tuple, at: tuple[int, int]) -> Iterator[Chunk]:
    """A conflict without the lines at its ends that both sides have in the same words."""
    base, edited, new = texts
    ke, kn = keys
    least = min(len(ke), len(kn))
    head = next((i for i in range(least) if ke[i] != kn[i]), least)
    tail = next((i for i in range(least - head) if ke[-1 - i] != kn[-1 - i]), least - head)
    if head:
        yield Chunk("both", (), edited[:head], new[:head], at)
    middle = (at[0] + head, at[1] + head)
    yield Chunk("conflict", base, edited[head:len(edited) - tail], new[head:len(new) - tail], middle)
    if tail:
        ends = (at[0] + len(edited) - tail, at[1] + len(new) - tail)
        yield Chunk("both", (), edited[len(edited) - tail:], new[len(new) - tail:], ends)
