"""Every operation on every target, against the interpreter: the text for a GPU runs in the emulator."""

import operations_control  # noqa: F401  (each of these registers its kernels)
import operations_copies  # noqa: F401
import operations_elementwise  # noqa: F401
import operations_products  # noqa: F401
import operations_reductions  # noqa: F401
import operations_scans  # noqa: F401
import pytest
from operation_cases import CASES, TARGETS, differences


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
def test_a_kernel_gives_what_the_interpreter_gives(case, target):
    made = case.specialised(target)
    for sizes in case.sizes:
        wrong = differences(made, sizes, case.rtol)
        assert not wrong, f"{sizes}: {wrong}\n{made.source}"
