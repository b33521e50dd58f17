"""T.Pipelined: every shape of loop, on every target, against the interpreter; the emulator watches for races,
poison and what is still on its way."""

import re

import numpy
import pytest
from comparison import arrays, first_difference, parsed
from generated_runs import run
from program_draft import Argument, Program
from tilegen import passes, targets
from tilegen.emit.file import emit_file
from tilegen.errors import TilegenError
from tilegen.explain import decisions
from tilegen.interpret import run as interpret
from tilegen.jit import CHECKS

# Tiles of 8 x 64 from A and B, one a step; `total` and `other` are fragments that end up in O and P.
KERNEL = '''
import tilegen.language as T

{steps}


@T.prim_func
def kernel(A: T.Tensor(({rows}, 64), "float32"), B: T.Tensor(({rows}, 64), "float32"), Ids: T.Tensor((8,), "int32"),
           O: T.Tensor((8, 64), "float32"), P: T.Tensor((8, 64), "float32")):
    with T.Kernel(1, threads=64) as bx:
        A_shared = T.alloc_shared((8, 64), "float32")
        B_shared = T.alloc_shared((8, 64), "float32")
        total = T.alloc_fragment((8, 64), "float32")
        other = T.alloc_fragment((8, 64), "float32")
        T.clear(total)
        T.clear(other)
{body}
        T.copy(total, O)
        T.copy(other, P)
'''

ADD_A = "for i, j in T.Parallel(8, 64):\n        total[i, j] = total[i, j] * 2 + A_shared[7 - i, j]"
ADD_B = "for i, j in T.Parallel(8, 64):\n        other[i, j] += B_shared[i, 63 - j]"
LOAD_A, LOAD_B = "T.copy(A[k * 8, 0], A_shared)", "T.copy(B[k * 8, 0], B_shared)"


def loop(*statements: str, head: str = "T.Pipelined(N, num_stages={stages})", before: str = "", after: str = "") -> str:
    """A pipelined loop over k with these statements."""
    return "\n".join([before] * bool(before) + [f"for k in {head}:", *(f"    {s}" for s in statements), after])


