"""Random tile programs: the interpreter against itself on another order of execution, and the printer."""

import ast

import numpy as np
import pytest
import random_programs
from comparison import arrays, check, first_difference, on_interpreter, parsed
from hypothesis import HealthCheck, given, settings
from program_draft import Argument
from programs import draw_program, programs
from tilegen import ir
from tilegen.interpret import run
from tilegen.printer import show

FEW = settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)
SEEDS = range(40)


def one_by_one(kernel: ir.Kernel) -> ir.Kernel:
    """The kernel with each T.Parallel nest as serial loops, which run backwards."""
    def rule(node):
        if not isinstance(node, ir.Parallel):
            return None
        body = node.body
        for var, extent in reversed(list(zip(node.vars, node.extents))):
            last = ir.BinOp("-", extent, ir.Const(1))
            body = (ir.For("serial", var, last, ir.Const(-1), ir.Const(-1), body),)
        return body[0]
    return ir.rewrite(kernel, rule)


@FEW
@given(programs(tiles=(2, 4)))
def test_the_order_of_parallel_iterations_does_not_matter(program):
    def backwards(kernel, contents, target):
        run(one_by_one(kernel), contents)
    check(program, backwards, "one iteration at a time")


@FEW
@given(programs())
def test_every_element_of_the_outputs_is_written_and_defined(program):
    results = []
    for start in (77, 78):
        contents = arrays(program)
        for argument in program.arguments:
            if argument.fill == "untouched":
                contents[argument.name][...] = start
        run(parsed(program), contents)
        results.append(contents)
    for argument in program.arguments:
        first, second = (r[argument.name].astype("float64") for r in results)
        assert not np.isnan(first).any() and np.array_equal(first, second), program.source


@FEW
@given(programs())
def test_the_printed_kernel_is_python(program):
    text = show(parsed(program))
    kernel = ast.parse(text).body[-1]
    assert isinstance(kernel, ast.FunctionDef) and kernel.name == "program"
    assert [a.arg for a in kernel.args.args] == [a.name for a in program.arguments]


def test_programs_are_the_same_for_the_same_seed():
    for seed in SEEDS:
        assert draw_program(seed) == draw_program(seed)
    assert len({draw_program(seed).source for seed in SEEDS}) == len(SEEDS)


def test_programs_can_be_made_again_from_their_choices():
    for seed in SEEDS:
        assert random_programs.program_of(random_programs.choices_of(seed)) == draw_program(seed)


def test_what_fails_is_made_small(monkeypatch):
    def no_products(kernel, contents, target):
        on_interpreter(kernel, contents, target)
        assert not any(isinstance(node, ir.Gemm) for node in ir.walk(kernel)), "a product"

    monkeypatch.setattr(random_programs, "on_target", no_products)
    seed = next(s for s in SEEDS if all(t in draw_program(s).source for t in ("T.gemm", "T.reduce")))
    kind = random_programs.fault(draw_program(seed), "cuda")[0]
    text = random_programs.smallest(kind, "cuda", seed)
    assert kind == "AssertionError: a product" and "T.gemm" in text
    assert "T.reduce" not in text and len(text) < len(draw_program(seed).source)


def test_programs_cover_the_language():
    text = "\n".join(draw_program(seed).source for seed in range(400))
    for word in ("T.copy", "T.gemm", "transpose_A", "transpose_B", "T.Pipelined", "T.serial", "T.unroll",
                 "T.Parallel", "T.reduce_sum", "T.reduce_max", "clear=False", "T.atomic_add", "T.dynamic",
                 "T.alloc_shared", "T.alloc_fragment", "T.alloc_var", "while ", "if ", "else:", "break",
                 "continue", "T.fill", "T.clear", "T.if_then_else", "T.cast", "T.clamp", "T.exp(", "T.tanh(",
                 "//", "% ", "bfloat16", "float16", "float64", "int8", "int64", "M = 1\n", "N = 1\n",
                 "K = 1\n"):
        assert word in text, word


def test_sizes_are_ragged_and_whole():
    ragged = [draw_program(seed).source.count("16\nM = 19") for seed in range(400)]
    assert any(ragged) and not all(ragged)


def test_a_difference_is_found():
    argument = Argument("O", (2, 2), "float32", "untouched", 0.5)
    expected = np.zeros((2, 2), "float32")
    found = expected.copy()
    found[1, 0] = 0.5
    assert not first_difference(argument, expected, found)
    found[1, 0] = 0.75
    assert first_difference(argument, expected, found).startswith("O[1, 0] is 0.75, and has to be 0.0")
    found[1, 0] = np.nan
    assert "O[1, 0] is nan" in first_difference(argument, expected, found)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("kind", ["output", "input"])
def test_check_notices_a_wrong_target(seed, kind):
    program = draw_program(seed)
    wrong = next(a for a in program.arguments if (a.fill == "untouched") == (kind == "output"))

    def broken(kernel, contents, target):
        on_interpreter(kernel, contents, target)
        contents[wrong.name].flat[-1] += 1

    check(program, on_interpreter, "the interpreter")
    with pytest.raises(AssertionError, match=wrong.name):
        check(program, broken, "a broken target")
