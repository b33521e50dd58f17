"""Runs many random programs on a target: python tests/random_programs.py TARGET FIRST LAST [--shrink]

Prints the kinds of faults with the seeds that show them; with --shrink also the smallest program that
hypothesis finds for each kind.
"""

from __future__ import annotations

import re
import sys
import time

from comparison import check, on_target
from hypothesis import HealthCheck, find, settings
from hypothesis.errors import HypothesisException
from program_draft import Program
from programs import draw_program, programs

SECONDS = 30.0           # to shrink one kind of fault


def fault(program: Program, target: str) -> tuple[str, str]:
    """(kind, message) of what goes wrong, ("", "") if nothing does. A kind has no names or numbers."""
    try:
        check(program, on_target, target)
    except Exception as error:
        text = f"{type(error).__name__}: {error}"
        return re.sub(r"\w*\[.*?\]|\w*\d+\w*|-?[\d.]+", "_", text.splitlines()[0])[:110], text
    return "", ""


def smallest(kind: str, target: str, start: Program) -> str:
    """The message of the smallest program with this kind of fault that is found in `SECONDS`."""
    end = time.monotonic() + SECONDS
    seen = [start]

    def shows_it(program: Program) -> bool:
        found = time.monotonic() < end and fault(program, target)[0] == kind
        if found:
            seen.append(program)
        return found

    try:
        find(programs(), shows_it, settings=settings(max_examples=1000, deadline=None, database=None,
                                                     suppress_health_check=list(HealthCheck)))
    except HypothesisException:                  # the time ran out, before or after a first one was found
        pass
    program = min(seen, key=lambda p: len(p.source))
    message = fault(program, target)[1]
    return message if program.source in message else f"{message}\n\n{program.source}"


def main(target: str, first: int, last: int, shrink: bool) -> int:
    """Runs the seeds; gives the number of faults."""
    kinds: dict[str, list[int]] = {}
    for seed in range(first, last):
        kind = fault(draw_program(seed), target)[0]
        if kind:
            kinds.setdefault(kind, []).append(seed)
    for kind, seeds in sorted(kinds.items(), key=lambda item: -len(item[1])):
        print(f"{len(seeds)} programs, seeds {seeds[:8]}: {kind}", flush=True)
        if shrink:
            print(smallest(kind, target, draw_program(seeds[0])), flush=True)
    print(f"{last - first - sum(map(len, kinds.values()))} of {last - first} programs are right on {target}")
    return sum(map(len, kinds.values()))


if __name__ == "__main__":
    sys.exit(bool(main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), "--shrink" in sys.argv)))
