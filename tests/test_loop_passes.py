"""What is taken out of loops: sums across lanes, operands, loads behind products, rows that a condition leaves out;
and the registers of fragments that live at once."""

import linecache

import numpy
import pytest
from generated_runs import run
from tilegen import check, ir
from tilegen.api import jit
from tilegen.interpret import run as interpret
from tilegen.passes.live_registers import most_registers
from tilegen.plan import DeferredSum, KeptOperand, PipelinePlan

HEAD = '''
import tilegen.language as T


def kernel(A: T.Tensor[("M", "K"), "float16"], B: T.Tensor[("N", "K"), "float16"], C: T.Tensor[("M", "N"), "float32"],
           R: T.Tensor[("M",), "float32"], BM=64, BN=64, BK=64):
    with T.Kernel(T.ceildiv(M, BM), threads=128) as bx:
        A_shared = T.alloc_shared((BM, BK), "float16")
        B_shared = T.alloc_shared((BN, BK), "float16")
        S = T.alloc_fragment((BM, BN), "float32")
        part = T.alloc_fragment((BM,), "float32")
        total = T.alloc_fragment((BM,), "float32")
        T.copy(A[bx * BM, 0], A_shared)
        {start}
        for kb in T.Pipelined(T.ceildiv(N, BN), num_stages=2):
            T.copy(B[kb * BN, 0], B_shared)
            {first}
            T.gemm(A_shared, B_shared, S, transpose_B=True, clear_accum=True)
            T.reduce_sum(S, part, dim=1{clear})
            {update}
            T.copy(S, C[bx * BM, kb * BN])
        T.copy(total, R[bx * BM])
'''
UPDATE = "for i in T.Parallel(BM): total[i] = total[i] * 0.5 + part[i]"


def kernel_of(text: str):
    name = f"<loop {hash(text)}>"
    linecache.cache[name] = (len(text), None, text.splitlines(True), name)
    space: dict = {}
    exec(compile(text, name, "exec"), space)
    return jit(space["kernel"])


def sums(start="T.clear(total)", first="", update=UPDATE, clear=""):
    return kernel_of(HEAD.format(start=start, first=first, update=update.replace("\n", "\n" + " " * 12), clear=clear))


def planned(kernel, kind, arch="sm_80"):
    """The nodes of a kind in the planned kernel, in pipelines too."""
    found = []
    for node in ir.walk(kernel.specialised("cuda", arch).planned.body):
        found += [node] if isinstance(node, kind) else []
        if isinstance(node, ir.For) and isinstance(node.plan, PipelinePlan):
            found += [s for s in node.plan.once if isinstance(s, kind)]
    return found


def text_of(kernel) -> str:
    return kernel.specialised("cuda", "sm_80").source


def assert_right(kernel, M=70, N=150, K=64):
    rng = numpy.random.default_rng(3)
    given = {"A": rng.random((M, K)).astype("float16") - numpy.float16(0.5),
             "B": rng.random((N, K)).astype("float16") - numpy.float16(0.5),
             "C": numpy.full((M, N), 77, "float32"), "R": numpy.full(M, 77, "float32")}
    expected = {name: x.copy() for name, x in given.items()}
    parsed = kernel.specialised("cuda", "sm_80").kernel
    interpret(parsed, expected, sizes={"M": M, "N": N, "K": K})
    run(text_of(kernel), given)
    for name in ("C", "R"):
        result = check.compare(name, given[name], expected[name], 1e-3)
        assert result.ok, result


# ---- Sums that meet after the loop ---------------------------------------------------------------
@pytest.mark.parametrize("update", [
    UPDATE,
    "for i in T.Parallel(BM): total[i] = part[i] + total[i]",
    "for i in T.Parallel(BM): total[i] = total[i] - 2 * part[i]",
    "for i in T.Parallel(BM): total[i] = total[i] / (kb + 1)\nfor i in T.Parallel(BM): total[i] = total[i] + part[i]",
])
def test_a_running_sum_is_completed_after_the_loop(update):
    kernel = sums(update=update)
    before, after = text_of(kernel).split("total[e] = sum_in_warp<THREADS_N>(total[e]);")
    assert "sum_in_warp<THREADS_N>(partial)" not in before + after
    assert_right(kernel)


def test_a_sum_into_the_running_sum_itself():
    kernel = kernel_of(HEAD.format(start="T.clear(total)", first="", update="", clear="")
                       .replace("T.reduce_sum(S, part, dim=1)", "T.reduce_sum(S, total, dim=1, clear=False)"))
    assert "total[e] = sum_in_warp<THREADS_N>(total[e]);" in text_of(kernel)
    assert_right(kernel)


