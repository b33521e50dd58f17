"""Random uses of fragments: computed indices, slices, other shapes, scalars, products, against the interpreter."""

import pytest
from operation_cases import TARGETS, differences
from random_layouts import program

SEEDS = 24


@pytest.mark.parametrize("seed", range(SEEDS))
def test_a_random_program_gives_what_the_interpreter_gives(seed):
    made = program(seed).specialised(TARGETS[seed % len(TARGETS)])
    wrong = differences(made, {}, 1e-4)
    assert not wrong, f"{wrong}\n{made.source}"


def test_the_programs_go_through_shared_memory_and_through_registers():
    """Otherwise they would show little."""
    notes = [dict(program(seed).specialised("cuda").planned.plan.notes) for seed in range(SEEDS)]
    routed = sum(any(subject.startswith("fragment ") for subject in note) for note in notes)
    assert SEEDS // 2 <= routed
