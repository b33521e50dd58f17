"""Files built for a debugger or for sanitizers, and how to stop in one thread of a GPU kernel on the CPU."""

from __future__ import annotations

import re
import shlex
import sys
from collections.abc import Sequence

from tilegen.emulator.build import Mode
from tilegen.errors import TilegenError
from tilegen.runtime import emulated, native
from tilegen.runtime.load import Loaded

Index = tuple[int, int, int]
_NO_CODE = re.compile(r"\s*(//|#|extern\b|__shared__\b|$)")


def rebuilt(loaded: Loaded, place: str, debug: bool, sanitize: bool) -> Loaded:
    """The file of `loaded`, built with -g -O0 (`debug`) or with sanitizers, for `place`: emulator, or cpu.

    Raises TG0506 for what a place does not have.
    """
    if place == "emulator":
        return Loaded(loaded.source, loaded.contract, emulated.backend(Mode(debug=debug, check=sanitize,
                                                                            sanitize=sanitize)))
    if place == "gpu" or debug:
        raise TilegenError("TG0506", f"{'--debug' if debug else '--sanitize'} has no --on {place}",
                           hint="GPU files run on the CPU with --on emulator")
    return Loaded(loaded.source, loaded.contract, native.backend(sanitize=True))


def index(text: str) -> Index:
    """`1,2` as (1, 2, 0). Raises TG0506."""
    parts = text.split(",")
    if not 1 <= len(parts) <= 3 or not all(part.strip().isdigit() for part in parts):
        raise TilegenError("TG0506", f"{text!r} is not X,Y,Z", hint="write 3,0,0")
    return tuple([*map(int, parts), 0, 0][:3])


def instructions(loaded: Loaded, command: Sequence[str], block: Index, thread: Index) -> str:
    """How to stop a debugger in `thread` of `block`, at the kernel's first line. `loaded` was built for debugging;
    `command` are the arguments of tilegen that run it."""
    source = loaded.artifact.source
    line = first_line(loaded.source, loaded.contract.launches[0].entry)
    condition = f"tilegen_emulator_is({', '.join(map(str, block))}, {', '.join(map(str, thread))})"
    words = ["gdb", "-q", "-ex", "set breakpoint pending on", "-ex", "handle SIGURG nostop noprint",
             "-ex", "set max-value-size unlimited", "-ex", f"directory {source.parent}",
             "-ex", f"break {source.name}:{line} if {condition}",
             "-ex", "run", "--args", sys.executable, "-m", "tilegen", *command]
    return f"""built with -g -O0: {source}
One thread of the operating system runs all threads of the GPU, each on a stack of its own; the debugger sees the
one that runs. To stop where thread {thread} of block {block} starts {loaded.contract.entry}:

  {shlex.join(words)}

At the prompt:
  next, step, finish, info locals, print bx      as in any program; at a barrier other threads run
  print tilegen_emulator_thread()                the number of the running thread in its block
  print tilegen_emulator_is(BX,BY,BZ, X,Y,Z)     whether it is this thread of this block
  break {source.name}:LINE if {condition}
                                                 to stop elsewhere in the same thread
"""


def first_line(text: str, entry: str) -> int:
    """The first line with code in the body of kernel `entry`. Raises TG0506 where it is not found."""
    found = re.search(rf"__global__[^;{{}}]*\b{entry}\s*\([^{{;]*\{{", text)
    if found is None:
        raise TilegenError("TG0506", f"the body of {entry} is not found in the file")
    number = text.count("\n", 0, found.end()) + 1
    lines = text.splitlines()[number:]
    return number + 1 + next(i for i, line in enumerate(lines) if not _NO_CODE.match(line))
