"""Source text as lines of HTML with classes for its colours."""

from __future__ import annotations

import html
import re

_PLAIN = re.compile(r'<span class="tg-(?:n|p|o|w|nb|nl|nn|bp|fm)">([^<]*)</span>')     # has no colour of its own


def highlighted(text: str, language: str) -> list[str]:
    """Each line of `text` as HTML; `language` is "python" or "c++". Without Pygments there are no colours."""
    try:
        from pygments import highlight
        from pygments.formatters import HtmlFormatter
        from pygments.lexers import get_lexer_by_name
    except ImportError:
        return [html.escape(line) for line in text.splitlines()]
    lexer = get_lexer_by_name(language, stripnl=False, ensurenl=False)
    lines = highlight(text, lexer, HtmlFormatter(nowrap=True, classprefix="tg-")).rstrip("\n").split("\n")
    return [_PLAIN.sub(r"\1", line) for line in lines]


def lines_of(text: str, language: str, first: int, owner: dict[int, int]) -> str:
    """A pane of numbered lines, from number `first`. A line in `owner` is lit together with all lines, here and in
    the other pane, that have the same value there."""
    rows = []
    for number, line in enumerate(highlighted(text, language), first):
        mark = f' data-l="{owner[number]}"' if number in owner else ""
        rows.append(f'<span class="tg-line" data-n="{number}"{mark}>{line or " "}</span>')
    return f'<pre class="tg-code">{"".join(rows)}</pre>'


def owners(line_map: dict[str, tuple[int, int]]) -> dict[int, int]:
    """{line of the emitted text: Python line}, by the smallest range of `line_map` that holds it."""
    found: dict[int, int] = {}
    ranges = sorted(((int(key), first, last) for key, (first, last) in line_map.items() if key.isdigit()),
                    key=lambda r: r[1] - r[2])
    for line, first, last in ranges:
        found.update(dict.fromkeys(range(first, last + 1), line))
    return found
