"""`tilegen diff`: how two emitted files differ."""

from __future__ import annotations

import dataclasses
from typing import Any

import click

from tilegen import kernel_files
from tilegen.cli import options, tables
from tilegen.errors import TilegenError
from tilegen.merging import advice, difference, python
from tilegen.merging import resources as costs
from tilegen.merging.difference import RegionDifference, Row
from tilegen.runtime.contract import Contract, read_contract
from tilegen.runtime.load import load

_COLOURS = {"-": "red", "+": "green", "@": "cyan"}


@click.command()
@click.argument("old", metavar="A")
@click.argument("new", metavar="B")
@options.values("A size, with which grid and shared bytes are shown as numbers.")
@click.option("--kernel", metavar="KERNEL.py", help="The Python file, where it is not beside B.")
@click.option("--resources/--no-resources", default=True, help="Whether to compile GPU files, and compare registers, "
              "spills, occupancy and instructions where there is a compiler that tells them.  [default: yes]")
@options.json
def diff(old: str, new: str, values: dict[str, Any], kernel: str | None, resources: bool, as_json: bool) -> int:
    """Show how the emitted file B differs from A: knobs, launch, resources, and the text by region.

    For a knob that Python can set, the argument that does so stands beside it. Numbers of Python lines that have
    moved, and with them the line map of the contract, do not count as differences of the text.

    \b
    Exit status: 0 where the files are the same, 1 where they differ, 2 for a wrong use.
    """
    texts = [kernel_files.read(path) for path in (old, new)]
    if texts[0] == texts[1]:
        if as_json:
            tables.show_json({"same": True})
        return 0
    contracts = [_contract(text, path) for text, path in zip(texts, (old, new))]
    both = all(contracts)
    knobs = _knobs(contracts, texts[1], new, kernel) if both else []
    launch = difference.launch(*contracts, values) if both else []
    used = _resources(texts, (old, new), contracts, values) if resources and both else None
    regions = difference.text(*texts, with_contract=not both)
    if as_json:
        tables.show_json(_data(knobs, launch, used, regions))
    else:
        _show(old, new, knobs, launch, used, regions)
        if not both:
            click.echo("knobs and launch are not compared, since a file has no launch contract", err=True)
    return 1


def _contract(text: str, path: str) -> Contract | None:
    """The contract; None where a file has none. Raises TG0702 where it cannot be read."""
    try:
        return read_contract(text, path)
    except TilegenError as error:
        if error.code != "TG0701":
            raise
        return None


def _knobs(contracts: list[Contract], text: str, path: str, kernel: str | None) -> list[tuple[Row, str]]:
    """The knobs that differ, each with the Python argument that makes the change, '' where none is known."""
    contract = contracts[1]
    source = python.beside(path, contract.source, contract.entry, kernel and kernel_files.split(kernel)[0])
    return [(Row(change.name, change.before, change.after), advice.for_constant(change, text, source))
            for change in difference.knobs(*contracts)]


def _resources(texts: list[str], paths: tuple[str, str], contracts: list[Contract],
               values: dict[str, Any]) -> list[Row] | str | None:
    """What the compiler counts, where that differs; or why it is not known; None for C++, whose compilers do not
    tell."""
    if all(contract.target == "cpu" for contract in contracts):
        return None
    sides = []
    for text, path, contract in zip(texts, paths, contracts):
        known = {name: value for name, value in values.items() if name in contract.sizes}
        try:
            sides.append(costs.cost(load(text if path == "-" else path), known))
        except TilegenError as error:
            return error.message
    if None in sides:
        return "the compiler does not tell"
    if sides[0].missing:
        click.echo(f"instructions are not counted: {sides[0].missing}", err=True)
    return costs.rows(*sides)


def _show(old: str, new: str, knobs: list[tuple[Row, str]], launch: list[Row], used: list[Row] | str | None,
          regions: list[RegionDifference]) -> None:
    if knobs:
        tables.show(("knob", old, new, "in Python"), [(*_cells(row), words) for row, words in knobs])
    if launch:
        click.echo("" if not knobs else "\n", nl=False)
        tables.show(("launch", old, new), [_cells(row) for row in launch])
    if isinstance(used, str):
        click.echo(f"\nresources are not known: {used}")
    elif used:
        click.echo()
        tables.show(("resources", old, new), [_cells(row) for row in used])
    elif used is not None:
        click.echo("\nthe resources are the same")
    for region in regions:
        click.echo()
        click.secho(region.name, bold=True)
        for line in region.lines:
            click.secho(line, fg=_COLOURS.get(line[0]))
    if not (knobs or launch or regions):
        click.echo("only numbers of Python lines and the contract's description of the kernel differ")


def _cells(row: Row) -> tuple[str, str, str]:
    return row.name, *("-" if value is None else value for value in (row.old, row.new))


def _data(knobs: list[tuple[Row, str]], launch: list[Row], used: list[Row] | str | None,
          regions: list[RegionDifference]) -> dict[str, Any]:
    def span(region: Any) -> dict[str, int] | None:
        return region and {"first": region.first, "last": region.last}
    resources = [dataclasses.asdict(row) for row in used] if isinstance(used, list) else used
    return {"same": False,
            "knobs": [{**dataclasses.asdict(row), "python": words or None} for row, words in knobs],
            "launch": [dataclasses.asdict(row) for row in launch], "resources": resources,
            "regions": [{"name": r.name, "old": span(r.old), "new": span(r.new), "diff": list(r.lines)}
                        for r in regions]}
