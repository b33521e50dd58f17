"""Tables on the terminal, and the same data as JSON."""

from __future__ import annotations

import json
import shutil
import sys
import textwrap
from collections.abc import Sequence

import click

_LEAST = 20         # columns of the last cell, however narrow the terminal is


def show(headings: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """Prints a table; the last column takes what is left of the line, on a terminal in several lines if need be."""
    table = [list(headings), *([_cell(value) for value in row] for row in rows)]
    widths = [max(len(row[column]) for row in table) for column in range(len(headings) - 1)]
    start = sum(widths) + 2 * len(widths)
    room = max(shutil.get_terminal_size().columns - start, _LEAST) if sys.stdout.isatty() else None
    for number, row in enumerate(table):
        head = "".join(f"{cell:{width}}  " for cell, width in zip(row, widths))
        last = textwrap.wrap(row[-1], room) if room and row[-1] else [row[-1]]
        line = f"\n{' ' * start}".join([head + last[0], *last[1:]])
        click.secho(line.rstrip(), bold=number == 0)


def _cell(value: object) -> str:
    return ("yes" if value else "no") if isinstance(value, bool) else str(value)


def show_json(value: object) -> None:
    """Prints `value` as JSON."""
    click.echo(json.dumps(value, indent=2))
