"""`tilegen cache`: the compiled kernels on disk."""

from __future__ import annotations

import time

import click

from tilegen.build import cache as store
from tilegen.cli import options, tables
from tilegen.errors import TilegenError


@click.group()
def cache() -> None:
    """List, show and remove compiled kernels."""


@cache.command()
def path() -> None:
    """Print the folder of the cache."""
    click.echo(store.folder())


@cache.command()
@click.argument("text", default="")
@options.json
def ls(text: str, as_json: bool) -> None:
    """List the entries, the last used first; with TEXT, those whose name contains it."""
    entries = store.find(text)
    if as_json:
        tables.show_json([{**e.facts, "name": e.name, "path": str(e.path), "bytes": e.bytes, "used": e.used}
                          for e in entries])
    else:
        tables.show(("last used", "kB", "name"), [(time.strftime("%Y-%m-%d %H:%M", time.localtime(e.used)),
                                                   f"{e.bytes / 1e3:.0f}", e.name) for e in entries])


@cache.command()
@click.argument("text")
@options.json
def show(text: str, as_json: bool) -> None:
    """Print what is known of the entries whose name contains TEXT, and their files."""
    entries = _named(text)
    if as_json:
        tables.show_json([{**e.facts, "name": e.name, "path": str(e.path), "files": sorted(e.files)} for e in entries])
        return
    for entry in entries:
        click.echo(entry.name)
        for name, value in entry.facts.items():
            click.echo(f"  {name:13} {value if not isinstance(value, list) else ' '.join(map(str, value))}")
        for name in sorted(entry.files):
            click.echo(f"  {'file':13} {entry.file(name)}")


@cache.command()
@click.argument("text", default="")
@click.option("--all", "everything", is_flag=True, help="Remove all entries.")
def rm(text: str, everything: bool) -> None:
    """Remove the entries whose name contains TEXT."""
    if not text and not everything:
        raise click.UsageError("give a part of the names, or --all")
    entries = store.entries() if everything else _named(text)
    freed = store.remove(entries)
    click.echo(f"removed {len(entries)} entries, {freed / 1e6:.1f} MB")


def _named(text: str) -> list[store.Entry]:
    entries = store.find(text)
    if not entries:
        raise TilegenError("TG0506", f"the cache has no entry whose name contains {text!r}",
                           hint="see tilegen cache ls")
    return entries
