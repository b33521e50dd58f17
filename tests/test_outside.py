"""Kernels that no pass was written for, on every target, against the interpreter."""

import importlib.util
from pathlib import Path

import pytest
from operation_cases import TARGETS, Case, differences

FOLDER = Path(__file__).parent / "outside"


def case_of(path: Path) -> Case:
    """The kernel of a file with its SIZES."""
    spec = importlib.util.spec_from_file_location(f"outside_{path.stem}", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return Case(path.stem, module.kernel, {}, module.SIZES, getattr(module, "RTOL", None))


CASES = [case_of(path) for path in sorted(FOLDER.glob("*.py"))]


def test_there_are_ten_of_them():
    assert len(CASES) == 10


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("case", CASES, ids=lambda c: c.name)
def test_a_kernel_gives_what_the_interpreter_gives(case, target):
    made = case.specialised(target)
    for sizes in case.sizes:
        wrong = differences(made, sizes, case.rtol)
        assert not wrong, f"{sizes}: {wrong}\n{made.source}"


@pytest.mark.parametrize("arch", ["sm_70", "sm_75", "sm_90a"])
@pytest.mark.parametrize("case", CASES, ids=lambda c: c.name)
def test_a_kernel_on_other_generations_of_gpus(case, arch):
    made = case.specialised("cuda", arch)
    for sizes in case.sizes if arch == "sm_90a" else case.sizes[-1:]:     # ragged sizes may run the text for sm_90
        wrong = differences(made, sizes, case.rtol)
        assert not wrong, f"{sizes}: {wrong}\n{made.source}"
