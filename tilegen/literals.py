"""The values of -D NAME=VALUE, on the command line and in the header of an emitted file."""

from __future__ import annotations

import itertools
import re


def literal(text: str) -> int | float | bool | str:
    """4096, 0x1000, 1e-5, true, or a text such as float16 or dynamic."""
    for read in (lambda: int(text, 0), lambda: float(text)):
        try:
            return read()
        except ValueError:
            continue
    return {"true": True, "false": False}.get(text.lower(), text)


def emitted_with(text: str) -> dict[str, int | float | bool | str]:
    """The values in the command at the top of an emitted file. A constant that the text has no need of stands
    nowhere else."""
    lines = itertools.takewhile(lambda line: line.startswith("//"), text.splitlines())
    header = " ".join(" ".join(line.removeprefix("//") for line in lines).split())
    return {name: literal(value) for name, value in re.findall(r"-D (\w+)=(\S+)", header)}
