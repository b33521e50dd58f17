"""Every operation on every target, against the interpreter: the text for a GPU runs in the emulator."""

import operations_combined  # noqa: F401  (each of these registers its kernels)
import operations_control  # noqa: F401
import operations_copies  # noqa: F401
import operations_elementwise  # noqa: F401
import operations_launches  # noqa: F401
import operations_names  # noqa: F401
import operations_products  # noqa: F401
import operations_random  # noqa: F401
import operations_reducers  # noqa: F401
import operations_reductions  # noqa: F401
import operations_scans  # noqa: F401
import operations_strided  # noqa: F401
import operations_views  # noqa: F401
import pytest
from operation_cases import CASES, TARGETS, Case, differences
from tilegen.build import clang_hip, nvrtc
from tilegen.build.toolchain import compile_text

FEWER = 3  # of the combinations of dtypes and options, one in so many runs on targets other than CUDA


def of_target(target: str) -> list[Case]:
    """Every kernel; of the combinations of its values a part, another one for each target."""
    if target == "cuda":
        return CASES
    first = {case.function: position for position, case in reversed(list(enumerate(CASES)))}
    turn = TARGETS.index(target)
    return [
        case
        for position, case in enumerate(CASES)
        if position == first[case.function] or position % FEWER == turn % FEWER
    ]


PAIRS = [(case, target) for target in TARGETS for case in of_target(target)]


@pytest.mark.parametrize("case, target", PAIRS, ids=[f"{target}-{case.name}" for case, target in PAIRS])
def test_a_kernel_gives_what_the_interpreter_gives(case, target):
    made = case.specialised(target)
    for sizes in case.sizes:
        wrong = differences(made, sizes, case.rtol)
        assert not wrong, f"{sizes}: {wrong}\n{made.source}"


COMPILERS = {"cuda": (nvrtc, "sm_80"), "hip": (clang_hip, "gfx942")}
COMPILED = [("cuda", case) for case in of_target("hip")] + [
    ("hip", case) for case in {case.function: case for case in CASES}.values()
]


@pytest.mark.parametrize("target, case", COMPILED, ids=[f"{target}-{case.name}" for target, case in COMPILED])
def test_a_kernel_compiles_without_a_warning(target, case):
    """By the compilers of the vendors' languages, which are stricter about overloads than the emulator's."""
    toolchain, arch = COMPILERS[target]
    made = case.specialised(target)
    artifact = compile_text(made.source, toolchain.find(), name=made.kernel.name, target=target, arch=arch)
    assert not [finding for finding in artifact.findings if finding.kind != "spill"]
