"""`tilegen run`: a kernel, or an emitted file, on random inputs."""

from __future__ import annotations

import json
import sys
from typing import Any

import click

from tilegen import candidate, debugging, trial
from tilegen.cli import options
from tilegen.errors import TilegenError
from tilegen.merging import python, reports
from tilegen.runtime.load import Loaded
from tilegen.trial import Trial


@click.command()
@click.argument("file", metavar="FILE[:NAME]")
@options.values("A size, a scalar argument, a knob, or an argument of a factory.")
@options.target
@options.arch
@click.option("--on", "place", type=click.Choice(["gpu", "cpu", "emulator"]),
              help="emulator: a GPU file on the CPU. Without: the GPU where there is one.")
@click.option("--against", metavar="KERNEL.py[:NAME]", help="The kernel that an emitted FILE is checked against.")
@click.option("--seed", type=int, default=0, show_default=True, help="Of the random inputs.")
@click.option("--debug", is_flag=True, help="In the emulator: build with -g -O0, and print how to stop gdb in one "
              "thread of the GPU.")
@click.option("--block", metavar="X,Y,Z", default="0,0,0", show_default=True, help="The block to stop in.")
@click.option("--thread", metavar="X,Y,Z", default="0,0,0", show_default=True, help="The thread to stop in.")
@click.option("--sanitize", is_flag=True, help="Look for undefined behaviour and accesses out of bounds, in the "
              "emulator for races too; on the CPU under the compiler's sanitizers, on a GPU under compute-sanitizer.")
@options.json
def run(file: str, values: dict[str, Any], target: str | None, arch: str | None, place: str | None,
        against: str | None, seed: int, debug: bool, block: str, thread: str, sanitize: bool,
        as_json: bool) -> None:
    """Run FILE on random inputs, check the results against the interpreter, and print the speed.

    FILE is a Python file with a kernel, an emitted file, or - for either on standard input. Without a GPU, a
    kernel runs on the CPU target and a GPU file in the emulator. Sizes that -D does not give are 1024, in
    kernels of tensors with three dimensions 256, in kernels of vectors 1048576; less in the emulator.
    """
    found = candidate.find(file, candidate.Request(values, target, arch, place, against))
    loaded = found.loaded
    if sanitize and found.place == "gpu" and not debug:
        how = {"-t": target, "-a": arch, "--against": against, "--seed": seed, "--on": "gpu"}
        _watched(file, loaded, _again(file, values, how, False))
        return
    if debug or sanitize:
        loaded = debugging.rebuilt(loaded, found.place, debug, sanitize)
    if debug:
        options = {"-t": target, "-a": arch, "--against": against, "--seed": seed, "--block": block,
                   "--thread": thread}
        again = _again(file, values, {**options, "--on": "emulator", "--debug": True}, sanitize)
        where = debugging.index(block), debugging.index(thread)
        click.echo(debugging.instructions(loaded, again, *where), err=as_json)
    result = trial.run(loaded, found.reference, found.place, found.given, seed, timed=not (debug or sanitize))
    click.echo(_json(result) if as_json else _text(result, found.note))
    if not result.ok:
        worst = next(check for check in result.checks if not check.ok)
        raise TilegenError("TG0703", f"{result.entry}: {worst.name} differs from the interpreter's: {worst}")


def _again(file: str, values: dict[str, Any], options: dict[str, Any], sanitize: bool) -> list[str]:
    """The arguments that run the same again; an option that is true has no value."""
    if file == "-":
        raise TilegenError("TG0506", "--debug needs a file, since a debugger has the standard input for itself")
    words = [word for option, value in options.items() if value
             for word in ((option,) if value is True else (option, str(value)))]
    words += [word for name, value in values.items() for word in ("-D", f"{name}={value}")]
    return ["run", file, *(["--sanitize"] if sanitize else []), *words]


def _watched(file: str, loaded: Loaded, again: list[str]) -> None:
    """Runs the same on the GPU under compute-sanitizer, and prints its report with the Python of each line. Raises
    TG0601 where it finds something."""
    contract = loaded.contract
    is_right, log = reports.compute_sanitizer((sys.executable, "-m", "tilegen", *again))
    source = python.beside(file, contract.source, contract.entry)
    click.echo(reports.annotated(log, loaded.source, contract, source, file), nl=False)
    if not is_right:
        raise TilegenError("TG0601", f"compute-sanitizer found a fault in {contract.entry}")


def _text(result: Trial, note: str) -> str:
    sizes = "  ".join(f"{name}={value}" for name, value in result.sizes.items())
    lines = [f"{result.entry} for {result.target} {result.arch}, on the {result.place}  {sizes}".rstrip()]
    if result.seconds is not None:
        speed = [f"{amount / result.seconds / 1e9:.1f} {unit}"
                 for amount, unit in ((result.flops, "GFLOP/s"), (result.bytes, "GB/s")) if amount]
        lines.append("  ".join(["  time ", _duration(result.seconds), *speed]))
    lines += [f"  {check.name:5}  {'right' if check.ok else 'WRONG'}: {check}" for check in result.checks or ()]
    return "\n".join(lines + ([f"  {note}"] if note else []))


def _duration(seconds: float) -> str:
    return f"{seconds * 1e3:.3f} ms" if seconds >= 1e-3 else f"{seconds * 1e6:.1f} us"


def _json(result: Trial) -> str:
    checks = [{"name": c.name, "ok": c.ok, "error": c.error, "allowed": c.allowed, "wrong": c.wrong, "total": c.total}
              for c in result.checks or ()]
    time_us = None if result.seconds is None else result.seconds * 1e6
    rates = {"gflops": result.flops, "gbs": result.bytes}
    rates = {name: amount / result.seconds / 1e9 if amount and result.seconds else None
             for name, amount in rates.items()}
    return json.dumps({"name": result.entry, "target": result.target, "arch": result.arch, "on": result.place,
                       "sizes": result.sizes, "time_us": time_us, **rates,
                       "checked": result.checks is not None, "ok": result.ok, "outputs": checks}, indent=2)