@pytest.mark.parametrize("changes", [
    {"start": "T.fill(total, 1)"},                                       # not 0 at first: lanes would count it each
    {"update": "for i in T.Parallel(BM): total[i] = total[i] * part[i]"},
    {"update": "for i in T.Parallel(BM): total[i] = T.max(total[i], part[i])"},
    {"update": "for i in T.Parallel(BM): total[i] = total[i] + part[i] + 1"},
    {"update": UPDATE + "\nfor i, j in T.Parallel(BM, BN): S[i, j] = S[i, j] - part[i]"},
    {"update": UPDATE + "\nfor i, j in T.Parallel(BM, BN): S[i, j] = S[i, j] - total[i]"},
])
def test_a_sum_that_something_else_needs_meets_in_the_loop(changes):
    kernel = sums(**changes)
    assert "sum_in_warp<THREADS_N>(partial)" in text_of(kernel)
    assert not any(isinstance(n.plan, DeferredSum) for n in planned(kernel, ir.Reduce))
    assert_right(kernel)


# ---- Operands in registers -----------------------------------------------------------------------
def test_an_operand_that_stays_is_loaded_once():
    kernel = sums()
    assert len(planned(kernel, KeptOperand)) == 1
    text = text_of(kernel)
    assert text.index("A_regs[k / MMA_K][tile_m],") < text.index("cp_async_wait<STAGES - 2>();")
    assert "// why: A_shared stays the same in the loop, and there are registers for it" in text


@pytest.mark.parametrize("first", [
    "T.copy(A[bx * BM, kb], A_shared)",
    "for i, j in T.Parallel(BM, BK): A_shared[i, j] = A_shared[i, j] * 2",
])
def test_an_operand_that_changes_is_loaded_in_every_step(first):
    kernel = sums(first=first)
    assert not planned(kernel, KeptOperand) and "A_regs" not in text_of(kernel)
    assert_right(kernel)


def test_an_operand_without_room_is_loaded_in_every_step():
    kernel = sums().specialize(BM=128, BN=128, BK=128)
    assert not planned(kernel, KeptOperand)


# ---- Loads behind products -----------------------------------------------------------------------
def test_loads_come_behind_the_first_of_several_products():
    two = "T.gemm(A_shared, B_shared, S, transpose_B=True)"
    text = text_of(sums(first=two))
    step = text[text.index("cp_async_wait<STAGES - 2>();"):]
    assert step.index("mma_m16n8k16") < step.index("load_stage(kb + STAGES - 1)")
    step = text_of(sums())
    step = step[step.index("cp_async_wait<STAGES - 2>();"):]
    assert step.index("load_stage(kb + STAGES - 1)") < step.index("mma_m16n8k16")


# ---- Rows that a condition leaves out ------------------------------------------------------------
def test_a_condition_on_a_row_is_tested_once_for_the_row():
    update = UPDATE + "\nfor i, j in T.Parallel(BM, BN):\n    if part[i] > 0:\n        S[i, j] = S[i, j] * part[i]"
    kernel = sums(update=update)
    lines = [line.strip() for line in text_of(kernel).splitlines()]
    test = lines.index("if (part[r] > 0.0f)")
    assert lines[test - 1].startswith("for (int r = 0;") and lines[test + 2].startswith("for (int c = 0;")
    assert_right(kernel)


def test_a_condition_on_what_the_row_changes_stays_inside():
    update = "for i, j in T.Parallel(BM, BN):\n    if S[i, j] > 0:\n        S[i, j] = 0"
    kernel = sums(update=update)
    assert "if (S[r][c] > 0.0f)" in text_of(kernel)
    assert_right(kernel)


# ---- Registers -----------------------------------------------------------------------------------
def test_fragments_that_do_not_meet_share_registers():
    kernel = kernel_of('''
import tilegen.language as T


def kernel(A: T.Tensor[("M", "N"), "float32"], C: T.Tensor[("M", "N"), "float16"], BM=64, BN=64):
    with T.Kernel(T.ceildiv(M, BM), threads=128) as bx:
        X = T.alloc_fragment((BM, BN), "float32")
        Y = T.alloc_fragment((BM, BN), "float16")
        Z = T.alloc_fragment((BM, BN), "float32")
        T.copy(A[bx * BM, 0], X)
        T.copy(X, Y)
        T.copy(Y, C[bx * BM, 0])
        for k in range(4):
            T.copy(A[bx * BM, k], Z)
            for i, j in T.Parallel(BM, BN):
                Z[i, j] = Z[i, j] + 1
            T.copy(Z, C[bx * BM, k])
''')
    alive = most_registers(kernel.specialised("cuda", "sm_80").planned)
    assert sum(alive.values()) == 32                                   # X, then Y in its place, then Z


def test_what_a_loop_carries_lives_through_it():
    kernel = sums()
    alive = most_registers(kernel.specialised("cuda", "sm_80").planned)
    assert alive == {"S": 32, "part": 2, "total": 2}
