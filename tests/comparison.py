"""Runs a random program on the interpreter and on something else, and compares what they leave."""

from __future__ import annotations

import hashlib
import linecache
from collections.abc import Callable

import numpy
from program_draft import Argument, Program
from tilegen import ir, passes, targets
from tilegen.emit.file import emit_file
from tilegen.frontend import parse
from tilegen.interpret import run as interpret
from tilegen.jit import CHECKS
from tilegen.runtime.load import load

Arrays = dict[str, numpy.ndarray]
Runner = Callable[[ir.Kernel, Arrays, str], None]        # runs a kernel on a target, in place


def parsed(program: Program, target: str = "cuda") -> ir.Kernel:
    """The Tile IR of the program's source."""
    file = f"<program {hashlib.sha256(program.source.encode()).hexdigest()[:12]}>"
    linecache.cache[file] = (len(program.source), None, program.source.splitlines(keepends=True), file)
    names: dict = {"__name__": "program"}
    exec(compile(program.source, file, "exec"), names)
    return parse(names[program.name], target=target)


def arrays(program: Program, seed: int = 0) -> Arrays:
    """Fresh contents for every parameter."""
    return {argument.name: argument.array(seed) for argument in program.arguments}


def on_interpreter(kernel: ir.Kernel, contents: Arrays, target: str) -> None:
    """The interpreter as a `Runner`."""
    interpret(kernel, contents)


def on_target(kernel: ir.Kernel, contents: Arrays, target: str) -> None:
    """The emitted text of a target as a `Runner`: C++ is compiled and called, the text for a GPU runs in
    the emulator."""
    found = targets.find(target)
    for step in CHECKS:
        kernel = step(kernel, found)
    text = emit_file(passes.run(kernel, found), found, kernel)
    loaded = load(text, target="cpu" if found.family == "cpu" else "emulator")
    loaded(*(contents[p.name] for p in kernel.params))


def check(program: Program, run: Runner, target: str, seed: int = 0) -> None:
    """Fails with the source and the first wrong element where `run` and the interpreter disagree by
    more than the program allows, or where `run` changes an input."""
    kernel = parsed(program, target)
    expected, found = arrays(program, seed), arrays(program, seed)
    interpret(kernel, expected)
    run(kernel, found, target)
    for argument in program.arguments:
        message = first_difference(argument, expected[argument.name], found[argument.name])
        assert not message, f"{message} on {target}\n\n{program.source}"


def first_difference(argument: Argument, expected: numpy.ndarray, found: numpy.ndarray) -> str:
    """Words for the first element that differs by more than the argument's error; "" if there is none."""
    a, b = (x.astype("float64") for x in (expected, found))
    same = (a == b) | (numpy.abs(a - b) <= argument.error) | (numpy.isnan(a) & numpy.isnan(b))
    if same.all():
        return ""
    at = tuple(int(i) for i in numpy.unravel_index(int(numpy.argmin(same)), same.shape))
    return (f"{argument.name}{list(at)} is {found[at]}, and has to be {expected[at]} "
            f"(error {argument.error:g}, {int((~same).sum())} of {same.size} elements differ)")
