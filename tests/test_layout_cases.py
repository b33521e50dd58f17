"""Hard layouts: each kernel of layout_kernels.py on every target, against the interpreter."""

import pytest
from layout_kernels import CASES
from operation_cases import TARGETS, differences

PAIRS = [(case, target) for target in TARGETS for case in CASES]


@pytest.mark.parametrize("case, target", PAIRS, ids=[f"{target}-{case.name}" for case, target in PAIRS])
def test_a_layout_gives_what_the_interpreter_gives(case, target):
    made = case.specialised(target)
    for sizes in case.sizes:
        wrong = differences(made, sizes, case.rtol)
        assert not wrong, f"{sizes}: {wrong}\n{made.source}"
