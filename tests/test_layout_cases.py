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


@pytest.mark.parametrize("arch", ["sm_70", "sm_75", "sm_90a"])
@pytest.mark.parametrize("name", ["product_of_80", "k_tails", "two_products_one_accumulator", "scores_cast",
                                  "scores_cast_beside_columns", "operand_turned", "products_into_parts"])
def test_products_of_other_generations(name, arch):
    case = next(c for c in CASES if c.name == name)
    made = case.specialised("cuda", arch)
    for sizes in case.sizes:
        wrong = differences(made, sizes, case.rtol)
        assert not wrong, f"{sizes}: {wrong}\n{made.source}"


@pytest.mark.parametrize("name", ["group_reduction", "groups_in_registers", "width_96", "scores_cast"])
def test_what_a_layout_can_serve_stays_in_registers(name):
    case = next(c for c in CASES if c.name == name)
    assert "_staged" not in case.specialised("cuda").source


@pytest.mark.parametrize("name, reason", [
    ("transposed_reading", "// why: the threads that run this loop hold other elements of x"),
    ("group_scaling", "// why: top[i, j // 32] may lie in another thread"),
    ("row_beside_column", "// why: the threads that run this loop hold other elements of total"),
    ("parts_of_fragments", "// why: the two parts lie in different threads"),
    ("written_in_serial", "// why: x is used by elements outside of T.Parallel"),
    ("one_writer_of_a_row", "// why: one of the threads along j writes picked[i] for all")])
def test_what_goes_through_shared_memory_says_why(name, reason):
    case = next(c for c in CASES if c.name == name)
    assert reason in case.specialised("cuda").source
