"""Options that several verbs share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from tilegen.errors import TilegenError
from tilegen.literals import literal

target = click.option("-t", "--target", metavar="NAME", help="cuda, hip, maca or cpu.")
arch = click.option("-a", "--arch", metavar="NAME", help="sm_90a, gfx942, avx2, ...: see `tilegen targets`.")
json = click.option("--json", "as_json", is_flag=True, help="Print JSON.")


def values(help: str) -> Callable:
    """The option -D NAME=VALUE, as a dict of numbers, booleans and texts."""
    return click.option("-D", "values", metavar="NAME=VALUE", multiple=True, callback=_read_values, help=help)


def _read_values(context: click.Context, option: click.Parameter, pairs: tuple[str, ...]) -> dict[str, Any]:
    result: dict[str, Any] = {}
    for pair in pairs:
        name, equals, text = pair.partition("=")
        if not equals or not name.isidentifier() or not text:
            raise TilegenError("TG0506", f"-D {pair} is not NAME=VALUE", hint="write -D M=4096")
        result[name] = literal(text)
    return result
