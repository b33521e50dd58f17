"""`tilegen bench`: emitted files, kernels and libraries against each other."""

from __future__ import annotations

from typing import Any

import click

from tilegen import timing
from tilegen.candidate import Request
from tilegen.cli import options, tables
from tilegen.racing import limits, report
from tilegen.racing.entrants import Field, gather
from tilegen.racing.peers import NAMES
from tilegen.racing.race import LEAST_ROUNDS, race


@click.command()
@click.argument("files", metavar="FILE[:NAME]...", nargs=-1, required=True)
@click.option("--peers", metavar="NAME,...", default="", help=f"Libraries that race too: {', '.join(NAMES)}.")
@click.option("--against", metavar="KERNEL.py[:NAME]", help="The kernel that says what is right. Without: the first "
              "Python file, or the one that FILE was emitted from, where it is beside it.")
@options.values("A size, a scalar argument, a knob of a Python file, or an argument of a factory.")
@options.target
@options.arch
@click.option("--on", "place", type=click.Choice(["gpu", "cpu"]), help="Without: the GPU where there is one.")
@click.option("--rounds", type=click.IntRange(LEAST_ROUNDS), default=31, show_default=True, help="How often each is "
              "timed.")
@click.option("--seconds", type=float, default=30.0, show_default=True, help="When to stop before that: at least six "
              "rounds are timed.")
@click.option("--warm", is_flag=True, help="Leave the caches as the calls before have left them.")
@click.option("--seed", type=int, default=0, show_default=True, help="Of the random inputs.")
@options.json
def bench(files: tuple[str, ...], peers: str, against: str | None, values: dict[str, Any], target: str | None,
          arch: str | None, place: str | None, rounds: int, seconds: float, warm: bool, seed: int,
          as_json: bool) -> None:
    """Race emitted files, kernels in Python and libraries: tilegen bench edited.cu kernel.py --peers cublas,torch.

    Each gets the same inputs and is compared with the interpreter first: a wrong one does not race. Every round times
    all of them in turn, each with cold caches. Shown are the median and its interval of 95 %, how many times as fast
    as the first FILE each one is, and the share of what the device's arithmetic or memory allows.

    A library takes part with the operation that gives the kernel's results, or with a function of the Python file
    that has the names of both, such as torch_matmul.
    """
    libraries = tuple(name for name in peers.split(",") if name)
    field = gather(files, libraries, Request(values, target, arch, place, against), seed)
    unit = limits.unit_of(field.reference)
    roof = limits.of_gpu(unit) if field.place == "gpu" else limits.of_cpu(unit)
    clock = (timing.gpu_clock if field.place == "gpu" else timing.host_clock)(flush=not warm)
    times = race({entrant.name: entrant.call for entrant in field.entrants}, clock, rounds, seconds)
    rows = report.rows(field, times, roof)
    if as_json:
        tables.show_json(report.data(rows, field))
        return
    done, caches = len(times[field.entrants[0].name]), "warm" if warm else "cold"
    click.echo(f"{_title(field)}\n{done} rounds, in turn, {caches} caches; {field.checked}\nroof: {roof.words}")
    click.echo("".join(f"{note}\n" for note in field.notes))
    tables.show(report.HEADINGS, [report.cells(row, field) for row in rows])
    click.echo("\n" + "\n".join(report.verdict(rows)))


def _title(field: Field) -> str:
    sizes = "  ".join(f"{name}={value}" for name, value in field.sizes.items())
    return f"{field.contract.entry} on the {field.place}  {sizes}".rstrip()
