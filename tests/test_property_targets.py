"""Random tile programs on every target that runs here, against the interpreter.

`python tests/random_programs.py cuda 0 200` runs more of them, and shrinks what fails.
"""

import random
import time

import pytest
from comparison import check, on_target
from programs import draw_program
from random_programs import fault

# Between them these use every kind of stage; a program for a GPU takes a tenth of the time of one in C++.
SEEDS = {"cpu": range(5), "cuda": range(100, 130), "hip": range(200, 212), "maca": range(300, 312)}


@pytest.mark.parametrize("target, seed", [(name, seed) for name, seeds in SEEDS.items() for seed in seeds])
def test_a_random_program_gives_what_the_interpreter_gives(target, seed):
    check(draw_program(seed), on_target, target, seed)


@pytest.mark.fuzz
@pytest.mark.parametrize("target", SEEDS)
def test_random_programs_for_some_minutes(target, request):
    """With `--fuzz-minutes N`: new programs every time, for a part of N minutes on each target. `-s` shows
    faults as they are found, and how many programs ran."""
    end = time.monotonic() + 60 * request.config.getoption("--fuzz-minutes") / len(SEEDS)
    faults, programs = {}, 0
    while time.monotonic() < end:
        seed = random.SystemRandom().randrange(10**9)
        message = fault(draw_program(seed), target, seed)[1]
        programs += 1
        if message:
            faults[seed] = message
            print(f"\n{target}, seed {seed}: {message}", flush=True)
    print(f"\n{target}: {programs} programs, seeds of faults: {list(faults)}", flush=True)
    assert not faults, "\n\n".join(f"seed {seed}: {message}" for seed, message in faults.items())
