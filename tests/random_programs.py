"""Runs many random programs on a target: python tests/random_programs.py TARGET FIRST LAST [--shrink]

Prints the kinds of faults with the seeds that show them; with --shrink also a small program of each kind,
found by taking choices away from the program of its first seed.
"""

from __future__ import annotations

import random
import re
import sys
import time

from comparison import check, on_target
from program_draft import Program
from programs import draw_program, write_program

SECONDS = 30.0           # to shrink one kind of fault


def fault(program: Program, target: str, seed: int = 0) -> tuple[str, str]:
    """(kind, message) of what goes wrong with inputs of `seed`, ("", "") if nothing does. A kind has no names
    or numbers."""
    try:
        check(program, on_target, target, seed)
    except Exception as error:
        text = f"{type(error).__name__}: {error}"
        return re.sub(r"\w*\[.*?\]|\w*\d+\w*|-?[\d.]+", "_", text.splitlines()[0])[:110], text
    return "", ""


def choices_of(seed: int) -> list[int]:
    """The choices that make up the program of a seed, as positions in what there was to choose from."""
    taken: list[int] = []
    generator = random.Random(seed)

    def choose(options):
        taken.append(generator.randrange(len(options)))
        return options[taken[-1]]
    write_program(choose)
    return taken


def program_of(choices: list[int]) -> Program:
    """The program of a list of choices; after its end, and where it is too large, the first one is taken."""
    rest = iter(choices)

    def choose(options):
        position = next(rest, 0)
        return options[position if position < len(options) else 0]
    return write_program(choose)


def smallest(kind: str, target: str, seed: int) -> str:
    """The message of a program with this kind of fault from which no choice can be taken away."""
    choices, end, shrinks = choices_of(seed), time.monotonic() + SECONDS, True
    while shrinks and time.monotonic() < end:
        shrinks = False
        for size in (16, 8, 4, 2, 1):
            for start in range(len(choices) - 1, -1, -size):
                before, cut, after = choices[:start], choices[start:start + size], choices[start + size:]
                for tried in (before + after, before + [0] * len(cut) + after):
                    if tried != choices and fault(program_of(tried), target)[0] == kind:
                        choices, shrinks = tried, True
                        break
    program = program_of(choices)
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
            print(smallest(kind, target, seeds[0]), flush=True)
    print(f"{last - first - sum(map(len, kinds.values()))} of {last - first} programs are right on {target}")
    return sum(map(len, kinds.values()))


if __name__ == "__main__":
    sys.exit(bool(main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), "--shrink" in sys.argv)))
