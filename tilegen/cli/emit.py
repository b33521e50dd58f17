"""`tilegen emit`: the main job."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from tilegen import config, files, kernel_files, pristine, printer, targets
from tilegen.api import Factory, Kernel
from tilegen.cli import options


@click.command()
@click.argument("kernel", metavar="KERNEL.py[:NAME]")
@options.target
@options.arch
@options.values("A knob, a size that becomes a constant, or an argument of a factory.")
@click.option("-o", "--output", metavar="FILE", help="Write FILE instead of printing; its suffix may tell the target.")
@click.option("--force", is_flag=True, help="Overwrite FILE even where it was edited by hand.")
@click.option("--level", type=click.Choice(["tile", "source"]), default="source", show_default=True,
              help="tile: the tile program; source: the language of the target.")
@click.option("--stop-after", metavar="PASS", help="Print the tile program as it is after a pass (parse: the first).")
def emit(kernel: str, target: str | None, arch: str | None, values: dict[str, Any], output: str | None, force: bool,
         level: str, stop_after: str | None) -> None:
    """Print the source that a kernel stands for. KERNEL.py may be - for standard input.

    Without -t the target is the decorator's, the one that the suffix of FILE tells, TILEGEN_TARGET, or cuda.
    """
    found = specialised(kernel_files.find(kernel), values)
    target = target or found.options.target or _by_suffix(output) or config.target or "cuda"
    made = found.specialised(target, arch)
    if stop_after:
        text = printer.show(made.after(stop_after))
    else:
        text = made.source if level == "source" else printer.show(made.kernel)
    if output and output != "-":
        write = pristine.write if level == "source" and not stop_after else files.write
        if write is pristine.write and not force:
            pristine.require_unedited(output, text)
        write(output, text, overwrite=True)
    else:
        click.echo(text, nl=False)


def specialised(found: Kernel | Factory, values: dict[str, Any]) -> Kernel:
    """The kernel with these values; TG0501 names the arguments of a factory that have none."""
    return found(**values) if isinstance(found, Factory) else found.specialize(**values)


def _by_suffix(output: str | None) -> str | None:
    suffix = Path(output).suffix if output else ""
    return next((name for name in targets.modules() if targets.find(name).suffix == suffix), None)
