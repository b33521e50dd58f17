"""MIN_BLOCKS: what fits into an SM, and room enough for the compiler."""

import pytest

import layout_annotated
import layout_kernels
import operation_cases
import test_operations  # noqa: F401  (registers the cases)
import test_outside
import tilegen
from tilegen import targets
from tilegen.build import nvrtc
from tilegen.build.toolchain import compile_text
from tilegen.passes.plan_occupancy import _fitting

# Kernels of few threads, whose registers were once bounded too tightly.
SMALL = ("row_beside_column", "fragment_by_columns", "loops", "tuple_threads-threads=(64, 1)",
         "transposes-turned_a=False-turned_b=True")
CASES = [c for c in (*layout_kernels.CASES, *layout_annotated.CASES, *operation_cases.CASES) if c.name in SMALL]
CASES += test_outside.CASES


@pytest.mark.parametrize("threads, registers, blocks", [
    (64, 40, 24),                    # 48 warps: a part of the SM has room for 12 of them
    (96, 48, 13),                    # 40 warps
    (128, 168, 3), (256, 128, 2), (384, 168, 1), (80, 32, 21), (1024, 64, 1)])
def test_each_part_of_an_sm_holds_whole_warps(threads, registers, blocks):
    assert _fitting(targets.find("cuda", "sm_80"), threads, registers) == blocks


def test_the_small_kernels_are_there():
    assert len(CASES) == len(SMALL) + len(test_outside.CASES)


@pytest.mark.parametrize("case", CASES, ids=lambda c: c.name)
def test_no_register_goes_to_memory(case):
    kernel = tilegen.jit(case.function)
    made = kernel(**case.values) if isinstance(kernel, tilegen.api.Factory) else kernel.specialize(**case.values)
    text = made.specialised("cuda", "sm_80").source
    artifact = compile_text(text, nvrtc.find(), name="small", target="cuda", arch="sm_80")
    assert not artifact.findings and artifact.resources.stack == 0
