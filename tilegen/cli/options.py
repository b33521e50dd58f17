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


def shapes(help: str) -> Callable:
    """The option --shape M=130,N=70, any number of times, as a list of dicts."""
    def read(context: click.Context, option: click.Parameter, texts: tuple[str, ...]) -> list[dict[str, Any]]:
        return [_read_values(context, option, tuple(text.split(","))) for text in texts]
    return click.option("--shape", "--shapes", "shapes", metavar="M=130,N=70", multiple=True, callback=read,
                        help=help)


def words(name: str, known: tuple[str, ...], help: str) -> Callable:
    """An option that takes some of the `known` words with commas between them, all of them by default."""
    def read(context: click.Context, option: click.Parameter, text: str) -> tuple[str, ...]:
        chosen = tuple(text.split(","))
        if unknown := [word for word in chosen if word not in known]:
            raise click.BadParameter(f"{unknown[0]!r} is none of {', '.join(known)}")
        return chosen
    return click.option(name, metavar="WORD,...", default=",".join(known), show_default=True, callback=read,
                        help=help)


def _read_values(context: click.Context, option: click.Parameter, pairs: tuple[str, ...]) -> dict[str, Any]:
    result: dict[str, Any] = {}
    for pair in pairs:
        name, equals, text = pair.partition("=")
        if not equals or not name.isidentifier() or not text:
            raise TilegenError("TG0506", f"{option.opts[0]} {pair} is not NAME=VALUE",
                               hint=f"write {option.opts[0]} M=4096")
        result[name] = literal(text)
    return result
