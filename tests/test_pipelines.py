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
