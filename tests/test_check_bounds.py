"""Accesses outside of tiles: found exactly where there are some, under loops, conditions and constants."""

import itertools
import linecache
import random

import pytest
import tilegen.language as T
from tilegen.errors import TilegenError
from tilegen.frontend import parse
from tilegen.passes.check_bounds import check_bounds


def fault_of(function, **values):
    """The message of TG0105, or an empty string."""
    kernel = parse(function, values=values)
    try:
        assert check_bounds(kernel) is kernel
    except TilegenError as error:
        assert error.code == "TG0105"
        return error.message
    return ""


def test_conditions_keep_an_access_inside():
    def kernel(A: T.Tensor[("N",), "float32"]):
        with T.Kernel(N) as bx:
            x = T.alloc_shared((8,), "float32")
            for i in T.Parallel(16):
                if i < 8:
                    x[i] = 0
                else:
                    x[i - 8] = 1
                A[i] = T.if_then_else(i >= 2 and i < 10, x[i - 2], 0) + (x[i] if i < 8 else 2)
                if i > 0 and x[i // 2] > 0 and i // 2 + 1 < 8:
                    A[i] = x[i // 2 + 1]

    assert fault_of(kernel) == ""


def test_accesses_that_sizes_or_data_decide_are_left_alone():
    def kernel(A: T.Tensor[("N",), "int32"]):
        with T.Kernel(N) as bx:
            x = T.alloc_shared((8,), "int32")
            for i in range(N):
                x[i] = A[i]
                x[A[i]] = 0
                if A[i] < 8:
                    x[i + 8] = 1

    assert fault_of(kernel) == ""
    assert "when i = 8, element 8 of 8" in fault_of(kernel, N=9)


def test_loops_that_may_be_left_are_left_alone():
    def kernel(A: T.Tensor[("N",), "int32"]):
        with T.Kernel(1):
            x = T.alloc_local((8,), "int32")
            for i in range(100):
                if i == 8:
                    break
                x[i] = A[i]

    assert fault_of(kernel) == ""


def test_global_tensors_are_not_checked():
    def kernel(A: T.Tensor[(100,), "float32"], BM=32):
        with T.Kernel(T.ceildiv(100, BM)) as bx:
            x = T.alloc_shared((BM,), "float32")
            T.copy(A[bx * BM], x)
            A[bx * 1000] = 0

    assert fault_of(kernel) == ""


def test_the_block_and_knobs_count():
    def kernel(A: T.Tensor[(64,), "float32"], slots=4):
        with T.Kernel(8) as bx:
            x = T.alloc_local((slots,), "float32")
            for i in range(0, slots, 2):
                row = i + bx // 4
                x[row] = 0
                x[row + 1] = 1

    assert fault_of(kernel) == "x is accessed out of bounds: when bx = 7, i = 2, element 4 of 4"
    assert fault_of(kernel, slots=8) == "x is accessed out of bounds: when bx = 7, i = 6, element 8 of 8"


def test_regions_of_operations():
    def gemm(A: T.Tensor[(64,), "float32"], BK=64):
        with T.Kernel(1):
            x, y = T.alloc_shared((64, 64), "float16"), T.alloc_fragment((64, 64), "float32")
            for k in range(0, BK, 16):
                T.gemm(x[:, k:k + 16], x[k:k + 16, :], y)

    assert fault_of(gemm) == ""
    assert fault_of(gemm, BK=80) == "x is accessed out of bounds: when k = 64, column 64 of 64"


# ---- Against enumeration -------------------------------------------------------------------------
OPERATORS = ["+", "-", "*", "//", "%"]


def random_case(seed):
    """(text of a kernel, whether some access is outside)."""
    pick = random.Random(seed)
    loops = [(name, pick.randint(1, 6)) for name in "ijk"[:pick.randint(1, 3)]]

    def term(depth=0):
        if depth > 1 or pick.random() < 0.4:
            return pick.choice([name for name, _ in loops] + [str(pick.randint(1, 5))])
        op = pick.choice(OPERATORS)
        right = str(pick.randint(1, 5)) if op in ("//", "%") else term(depth + 1)
        return f"({term(depth + 1)} {op} {right})"

    size, index = pick.randint(1, 16), term()
    condition = f"{term()} {pick.choice(['<', '!=', '>='])} {term()}"
    guarded = pick.random() < 0.5
    lines = ['def kernel(A: T.Tensor[("N",), "int32"]):', "    with T.Kernel(1):",
             f"        x = T.alloc_local(({size},), 'int32')"]
    indent = "        "
    for name, extent in loops:
        lines.append(f"{indent}for {name} in range({extent}):")
        indent += "    "
    lines.append(f"{indent}place = {index}")
    lines.append(f"{indent}if {condition if guarded else 'True'}:")
    lines.append(f"{indent}    x[place] = A[0]")
    outside = False
    for values in itertools.product(*(range(extent) for _, extent in loops)):
        names = dict(zip([name for name, _ in loops], values))
        if not guarded or eval(condition, names):
            outside |= not 0 <= eval(index, names) < size
    return "\n".join(lines) + "\n", outside


@pytest.mark.parametrize("first", range(0, 300, 100))
def test_a_fault_is_found_where_there_is_one(first):
    found = 0
    for seed in range(first, first + 100):
        text, outside = random_case(seed)
        file = f"<random access {seed}>"
        linecache.cache[file] = (len(text), None, text.splitlines(True), file)
        names = {"T": T}
        exec(compile(text, file, "exec"), names)
        assert bool(fault_of(names["kernel"])) == outside, text
        found += outside
    assert 20 < found < 90
