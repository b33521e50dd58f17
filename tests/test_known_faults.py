"""What users of tile languages reported as wrong or refused: this table names the kernel or test that each has here."""

import ast
from pathlib import Path

import numpy
import pytest
import tilegen
import tilegen.language as T

TESTS = Path(__file__).parent
# What was reported, as the number in TileLang's tracker and in words: the file and the function.
CORRECT = {
    "2556 a barrier where threads are no whole warps": "layout_kernels.threads_that_are_no_warps",
    "2612 a barrier under a condition on the thread":
        "test_device_statements.test_a_barrier_that_not_all_threads_reach_is_refused",
    "1604 atomic updates of two kinds": "test_barriers.test_updates_of_two_kinds_wait_for_each_other",
    "2668 a pipeline that overwrites what it has read": "layout_kernels.read_then_overwritten",
    "2957 loops of different extents over one fragment": "layout_kernels.loops_of_three_extents",
    "2957 a loop that is longer than its fragment": "layout_kernels.a_loop_longer_than_its_fragment",
    "2396 a fragment that is written in a serial loop": "layout_kernels.written_in_serial",
    "2393 such writes, for which a message was asked: they are right here": "layout_kernels.written_in_serial",
    "1301 every second column": "layout_kernels.strided_columns",
    "2381 depths that are no multiple of the instruction's": "layout_kernels.k_tails",
    "2382 vectors of atomic updates": "operations_elementwise.atomic_neighbours",
    "2688 the memory order of neighbouring atomic updates": "test_known_faults.test_neighbouring_updates_keep_order",
    "1666 a print that changes the results": "test_known_faults.test_prints_change_nothing",
    "814 names of changing values":
        "test_frontend_names.test_the_value_of_a_variable_is_taken_when_a_name_is_bound_to_it",
    "2566 warpgroups with a single step": "test_warpgroups.test_few_steps_and_many",
    "2567 lengths that no tile divides": "test_warpgroups.test_attention_takes_scores_from_registers_and_queries_once",
    "1026 a barrier in a branch": "test_device_statements.test_a_barrier_that_not_all_threads_reach_is_refused",
}
LAYOUTS = {
    "1374 groups of a row": "layout_kernels.group_reduction",
    "2399 rows of 96": "layout_kernels.width_96",
    "2883 more than 262144 elements in one loop": "test_known_faults.test_a_loop_of_half_a_million_elements",
    "1165 scores that become an operand": "layout_kernels.scores_cast",
    "2547 two products in one accumulator": "layout_kernels.two_products_one_accumulator",
    "2394 widths that are no powers of two": "layout_kernels.widths_80_and_14",
}


@pytest.mark.parametrize("place", [*CORRECT.values(), *LAYOUTS.values()], ids=[*CORRECT, *LAYOUTS])
def test_a_report_has_a_test(place):
    """The function is there, and is one that a test runs: it is a test itself, or a case that its decorator lists."""
    file, name = place.split(".")
    nodes = ast.walk(ast.parse((TESTS / f"{file}.py").read_text()))
    function, = (node for node in nodes if isinstance(node, ast.FunctionDef) and node.name == name)
    assert name.startswith("test_") or function.decorator_list


def sums(loud):
    @tilegen.jit
    def kernel(X: T.Tensor[("M", 64), "float32"], Y: T.Tensor[("M",), "float32"]):
        with T.Kernel(T.ceildiv(M, 8), threads=64) as b:
            tile = T.alloc_shared((8, 64), "float32")
            row = T.alloc_fragment((8,), "float32")
            T.copy(X[b * 8, 0], tile)
            if loud:
                T.print(tile[0, 0])
            for i, j in T.Parallel(8, 64):
                tile[i, j] = tile[i, j] * tile[i, j]
            if loud:
                T.print(tile)
            T.reduce_sum(tile, row, dim=1)
            if loud:
                T.print(row)
            T.copy(row, Y[b * 8])
    return kernel


@pytest.mark.parametrize("target", ["cuda", "cpu"])
def test_prints_change_nothing(target, capfd):
    X = numpy.random.default_rng(0).random((20, 64), numpy.float32)
    results = []
    for loud in (False, True):
        special = sums(loud).specialised(target, None)
        Y = numpy.zeros(20, numpy.float32)
        (special.emulated if target == "cuda" else special.loaded)(X, Y)
        results.append(Y)
        assert bool(capfd.readouterr().out) == loud
    numpy.testing.assert_array_equal(*results)
    numpy.testing.assert_allclose(results[0], (X * X).sum(1), rtol=1e-5)


@tilegen.jit
def large(X: T.Tensor[(1024, 512), "float32"], Y: T.Tensor[(512, 1024), "float32"]):
    with T.Kernel(1, threads=256) as _:
        for i, j in T.Parallel(1024, 512):
            Y[j, i] = X[i, j] + 1


@pytest.mark.parametrize("target", ["cuda", "cpu"])
def test_a_loop_of_half_a_million_elements(target):
    X = numpy.random.default_rng(0).random((1024, 512), numpy.float32)
    Y = numpy.zeros((512, 1024), numpy.float32)
    special = large.specialised(target, None)
    (special.emulated if target == "cuda" else special.loaded)(X, Y)
    numpy.testing.assert_array_equal(Y, X.T + 1)


def added(order):
    @tilegen.jit
    def kernel(X: T.Tensor[(128,), "float32"], Y: T.Tensor[(128,), "float32"]):
        with T.Kernel(1, threads=32) as _:
            for i in T.Parallel(128):
                T.atomic_add(Y[i], X[i], memory_order=order)
    return kernel


@pytest.mark.parametrize("order, fences", [("relaxed", ""), ("release", "before"), ("acquire", "after"),
                                           ("acq_rel", "before after")])
def test_neighbouring_updates_keep_order(order, fences):
    """Each update has its fences next to it, whether or not neighbours could be updated by one instruction."""
    special = added(order).specialised("cuda", "sm_90")
    before, after = special.source.split("// tilegen-launch")[0].split("atomicAdd(")
    assert ("__threadfence();" in before, "__threadfence();" in after) == ("before" in fences, "after" in fences)
    X, Y = numpy.arange(128, dtype=numpy.float32), numpy.ones(128, numpy.float32)
    special.emulated(X, Y)
    numpy.testing.assert_array_equal(Y, X + 1)
