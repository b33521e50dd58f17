"""Constants that were set to another value: carried from an edited file into a new one without their lines."""

from __future__ import annotations

import re
from dataclasses import dataclass

from tilegen.merging.regions import lines_of
from tilegen.runtime.constants import Constants, read_constants


@dataclass(frozen=True)
class Change:
    """A `constexpr` that has another expression: `before` and `after`, None where a side lacks it."""

    name: str
    before: str | None
    after: str | None


@dataclass(frozen=True)
class Carried:
    """The base and the new text with the values that were set by hand, where these are no conflict, and all changes
    by hand."""

    base: str
    new: str
    changes: tuple[Change, ...]


def changes(before: str, after: str) -> list[Change]:
    """The `constexpr`s of the file that differ, those of `before` first."""
    old, new = _expressions(read_constants(before, "")), _expressions(read_constants(after, ""))
    names = [*old, *(name for name in new if name not in old)]
    return [Change(name, old.get(name), new.get(name)) for name in names if old.get(name) != new.get(name)]


def carry(base: str, edited: str, new: str) -> Carried:
    """Sets in `base` and `new` what was set by hand in `edited`, so that a merge of lines sees no change there.

    What `new` sets to yet another value stays as it is, for the merge of lines to find.
    """
    found = tuple(changes(base, edited))
    now = _expressions(read_constants(new, ""))
    for change in found:
        if None in (change.before, change.after) or now.get(change.name) not in (change.before, change.after):
            continue
        both = [_with_value(text, change.name, change.after) for text in (base, new)]
        if None not in both:
            base, new = both
    return Carried(base, new, found)


def _expressions(constants: Constants) -> dict[str, str]:
    return {name: constant.expression for name, constant in constants.declared.items()}


def _declaration(name: str) -> re.Pattern:
    return re.compile(rf"^(?P<head>\s*constexpr\s+[\w:]+(?:\s+[\w:]+)*?\s+{name}\s*=\s*)(?P<value>[^;,]+);"
                      r"(?P<gap>[ \t]*)(?P<comment>.*)$")


def _line_of(text: str, name: str) -> tuple[int, re.Match] | None:
    """The line, from 0, that declares one constant alone."""
    constant = read_constants(text, "").declared.get(name)
    if constant is None:
        return None
    line = constant.line - 1
    match = _declaration(name).match(lines_of(text)[line])
    return (line, match) if match else None


def _with_value(text: str, name: str, value: str) -> str | None:
    """`text` with another value, its comment in the column where it was if there is room."""
    found = _line_of(text, name)
    if found is None:
        return None
    line, match = found
    start = f"{match['head']}{value};"
    gap = " " * max(match.start("comment") - len(start), 2 if match["gap"] else 0) if match["comment"] else ""
    lines = lines_of(text)
    lines[line] = start + gap + match["comment"]
    return "\n".join(lines)