LOOPS = {
    "plain": loop(LOAD_A, LOAD_B, ADD_A, ADD_B),
    "copies_between": loop(LOAD_A, ADD_A, LOAD_B, ADD_B),
    "read_then_overwrite": loop(LOAD_A, ADD_A, "for i, j in T.Parallel(8, 64):\n        A_shared[i, j] = i + j", ADD_A),
    "changed_in_place": loop(LOAD_A, "for i, j in T.Parallel(8, 64):\n        A_shared[i, j] *= 3.0", ADD_A),
    "carried_tile": loop(
        LOAD_A, LOAD_B, "for i, j in T.Parallel(8, 64):\n        kept[i, j] += A_shared[i, j]",
        "for i, j in T.Parallel(8, 64):\n        total[i, j] += kept[7 - i, j] + B_shared[i, j]",
        before='kept = T.alloc_shared((8, 64), "float32")\nT.clear(kept)'),
    "carried_place": loop("T.copy(A[at * 8, 0], A_shared)", LOAD_B, ADD_A, ADD_B, "at = at + 2",
                          before='at = T.alloc_var("int32", init=0)'),
    "used_before_loaded": loop("if k > 0:\n        " + ADD_A.replace("\n    ", "\n        "), LOAD_A, LOAD_B, ADD_B),
    "gathered": loop("row = Ids[k]", "T.copy(A[row * 8, 0], A_shared)", "T.copy(B[Ids[k] * 4, 0], B_shared)",
                     ADD_A, ADD_B),
    "gathered_from_shared": loop(
        "row = table[k]", "T.copy(A[row * 8, 0], A_shared)", ADD_A, "if row > 0:\n        " + ADD_A.replace("\n", "\n    "),
        before='table = T.alloc_shared((8,), "int32")\nT.copy(Ids, table)'),
    "condition": loop("if k % 2 == 0:", "    " + LOAD_A, "    " + ADD_A.replace("\n", "\n    "), LOAD_B, ADD_B),
    "condition_by_data": loop("row = Ids[k]", "if row > 0:", "    T.copy(A[row * 8, 0], A_shared)",
                              "    " + ADD_A.replace("\n", "\n    "), "else:", "    " + LOAD_B,
                              "    " + ADD_B.replace("\n", "\n    ")),
    "loaded_under_a_condition_and_kept": loop("if k % 2 == 0:", "    " + LOAD_A, ADD_A, LOAD_B, ADD_B),
    "read_after": loop(LOAD_A, ADD_A, head="T.Pipelined(N + 1, num_stages={stages})", after=ADD_A.replace("\n    ", "\n")),
    "changed_and_read_after": loop(
        LOAD_A, ADD_A, "for i, j in T.Parallel(8, 64):\n        A_shared[i, j] = A_shared[i, j] + k",
        head="T.Pipelined(N + 1, num_stages={stages})", after=ADD_A.replace("\n    ", "\n")),
    "from_two": loop(LOAD_A, LOAD_B, ADD_A, ADD_B, head="T.Pipelined(2, N + 2, num_stages={stages})"),
    "two_loops": loop(LOAD_A, ADD_A) + loop(LOAD_B, ADD_B),
    "two_loops_over_one_tile": loop(LOAD_A, ADD_A) + loop("T.copy(B[k * 8, 0], A_shared)", ADD_A),
    "two_loops_of_different_stages": loop(LOAD_A, ADD_A) + loop(LOAD_A, ADD_A, head="T.Pipelined(N, num_stages=5)"),
    "nested": loop(LOAD_A, "for q in T.Pipelined(k + 1, num_stages=2):", "    T.copy(B[q * 8, 0], B_shared)",
                   "    " + ADD_B.replace("\n", "\n    "), ADD_A),
    "inside_of_a_loop": "for q in range(2):\n" + "\n".join(
        f"    {line}" for line in loop("T.copy(A[(k + q) * 8, 0], A_shared)", ADD_A).splitlines()),
    "written_in_the_loop": loop(LOAD_A, ADD_A, "for i, j in T.Parallel(8, 64):\n        O[i, j] = total[i, j]",
                                "T.copy(O, B_shared)", ADD_B),
    "converted": loop("T.copy(B[k * 8, 0], half)", "for i, j in T.Parallel(8, 64):\n        other[i, j] += half[i, 63 - j]",
                      before='half = T.alloc_shared((8, 64), "float16")'),
    "ragged_part": loop("T.copy(A[k * 8 + 3, 5], A_shared)", "T.copy(B[k * 8:k * 8 + 8, 0:32], B_shared[:, 0:32])",
                        "T.copy(B[k * 8:k * 8 + 8, 32:64], B_shared[:, 32:64])", ADD_A, ADD_B),
    "constant": loop(LOAD_A, LOAD_B, ADD_A, ADD_B, head="T.Pipelined(1, num_stages={stages})"),
    "constant_none": loop(LOAD_A, LOAD_B, ADD_A, ADD_B, head="T.Pipelined(0, num_stages={stages})"),
}
PLACES = {"cuda-sm_80": "cuda sm_80", "cuda-sm_75": "cuda sm_75", "hip": "hip gfx942", "maca": "maca xcore1000"}


def program(name: str, stages: int, steps: int, dynamic: bool = True) -> Program:
    """The kernel of a loop; `steps` is N, from the rows of A where it is `dynamic`."""
    lines = LOOPS[name].replace("{stages}", str(stages)).splitlines()
    body = "\n".join("        " + line for line in lines)
    source = KERNEL.format(body=body.replace("N", "T.ceildiv(R, 8)") if dynamic else body.replace("N", str(steps)),
                           steps='R = T.dynamic("R")' if dynamic else "", rows="R" if dynamic else 8 * steps)
    rows = 8 * steps
    return Program(source, "kernel", (
        Argument("A", (rows, 64), "float32", "dyadic"), Argument("B", (rows, 64), "float32", "dyadic"),
        Argument("Ids", (8,), "int32", "integer"), Argument("O", (8, 64), "float32", "untouched"),
        Argument("P", (8, 64), "float32", "untouched")))


def planned(made: Program, place: str):
    """(kernel as parsed, planned kernel, emitted text)."""
    name, arch = place.split()
    target = targets.find(name, arch)
    kernel = parsed(made, name)
    for step in CHECKS:
        kernel = step(kernel, target)
    after = passes.run(kernel, target)
    return kernel, after, emit_file(after, target, kernel)


def check(made: Program, place: str, order: str = "random") -> None:
    """Fails where the text gives something else than the interpreter, or the emulator sees a fault."""
    kernel, _, text = planned(made, place)
    expected, found = arrays(made), arrays(made)
    interpret(kernel, expected)
    run(text, found, order)
    for argument in made.arguments:
        message = first_difference(argument, expected[argument.name], found[argument.name])
        assert not message, f"{message} on {place}\n\n{made.source}"


