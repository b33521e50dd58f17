"""`tilegen check`: is a hand-edited file still right?"""

from __future__ import annotations

from typing import Any

import click

from tilegen import candidate, kernel_files
from tilegen.checking import examine, report
from tilegen.checking.guarded import unchecked_edits
from tilegen.checking.places import Emulator, Gpu, Native, Place
from tilegen.checking.shapes import Shape, is_allowed, shapes as chosen_shapes
from tilegen.cli import options, tables
from tilegen.errors import TilegenError
from tilegen.runtime import emulator
from tilegen.runtime.contract import Contract, read_contract


@click.command()
@click.argument("file", metavar="EDITED")
@click.option("--against", metavar="KERNEL.py[:NAME]", help="The kernel that says what is right. Without: the Python "
              "file that EDITED was emitted from, where it is beside it.")
@click.option("--on", "place", type=click.Choice(["emulator", "gpu", "cpu"]), help="emulator: every access is "
              "watched (the default for GPU files). gpu: results only. cpu: C++ files.")
@options.values("A size, the same in every shape, or a scalar argument.")
@options.shapes("Only this shape; may be given several times. Without: whole tiles, ragged ones, one element, none.")
@options.words("--order", emulator.ORDERS, "The orders in which the emulator runs the threads of a block.")
@click.option("--sanitize", is_flag=True, help="Look for undefined behaviour too; for C++ files, for accesses out of "
              "bounds as well.")
@click.option("--seed", type=int, default=0, show_default=True, help="Of the random inputs and "
              "the random order.")
@options.json
def check(file: str, against: str | None, place: str | None, values: dict[str, Any],
          shapes: list[dict[str, Any]], order: tuple[str, ...], sanitize: bool, seed: int, as_json: bool) -> None:
    """Check an emitted file, perhaps edited by hand, against its kernel in Python.

    EDITED runs on random inputs in several shapes, and its results are compared with the interpreter's. The knobs
    of the kernel are those that stand in EDITED. Integers have to be equal; the tolerance of floats follows from
    the roundings of the kernel, and is printed. In the emulator races, barriers that some threads miss, accesses
    out of bounds or misaligned, and reads of what nobody has written are found too, each with its block, thread,
    emitted line and Python line; the threads run forward, in reverse, and at random. - is standard input.

    \b
    Exit status: 0 where nothing is wrong, 1 where something is, 2 for a wrong use.
    """
    text = kernel_files.read(file)
    contract = read_contract(text, file)
    reference, note = candidate.reference_of(contract, text, file, against)
    runner = _place(text, contract, place, order, sanitize, seed)
    wanted = _given_shapes(contract, shapes, values) if shapes else chosen_shapes(contract, reference, values)
    verdict = examine.examine(contract, reference, runner, wanted, values, seed)
    if isinstance(runner, Emulator) and (lines := unchecked_edits(text, contract, reference)):
        unseen = (f"the emulator has its own hardware helpers: what was changed in line {report.listed(lines)} is not "
                  "checked; --on gpu does")
        note = f"{note}\n  {unseen}" if note else unseen
    name = {Emulator: "emulator", Native: "cpu", Gpu: "gpu"}[type(runner)]
    subject = report.Subject(file, text, contract, reference, note, name, runner.orders)
    if as_json:
        tables.show_json(report.data(verdict, subject))
    else:
        click.echo(report.text(verdict, subject))
    if not verdict.ok:
        raise _summary(verdict, contract)


def _place(text: str, contract: Contract, wanted: str | None, orders: tuple[str, ...], sanitize: bool,
           seed: int) -> Place:
    """Raises TG0506 where the file does not run there."""
    is_cpu = contract.target == "cpu"
    wanted = wanted or ("cpu" if is_cpu else "emulator")
    if is_cpu != (wanted == "cpu"):
        raise TilegenError("TG0506", f"{contract.file} is for {contract.target}, which has no --on {wanted}")
    if wanted == "gpu":
        if sanitize:
            raise TilegenError("TG0506", "--sanitize has no --on gpu", hint="compute-sanitizer watches a GPU")
        return Gpu(text, contract)
    return Native(text, contract, sanitize) if is_cpu else Emulator(text, contract, sanitize, orders, seed)


def _given_shapes(contract: Contract, texts: list[dict[str, Any]], values: dict[str, Any]) -> list[Shape]:
    """The shapes of the command line; -D fills in what they leave out."""
    result = []
    for text in texts:
        known = {**{n: v for n, v in values.items() if n in contract.sizes}, **text}
        if unknown := [name for name in known if name not in contract.sizes]:
            raise TilegenError("TG0503", f"{contract.entry} has no size {unknown[0]}",
                               hint=f"its sizes are {', '.join(contract.sizes) or 'all constants'}")
        if missing := [name for name in contract.sizes if name not in known]:
            raise TilegenError("TG0501", f"the shape {text} lacks {', '.join(missing)}")
        if not is_allowed(contract, {**values, **known}):
            raise TilegenError("TG0409", f"{contract.entry} requires {', '.join(contract.requires)}, which {text} "
                               "does not keep")
        result.append(Shape("given", {name: known[name] for name in contract.sizes}))
    return result


def _summary(verdict: examine.Verdict, contract: Contract) -> TilegenError:
    wrong = sum(not result.ok for result in verdict.shapes)
    message = f"{contract.entry} is wrong in {wrong} of {len(verdict.shapes)} shapes"
    if not verdict.faults:
        return TilegenError("TG0703", message)
    return TilegenError("TG0601", f"{message}; the first fault: {verdict.faults[0].fault.message}")
