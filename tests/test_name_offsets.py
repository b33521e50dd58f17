"""Elements of tensors that decide where a statement works and do not exist: zero, as elements outside are everywhere,
and never read. The emulator watches every access."""

import numpy
import pytest

from comparison import first_difference, parsed
from generated_runs import run
from program_draft import Argument, Program
from tilegen import passes, targets
from tilegen.emit.file import emit_file
from tilegen.interpret import run as interpret
from tilegen.jit import CHECKS

# 8 numbers of rows of A; `steps` goes beyond them.
KERNEL = '''
import tilegen.language as T


@T.prim_func
def kernel(A: T.Tensor((64, 64), "float32"), Ids: T.Tensor((8,), "int32"), steps: T.int32,
           O: T.Tensor((64, 64), "float32"), P: T.Tensor((8, 64), "float32")):
    with T.Kernel(1, threads=64) as bx:
        tile = T.alloc_shared((8, 64), "float32")
        part = T.alloc_fragment((8, 64), "float32")
        total = T.alloc_fragment((8, 64), "float32")
        T.clear(total)
        for k in {head}:
            {body}
        T.copy(total, P)
'''
ADD = "for i, j in T.Parallel(8, 64): total[i, j] += {}"
BODIES = {
    "box": ["T.copy(A[Ids[k], 0], tile)", ADD.format("tile[7 - i, j]")],
    "sum_in_a_box": ["T.copy(A[Ids[k] * 2 + Ids[k + 1], 0], tile)", ADD.format("tile[7 - i, j]")],
    "element_of_an_element": ["T.copy(A[Ids[Ids[k] + k], 0], tile)", ADD.format("tile[7 - i, j]")],
    "box_of_registers": ["T.copy(A[Ids[k] * 2, 0], part)", ADD.format("part[i, j]")],
    "two_boxes": ["T.copy(A[Ids[k], 0], tile)", "T.copy(A[Ids[k + 2], 0], part)", ADD.format("part[i, j] + tile[i, j]")],
    "written_box": ["T.copy(total, O[Ids[k] * 8, 0])"],
    "fill": ['T.fill(tile, T.cast(Ids[k], "float32"))', ADD.format("tile[i, j]")],
    "read": [ADD.format("A[Ids[k + i] + Ids[Ids[k] + k], j]")],
    "written": ["for i, j in T.Parallel(8, 64): O[Ids[k + i] + 8 * i, j] = 1.0 * k"],
    "updated": ["for i, j in T.Parallel(8, 64): T.atomic_add(O[Ids[k + i], j], 1.0)"],
    "many_times": ["for q in T.serial(Ids[k]):", "    " + ADD.format("q + 1.0")],
    "under_a_condition": ["if Ids[k] > 2:", "    " + ADD.format("A[k, j]")],
}
HEADS = {"serial": "T.serial(steps)", "pipelined": "T.Pipelined(steps, num_stages=3)"}
CASES = [(name, "serial") for name in BODIES] + [(name, "pipelined") for name in ("box", "two_boxes", "written_box", "fill")]
TARGETS = {"cuda": "sm_80", "hip": "gfx942", "maca": "xcore1000", "cpu": "avx2"}


def program(name: str, head: str) -> Program:
    body = "\n            ".join(BODIES[name])
    source = KERNEL.format(head=HEADS[head], body=body)
    return Program(source, "kernel", (
        Argument("A", (64, 64), "float32", "dyadic"), Argument("Ids", (8,), "int32", "integer"),
        Argument("O", (64, 64), "float32", "untouched"), Argument("P", (8, 64), "float32", "untouched")))


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name, head", CASES)
def test_elements_that_do_not_exist(name, head, target):
    made, place = program(name, head), targets.find(target, TARGETS[target])
    kernel = parsed(made, target)
    for check in CHECKS:
        kernel = check(kernel, place)
    rng = numpy.random.default_rng(3)
    given = {"A": rng.integers(-8, 8, (64, 64)).astype("float32"), "Ids": rng.integers(0, 8, 8).astype("int32"), "steps": 13,
             "O": numpy.zeros((64, 64), "float32"), "P": numpy.zeros((8, 64), "float32")}
    expected = {name: value.copy() if name != "steps" else value for name, value in given.items()}
    interpret(kernel, expected)
    run(emit_file(passes.run(kernel, place), place, kernel), given, "random")
    for argument in made.arguments:
        message = first_difference(argument, expected[argument.name], given[argument.name])
        assert not message, f"{message}\n\n{made.source}"


def test_only_what_may_be_missing_gets_a_name():
    source = program("box", "serial").source.replace("T.serial(steps)", "T.serial(8)")
    kernel = parsed(Program(source, "kernel", ()), "cuda")
    found = targets.find("cuda", "sm_80")
    assert "int start" not in emit_file(passes.run(kernel, found), found, kernel)