@pytest.mark.parametrize("steps", [5, 1])
@pytest.mark.parametrize("place", PLACES.values(), ids=PLACES)
@pytest.mark.parametrize("name", LOOPS)
def test_loops(name, place, steps):
    check(program(name, 3, steps), place)


@pytest.mark.parametrize("name", LOOPS)
def test_loops_on_the_cpu(name):
    check(program(name, 3, 3), "cpu avx2")


@pytest.mark.parametrize("stages", [0, 1, 2, 4, 7])
@pytest.mark.parametrize("name", ["plain", "read_then_overwrite", "read_after"])
def test_stages(name, stages):
    check(program(name, stages, 5), "cuda sm_80", "reverse")


@pytest.mark.parametrize("steps", [0, 1, 2, 3])
@pytest.mark.parametrize("name", ["plain", "condition", "gathered"])
def test_fewer_steps_than_stages(name, steps):
    check(program(name, 4, steps), "cuda sm_80")
    if steps:
        check(program(name, 4, steps, dynamic=False), "cuda sm_80", "forward")


# ---- What the text says --------------------------------------------------------------------------
def ahead(name: str, place: str = "cuda sm_80", stages: int = 3) -> tuple[str, list[str]]:
    """(the text, reasons of its loops)."""
    _, after, text = planned(program(name, stages, 5), place)
    return text, [d.reason for d in decisions(after) if d.subject == "for"]


@pytest.mark.parametrize("name", ["plain", "copies_between", "read_then_overwrite", "changed_in_place", "gathered",
                                  "condition", "read_after", "from_two", "condition_by_data"])
def test_one_loop_and_one_barrier_of_the_pipeline(name):
    text, [reason] = ahead(name)
    entry = text[text.index("kernel("):text.index("// tilegen-launch")]
    assert entry.count("auto load_stage") == 1 and entry.count("copy_async") >= 1
    assert entry.count("stage k is complete, and nobody still reads the one before") == 1
    assert "cp_async_wait<STAGES - 2>();" in entry
    assert reason.startswith("cp.async: ") and "each step commits one group" in reason


@pytest.mark.parametrize("place", ["cuda sm_75", "hip gfx942", "maca xcore1000"])
def test_registers_hold_the_next_step_without_cp_async(place):
    text, [reason] = ahead("plain", place)
    assert "A_next" in text and "cp_async" not in text and text.count("= [&](int k)") == 2
    assert reason.startswith("registers: the next step's A_shared, B_shared are loaded while this one computes")


@pytest.mark.parametrize("name, reason", [
    ("carried_place", "depends on at, which the loop writes"), ("used_before_loaded", "used before it is loaded"),
    ("converted", "converted on their way"), ("ragged_part", "only a part of the tile is filled"),
    ("loaded_under_a_condition_and_kept", "used before it is loaded"),
    ("two_loops_of_different_stages", "used by several loops")])
def test_what_stays_in_its_step_says_why(name, reason):
    assert any(reason in r for r in ahead(name)[1])


@pytest.mark.parametrize("stages, reason", [(0, "num_stages is 0"), (1, "num_stages is 1: one tile of each operand")])
def test_few_stages(stages, reason):
    text, reasons = ahead("plain", stages=stages)
    assert "load_stage" not in text and reasons[0].startswith(reason)
    assert f"// why one stage: {reason}" in text


def test_a_weaker_wait_is_found():
    kernel, _, text = planned(program("plain", 3, 5), "cuda sm_80")
    for wrong in (text.replace("cp_async_wait<STAGES - 2>();", "cp_async_wait<STAGES - 1>();"),
                  re.sub(r"    __syncthreads\(\);  // why: stage k is.*\n", "", text)):
        assert wrong != text
        expected, found = arrays(program("plain", 3, 5)), arrays(program("plain", 3, 5))
        interpret(kernel, expected)
        with pytest.raises((AssertionError, TilegenError)):
            run(wrong, found, "random")
            assert numpy.array_equal(expected["O"], found["O"])


# ---- order= and stage= ---------------------------------------------------------------------------
CHANGE_A = "for i, j in T.Parallel(8, 64):\n        extra[i, j] = A_shared[7 - i, j] * 2"
ADD_EXTRA = "for i, j in T.Parallel(8, 64):\n        total[i, j] = total[i, j] * 2 + extra[i, j]"
EXTRA = 'extra = T.alloc_shared((8, 64), "float32")'


def scheduled(*statements: str, options: str, before: str = "") -> str:
    return loop(*statements, head=f"T.Pipelined(N, num_stages=2, {options})", before=before)


