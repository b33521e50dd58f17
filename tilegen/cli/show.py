"""`tilegen explain`, `tilegen targets`, `tilegen doctor`: verbs that only tell."""

from __future__ import annotations

import dataclasses
from typing import Any

import click

from tilegen import config, drawing, explain as decisions, kernel_files, placement
from tilegen import doctor as machine
from tilegen import targets as registry
from tilegen.cli import options, tables
from tilegen.cli.emit import specialised


@click.command()
@click.argument("kernel", metavar="KERNEL.py[:NAME]")
@options.target
@options.arch
@options.values("A knob, a size that becomes a constant, or an argument of a factory.")
@click.option("--layouts", is_flag=True, help="Draw the layout of every tile instead.")
@options.json
def explain(kernel: str, target: str | None, arch: str | None, values: dict[str, Any], layouts: bool,
            as_json: bool) -> None:
    """Print every decision about a kernel, with its reason and the Python line that it is for."""
    found = specialised(kernel_files.find(kernel), values)
    target = target or found.options.target or config.target or "cuda"
    made = found.specialised(target, arch)
    if layouts and as_json:
        tables.show_json(drawing.svgs(made.planned))
    elif layouts:
        click.echo(drawing.text(made.planned), nl=False)
    elif as_json:
        tables.show_json([dataclasses.asdict(decision) for decision in decisions.decisions(made.planned)])
    else:
        click.echo(found.explain(target, arch), nl=False)


@click.command()
@options.json
def targets(as_json: bool) -> None:
    """List the targets with their architectures, the first of each being the default."""
    rows = [(name, [module.DEFAULT_ARCH, *(a for a in module.ARCHS if a != module.DEFAULT_ARCH)],
             registry.find(name).suffix, placement.can_launch(name)) for name, module in registry.modules().items()]
    if as_json:
        tables.show_json([dict(zip(("target", "archs", "suffix", "runs_here"), row)) for row in rows])
    else:
        tables.show(("target", "suffix", "runs here", "architectures"),
                    [(name, suffix, runs, " ".join(archs)) for name, archs, suffix, runs in rows])


@click.command()
@options.json
def doctor(as_json: bool) -> None:
    """Say what is installed, what works, and what to install for the rest."""
    checks = machine.collect()
    if as_json:
        tables.show_json([dataclasses.asdict(check) for check in checks])
    else:
        tables.show(("", "works", "found", "to get it"),
                    [(check.name, check.ok, check.detail, check.fix) for check in checks])
