"""Options that several verbs share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from tilegen.errors import TilegenError

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
        result[name] = value(text)
    return result


def value(text: str) -> Any:
    """4096, 0x1000, 1e-5, true, or a text such as float16."""
    for read in (lambda: int(text, 0), lambda: float(text)):
        try:
            return read()
        except ValueError:
            continue
    return {"true": True, "false": False}.get(text.lower(), text)