LOOPS |= {
    "copies_first": scheduled(LOAD_A, LOAD_B, ADD_A, ADD_B, options="order=[0, 1, 2, 3], stage=[0, 0, 1, 1]"),
    "copies_last": scheduled(LOAD_A, LOAD_B, ADD_A, ADD_B, options="order=[2, 3, 0, 1], stage=[0, 0, 2, 2]"),
    "one_copy_ahead": scheduled(LOAD_A, LOAD_B, ADD_A, ADD_B, options="order=[0, 1, 3, 2], stage=[0, 1, 1, 1]"),
    "copies_left_to_the_planner": scheduled(LOAD_A, LOAD_B, ADD_A, ADD_B,
                                            options="order=[-1, -1, 1, 0], stage=[-1, -1, 0, 0]"),
    "in_groups": scheduled("row = Ids[k]", "T.copy(A[row * 8, 0], A_shared)", LOAD_B, ADD_A, ADD_B,
                           options="order=[0, 1], stage=[0, 1], group=[[0, 1], [2, 3]], sync=[[0, 1]]"),
    "computed_ahead": scheduled(LOAD_A, CHANGE_A, ADD_EXTRA, options="order=[1, 2, 0], stage=[0, 0, 1]", before=EXTRA),
    "three_stages": scheduled("row = Ids[k]", "T.copy(A[row * 8, 0], A_shared)", CHANGE_A, ADD_EXTRA,
                              options="order=[2, 1, 0], stage=[0, 1, 2]", before=EXTRA),
}


@pytest.mark.parametrize("steps", [0, 1, 5])
@pytest.mark.parametrize("place", ["cuda sm_80", "hip gfx942"])
@pytest.mark.parametrize("name", [n for n in LOOPS if "options" in n or LOOPS[n].count("order=")])
def test_schedules(name, place, steps):
    check(program(name, 2, steps), place)


def test_schedules_say_how_far_ahead():
    assert "constexpr int STAGES = 3;" in ahead("copies_last")[0]
    text, [reason] = ahead("one_copy_ahead")
    assert "A_shared are loaded STAGES - 1 steps ahead" in reason and "B_shared is loaded in its step: stage=" in reason
    text, [reason] = ahead("three_stages")
    assert "run 2 steps ahead" in reason and "for (int k = -2; " in text


@pytest.mark.parametrize("statements, options, before, words", [
    ((LOAD_A, CHANGE_A, ADD_EXTRA), "order=[0, 2, 1], stage=[0, 0, 0]", EXTRA, "both use extra"),
    ((LOAD_A, CHANGE_A, ADD_EXTRA), "order=[0, 1, 2], stage=[0, 0, 1]", EXTRA, "both use extra"),
    ((LOAD_A, CHANGE_A, ADD_EXTRA), "order=[0, 1, 2], stage=[1, 0, 1]", EXTRA, "both use A_shared"),
    (("T.copy(A[at * 8, 0], A_shared)", ADD_A, "at = at + 2"), "order=[0, 1, 2], stage=[0, 1, 1]",
     'at = T.alloc_var("int32", init=0)', "both use at"),
    (("T.copy(A[k * 8 : k * 8 + 4, :], A_shared[0:4, :])", ADD_A), "order=[0, 1], stage=[0, 1]", "", "loaded ahead, but only")])
def test_a_schedule_that_changes_the_result_is_refused(statements, options, before, words):
    LOOPS["wrong"] = scheduled(*statements, options=options, before=before)
    with pytest.raises(TilegenError) as caught:
        planned(program("wrong", 2, 3), "cuda sm_80")
    del LOOPS["wrong"]
    assert caught.value.code == "TG0209" and words in str(caught.value) and caught.value.loc
    assert "k in T.Pipelined" in str(caught.value) or "T." in str(caught.value)


@pytest.mark.parametrize("options", ["order=[0, 1], stage=[0, 1]", "order=[0, 1, 2], stage=[0, 0, 1], group=[[0, 1], [1, 2]]",
                                     "order=[0, 1, 2]", "order=[0, 1, 2], stage=[0, -1, 1]"])
def test_lists_that_do_not_fit_the_loop_are_refused(options):
    LOOPS["wrong"] = scheduled(LOAD_A, CHANGE_A, ADD_EXTRA, options=options, before=EXTRA)
    with pytest.raises(TilegenError) as caught:
        planned(program("wrong", 2, 3), "cuda sm_80")
    del LOOPS["wrong"]
    assert caught.value.code == "TG0005"
