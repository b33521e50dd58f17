"""A kernel beside its emitted text: hovering a line of one lights its lines in the other."""

from __future__ import annotations

import html
import itertools
import re
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields

from tilegen.build.lint import Resources
from tilegen.display.source_lines import lines_of, owners
from tilegen.display.style import STYLE, SCRIPT
from tilegen.errors import TilegenError
from tilegen.explain import Decision
from tilegen.runtime.contract import read_contract

_numbers = itertools.count(1)
_COMMENT = re.compile(r"constexpr int (\w+) = [^;]*;\s*//\s*(.*)")
_LANGUAGES = {"cuda": "CUDA", "hip": "HIP", "maca": "MACA", "cpu": "C++"}


@dataclass(frozen=True)
class Python:
    """The Python of a kernel: its file, the number of its first line, its text."""

    file: str
    first: int
    text: str


def page(text: str, python: Python | None = None, decisions: Iterable[Decision] = (),
         resources: Resources | None = None) -> str:
    """HTML for the emitted `text`: what it is, its knobs, plans and resources, and the text itself, beside its Python
    where that is given. `resources` are None where the text was not compiled yet."""
    try:
        contract = read_contract(text)
    except TilegenError:                # a file with no contract is shown as it is
        return _whole("", f'<div class="tg-panes">{_pane("source", lines_of(text, "c++", 1, {}))}</div>', ())
    owner = owners(contract.line_map)
    language = _LANGUAGES[contract.target]
    panes = [_pane(f"{language} for {contract.arch}", lines_of(text, "c++", 1, owner))]
    lit = sorted(set(owner.values()))
    if python is not None:
        own = {line: line for line in lit}
        panes.insert(0, _pane(f"Python, {python.file}", lines_of(python.text, "python", python.first, own)))
    title = f"<b>{html.escape(contract.entry)}</b> for {contract.target} {html.escape(contract.arch)}"
    parts = [_knobs(text, contract.knob_values), _plans(decisions), _resources(resources)]
    return _whole(title + "".join(parts), f'<div class="tg-panes">{"".join(panes)}</div>', lit if python else ())


def _whole(head: str, panes: str, lit: Iterable[int]) -> str:
    """One element with its style. Which lines light up is CSS, so that it works where scripts are left out."""
    name = f"tilegen-{next(_numbers)}-{zlib.crc32(panes.encode()):08x}"
    rules = "".join(f'#{name}:has([data-l="{n}"]:hover) [data-l="{n}"]' + "{background:var(--tg-lit)}" for n in lit)
    return (f'<div class="tilegen" id="{name}"><style>{STYLE}{rules}</style><div class="tg-head">{head}</div>{panes}'
            f"<script>{SCRIPT.replace('NAME', name)}</script></div>")


def _pane(title: str, lines: str) -> str:
    return f'<section class="tg-pane"><header>{html.escape(title)}</header>{lines}</section>'


def _knobs(text: str, values: Mapping[str, object]) -> str:
    meaning = dict(_COMMENT.findall(text))
    rows = [(name, str(value), meaning.get(name, "")) for name, value in values.items()]
    return _table(_count(len(rows), "knob"), ("knob", "value", "meaning"), rows) if rows else ""


def _plans(decisions: Iterable[Decision]) -> str:
    rows = [(d.place, d.subject, d.reason) for d in decisions]
    return _table(_count(len(rows), "decision"), ("line", "about", "decision"), rows) if rows else ""


def _resources(resources: Resources | None) -> str:
    if resources is None:
        return ""
    rows = [(field.name.replace("_", " "), str(getattr(resources, field.name))) for field in fields(resources)]
    return _table(_count(resources.registers, "register"), ("resource", "of a thread or block"), rows)


def _count(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def _table(title: str, heads: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    head = "".join(f"<th>{html.escape(cell)}</th>" for cell in heads)
    body = "".join("<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in row) + "</tr>" for row in rows)
    return (f"<details><summary>{html.escape(title)}</summary><table><thead><tr>{head}</tr></thead>"
            f"<tbody>{body}</tbody></table></details>")
