"""`tilegen emit`: the main job."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from tilegen import config, files, kernel_files, pristine, printer, targets
from tilegen.api import Factory, Kernel
from tilegen.cli import options
from tilegen.errors import TilegenError
from tilegen.hosting import c as host_files
from tilegen.hosting import loader as cupy_loader
from tilegen.runtime import contract as contracts


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
@click.option("--host", type=click.Choice(["c"]), help="Beside FILE, write a C header and a launcher, for "
              "programs without Python.")
@click.option("--loader", is_flag=True, help="Beside FILE, write a Python file that launches it through CuPy alone.")
@click.option("--line-directives", is_flag=True, help="Write #line for each line of the kernel, so that ncu, "
              "compute-sanitizer and debuggers show the Python lines.")
def emit(kernel: str, target: str | None, arch: str | None, values: dict[str, Any], output: str | None, force: bool,
         level: str, stop_after: str | None, host: str | None, loader: bool, line_directives: bool) -> None:
    """Print the source that a kernel stands for. KERNEL.py may be - for standard input.

    Without -t the target is the decorator's, the one that the suffix of FILE tells, TILEGEN_TARGET, or cuda. With an
    emitted file in place of KERNEL.py, --host and --loader are written for it as it stands.
    """
    if (host or loader) and not kernel.endswith((".py", "-")) and contracts.MARK in (text := kernel_files.read(kernel)):
        write_beside(kernel, text, host, loader)
        return
    if (host or loader) and output in (None, "-"):
        raise TilegenError("TG0506", "--host and --loader are written beside a file", hint="name it: -o matmul.cu")
    found = specialised(kernel_files.find(kernel), values)
    target = target or found.options.target or _by_suffix(output) or config.target or "cuda"
    made = found.specialised(target, arch)
    made.line_directives = line_directives
    if stop_after:
        text = printer.show(made.after(stop_after))
    else:
        text = made.source if level == "source" else printer.show(made.kernel)
    if output and output != "-":
        write = pristine.write if level == "source" and not stop_after else files.write
        if write is pristine.write and not force:
            pristine.require_unedited(output, text)
        write(output, text, overwrite=True)
        write_beside(output, text, host, loader)
    else:
        click.echo(text, nl=False)


def write_beside(path: str, text: str, host: str | None, loader: bool) -> None:
    """The files that call the emitted file `path`, which holds `text`: matmul.h, matmul_host.cu, matmul_loader.py.

    Raises TG0506 for a kernel that they cannot call; what stands in the files is replaced.
    """
    name, folder = Path(path).name, Path(path).parent
    contract = contracts.read_contract(text, path) if host or loader else None
    made = host_files.files(contract, name) if host else {}
    if loader:
        made[f"{Path(path).stem}_loader.py"] = cupy_loader.text_of(contract, name)
    for file, content in made.items():
        files.write(folder / file, content, overwrite=True)


def specialised(found: Kernel | Factory, values: dict[str, Any]) -> Kernel:
    """The kernel with these values; TG0501 names the arguments of a factory that have none."""
    return found(**values) if isinstance(found, Factory) else found.specialize(**values)


def _by_suffix(output: str | None) -> str | None:
    suffix = Path(output).suffix if output else ""
    return next((name for name in targets.modules() if targets.find(name).suffix == suffix), None)
