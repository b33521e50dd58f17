"""Several launches in one file: what each of them declares, under names that do not collide."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from tilegen import arith, ir
from tilegen.emit.constants import all_constants
from tilegen.launches import launches_of
from tilegen.plan import Check, Constant
from tilegen.targets.base import Target

# What a launch declares beside its constants and layout functions, where it has shared memory.
_MEMORY = {"gpu": ("Smem", "SMEM_BYTES"), "cpu": ("Tiles", "thread_tiles")}


@dataclass(frozen=True)
class Part:
    """One launch: `text` is its memory, layouts and entry; `names` are the new names of what it declares under
    a name that an earlier launch has for something else."""

    frame: object
    text: str
    constants: tuple[Constant, ...]
    checks: tuple[Check, ...]
    names: dict[str, str]


@dataclass(frozen=True)
class Spoken:
    """A launch as the contract and the self-test speak of it: expressions of the file."""

    kernel: ir.Kernel
    threads: str
    shared: str


def parts(kernel: ir.Kernel, original: ir.Kernel, target: Target, frames: list) -> list[Part]:
    """The launches in order. `frames` are those of `emit/file.py`, one for each."""
    result: list[Part] = []
    taken: dict[str, Constant | str] = {}            # by name; the text of functions, '' for types
    for number, (frame, before) in enumerate(zip(frames, launches_of(original)), 1):
        own = {k.name for k in kernel.knobs}
        constants = all_constants(frame.kernel, before)
        names = _renamed([c for c in constants if c.name not in own], taken, number)
        declared = {axis.name: _with_names(frame.layout_function(axis), names) for axis in frame.plan.axes}
        frame.known = {name for name, text in declared.items() if taken.get(name) == text}
        declared |= dict.fromkeys(_MEMORY[target.family] if frame.plan.shared else (), "")
        names |= {name: f"{name}_{number}" for name in declared if name in taken and name not in frame.known}
        values = {old: ir.Var(new, kind="knob") for old, new in names.items()}
        constants = [replace(c, name=names.get(c.name, c.name), expr=c.expr and ir.substitute(c.expr, values))
                     for c in constants]
        checks = tuple(replace(c, condition=ir.substitute(c.condition, values)) for c in frame.plan.checks)
        text = _with_names(frame.kernel_text(), names)
        written = {names.get(name, name): one for name, one in declared.items()}
        taken |= {name: one for name, one in written.items() if re.search(rf"\b{name}\b", text)}
        taken |= {c.name: c for c in constants}
        result.append(Part(frame, text, tuple(constants), checks, names))
    return result


def _renamed(constants: list[Constant], taken: dict, number: int) -> dict[str, str]:
    """{name: new name} for what is declared otherwise by an earlier launch: `THREADS_2` in the second one. A
    constant that is the same in both is one constant."""
    names: dict[str, str] = {}
    while True:
        more = {c.name: f"{c.name}_{number}" for c in constants if c.name not in names and c.name in taken
                and (taken[c.name] != c or c.expr is not None and arith.names(c.expr) & set(names))}
        if not more:
            return names
        names |= more


def _with_names(text: str, names: dict[str, str]) -> str:
    """`text` with the new names in its code; comments quote the user."""
    if not names:
        return text
    word = re.compile(rf"(?<![\w.])({'|'.join(sorted(names))})\b")
    lines = (line.partition("//") for line in text.split("\n"))
    return "\n".join(word.sub(lambda m: names[m[1]], code) + mark + comment for code, mark, comment in lines)


def merged(all_parts: list[Part]) -> tuple[list[Constant], tuple[Check, ...]]:
    """The constants and checks of the file. What a knob is, is said by the first launch that has more to say than
    that it is a number."""
    found: dict[str, Constant] = {}
    for part in all_parts:
        for c in part.constants:
            if c.name not in found or found[c.name].comment.endswith("number of the kernel"):
                found[c.name] = c
    checks = dict.fromkeys(check for part in all_parts for check in part.checks)
    return list(found.values()), tuple(checks)


def spoken(part: Part, target: Target) -> Spoken:
    """The launch in names of the file."""
    threads = _with_names(part.frame.threads, part.names) if target.family == "gpu" else "1"
    shared = part.frame.shared_bytes()
    return Spoken(part.frame.kernel, threads, part.names.get(shared, shared))
