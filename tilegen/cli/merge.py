"""`tilegen merge`: hand edits onto what the kernel emits today."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from tilegen import kernel_files, pristine
from tilegen.cli import options
from tilegen.errors import TilegenError
from tilegen.merging import advice, python, recover
from tilegen.merging.merge import Merge, merge as merged
from tilegen.runtime.contract import MARK, Contract, read_contract


@click.command()
@click.argument("files", metavar="EDITED | BASE EDITED NEW", nargs=-1, required=True)
@click.option("--kernel", metavar="KERNEL.py[:NAME]", help="The kernel that EDITED was emitted from. Without: the "
              "Python file that its contract names, where it is beside it.")
@options.values("A knob or a size for what is emitted today, above those in the header of EDITED.")
@click.option("-o", "--output", metavar="FILE", help="Write FILE, which may be EDITED, instead of printing.")
def merge(files: tuple[str, ...], kernel: str | None, values: dict[str, Any], output: str | None) -> int:
    """Emit a kernel anew and keep the edits that were made by hand in EDITED.

    BASE is EDITED as it was emitted, NEW what is emitted today. With EDITED alone, BASE is taken from .tilegen/
    beside it or emitted again, and NEW is emitted. The merge goes by region, and inside of a region by line; the
    launch contract is that of NEW with the fields that were edited. Where both sides changed the same lines, both
    stand in the result between markers as git writes them. With -o the former content of FILE is kept as
    .tilegen/FILE.before.

    \b
    Exit status: 0, or 1 where there are conflicts.
    """
    base, edited, new, path, place = _three(files, kernel, values)
    result = merged(base, edited, new, path)
    _tell(result, base, edited, place, path)
    if output and output != "-":
        pristine.set_aside(output, result.text)
        pristine.write(output, result.text, emitted=new, overwrite=True)
    else:
        click.echo(result.text, nl=False)
    for conflict in result.conflicts:
        both = conflict.edited if conflict.edited == conflict.new else f"{conflict.edited} | {conflict.new}"
        click.echo(f"conflict at {output or 'line'}:{conflict.line}: {both}", err=True)
    return 1 if result.conflicts else 0


def _three(files: Sequence[str], kernel: str | None,
           values: dict[str, Any]) -> tuple[str, str, str, str, str | None]:
    """The texts of base, edited and new, the path of the edited file, and the path of its Python file."""
    if len(files) == 3:
        if values:
            raise TilegenError("TG0506", "-D is for what is emitted; here NEW is a file")
        base, edited, new = (kernel_files.read(path) for path in files)
        return base, edited, new, files[1], kernel and kernel_files.split(kernel)[0]
    if len(files) != 1:
        raise TilegenError("TG0506", f"merge takes one file or three, not {len(files)}",
                           hint="tilegen merge EDITED --kernel KERNEL.py, or tilegen merge BASE EDITED NEW")
    path, = files
    edited = kernel_files.read(path)
    contract = _contract(edited, path)
    found = recover.kernel_of(contract, path, kernel)
    base = recover.base_of(path, edited, contract, found)
    new = recover.emission(found, contract, base, values).source
    return base, edited, new, path, kernel and kernel_files.split(kernel)[0]


def _contract(edited: str, path: str) -> Contract:
    """The contract of the edited file, or of its text as emitted where it was deleted. Raises TG0701 without both."""
    kept = pristine.read(path)
    return read_contract(edited if MARK in edited or kept is None else kept, path)


def _tell(result: Merge, base: str, edited: str, place: str | None, path: str) -> None:
    """Says on stderr which edits Python can make too."""
    contract = read_contract(base) if MARK in base else None
    source = contract and python.beside(path, contract.source, contract.entry, place)
    for change in result.changes:
        if words := advice.for_constant(change, base, source):
            click.echo(f"{change.name} = {change.after} (emitted: {change.before}): in Python, {words}", err=True)
    for region, was, now in advice.unrolled(base, edited):
        click.echo(f"{now} (emitted: {was}) in {region.name}: in Python, {advice.for_unroll(region, now)}", err=True)
    if result.contract_was_missing:
        click.echo(f"{Path(path).name} has no launch contract; the merged file has the new one", err=True)
