"""Tables on the terminal, and the same data as JSON."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence

import click
from rich.console import Console
from rich.table import Table

_WIDE = 200         # columns where the output is no terminal


def show(headings: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """Prints a table; the last column takes what is left of the line."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    for heading in headings:
        table.add_column(heading, overflow="fold")
    for row in rows:
        table.add_row(*map(_cell, row))
    console = Console(width=None if sys.stdout.isatty() else _WIDE, highlight=False, markup=False)
    console.print(table)


def _cell(value: object) -> str:
    return ("yes" if value else "no") if isinstance(value, bool) else str(value)


def show_json(value: object) -> None:
    """Prints `value` as JSON."""
    click.echo(json.dumps(value, indent=2))
