"""`tilegen where`: from a line of an emitted file to its Python, and back."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from tilegen import kernel_files
from tilegen.cli import options, tables
from tilegen.errors import TilegenError
from tilegen.merging import places, python, reports
from tilegen.merging.python import Source
from tilegen.merging.regions import Place, lines_of
from tilegen.runtime.contract import read_contract


@click.command()
@click.argument("place", metavar="FILE[:LINE]")
@click.argument("file", metavar="[EMITTED]", required=False)
@click.option("--kernel", metavar="KERNEL.py", help="The Python file, where it is not beside the emitted one.")
@click.option("--log", metavar="REPORT", help="Print a report that names lines of FILE, of a compiler, a sanitizer or "
              "a profiler, with the Python beside each; - is standard input.")
@options.json
def where(place: str, file: str | None, kernel: str | None, log: str | None, as_json: bool) -> int:
    """Say which Python line a line of an emitted file is for: tilegen where matmul.cu:141.

    The other way, tilegen where gemm.py:24 matmul.cu prints the lines of EMITTED that a Python line is for. Comments
    such as `// gemm.py:24` decide, so that the answers hold after edits. Exit status: 1 where a Python line has no
    lines in EMITTED. With --log the Python stands beside each line of FILE that a report names.
    """
    if log:
        text = kernel_files.read(place)
        contract = read_contract(text, place)
        source = python.beside(place, contract.source, contract.entry, kernel and kernel_files.split(kernel)[0])
        click.echo(reports.annotated(kernel_files.read(log), text, contract, source, place), nl=False)
        return 0
    path, line = _split(place)
    if path.endswith(".py"):
        return _emitted(path, line, file, as_json)
    if file:
        raise TilegenError("TG0506", f"{file} is one file too many", hint=f"write `tilegen where {place}`")
    _python(path, line, kernel, as_json)
    return 0


def _split(place: str) -> tuple[str, int]:
    path, _, number = place.rpartition(":")
    if not path or not number.isdigit():
        raise TilegenError("TG0506", f"{place} is not FILE:LINE", hint="write `tilegen where matmul.cu:141`")
    return path, int(number)


def _python(path: str, line: int, kernel: str | None, as_json: bool) -> None:
    """From an emitted line to the Python."""
    text = kernel_files.read(path)
    lines = lines_of(text)
    if not 0 < line <= len(lines):
        raise TilegenError("TG0506", f"{path} has no line {line}: it has {len(lines)}")
    contract = read_contract(text, path)
    source = python.beside(path, contract.source, contract.entry, kernel and kernel_files.split(kernel)[0])
    region, found = places.python_place(text, line, contract, source)
    emitted = lines[line - 1].strip()
    today = _today(found, source)
    if as_json:
        tables.show_json({"file": path, "line": line, "text": emitted, "region": region.name, "python": today})
        return
    click.echo(f"{path}:{line}  {emitted}".rstrip())
    if region.origin is None:
        click.echo(f"  in the part of the file: {region.section}")
    if found is None:
        click.echo("  the contract names no Python file")
        return
    moved = f"now in line {today['now']}" if today["now"] else "not in that line any more"
    note = "" if today["now"] in (found.line, None) else f"  ({moved})"
    click.echo(f"  {found}  {today['text']}".rstrip() + note)


def _today(found: Place | None, source: Source | None) -> dict[str, Any] | None:
    """A place as data. `now` is the line of the same statement in the Python file as it is today: 0 where it is gone
    or stands there more than once, None where there is no file."""
    if found is None:
        return None
    now = None if source is None else source.line_of(found.line, found.text) if found.text else found.line
    text = found.text or (source.text(found.line) if source else "")
    return {"file": found.file, "line": found.line, "last": found.last, "text": text, "now": now}


def _emitted(path: str, line: int, file: str | None, as_json: bool) -> int:
    """From a Python line to emitted lines."""
    if not file:
        raise TilegenError("TG0506", f"in which file does {path}:{line} have lines?",
                           hint=f"write `tilegen where {path}:{line} matmul.cu`")
    source = python.read(Path(path), "")
    found = places.emitted_lines(kernel_files.read(file), Path(path).name, line, source)
    if as_json:
        spans = [{"first": e.first, "last": e.last, "section": "kernel" if e.section == "frame" else e.section,
                  "text": e.origin.text} for e in found]
        tables.show_json({"python": {"file": path, "line": line}, "file": file, "lines": spans})
    elif not found:
        click.echo(f"{path}:{line} has no lines of its own in {file}")
    else:
        for e in found:
            section = "" if e.section == "frame" else f"  ({e.section})"
            click.echo(f"{file}:{e.first}-{e.last}  {e.origin.text}{section}")
    return 0 if found else 1
