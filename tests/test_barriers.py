"""Barriers: none where order does not matter, and none in each turn of a loop that only the first turn needs."""

import numpy
import tilegen.language as T
from generated_runs import run
from tilegen.api import jit
from tilegen.interpret import run as interpret


def kernel_part(source):
    """The text of the kernel itself, without the self-test."""
    return source.partition('extern "C" __global__')[2].partition("// tilegen-launch")[0]


def loop_part(source):
    """The body of its loop over k."""
    return kernel_part(source).partition("for (int k = 0")[2].partition("\n    }\n")[0]


def verify(kernel, X, bins):
    """The source; its result is the interpreter's, in any order of threads, and free of races."""
    special = kernel.specialised("cuda", "sm_80", {})
    want = {"X": X, "Y": numpy.zeros(bins, "int32")}
    interpret(special.kernel, want, {"N": X.shape[0]})
    for order in ("forward", "reverse", "random"):
        got = {"X": X, "Y": numpy.zeros(bins, "int32")}
        run(special.source, got, order)
        assert numpy.array_equal(got["Y"], want["Y"])
    return special.source


VALUES = numpy.random.default_rng(0).integers(0, 16, 700).astype("int32")


@jit
def counts(X: T.Tensor[("N",), "int32"], Y: T.Tensor[(16,), "int32"], BN=128):
    with T.Kernel(1, threads=64) as bx:
        own = T.alloc_shared((16,), "int32")
        T.clear(own)
        for k in T.serial(T.ceildiv(N, BN)):
            for i in T.Parallel(BN):
                if k * BN + i < N:
                    T.atomic_add(own[X[k * BN + i]], 1)
        T.copy(own, Y)


def test_updates_of_one_kind_wait_once_for_what_was_stored_before():
    source = verify(counts, VALUES, 16)
    assert "__syncthreads" not in loop_part(source) and kernel_part(source).count("__syncthreads") == 2


@jit
def mixed(X: T.Tensor[("N",), "int32"], Y: T.Tensor[(16,), "int32"], BN=128):
    with T.Kernel(1, threads=64) as bx:
        own = T.alloc_shared((16,), "int32")
        T.clear(own)
        for k in T.serial(T.ceildiv(N, BN)):
            for i in T.Parallel(BN):
                if k * BN + i < N:
                    T.atomic_add(own[X[k * BN + i]], 1)
            for i in T.Parallel(16):
                T.atomic_max(own[i], 3 * k)
        T.copy(own, Y)


def test_updates_of_two_kinds_wait_for_each_other():
    assert loop_part(verify(mixed, VALUES, 16)).count("__syncthreads") == 2


@jit
def refilled(X: T.Tensor[("N",), "int32"], Y: T.Tensor[(16,), "int32"], BN=128):
    with T.Kernel(1, threads=64) as bx:
        own = T.alloc_shared((16,), "int32")
        for k in T.serial(T.ceildiv(N, BN)):
            T.fill(own, k)
            for i in T.Parallel(BN):
                if k * BN + i < N:
                    T.atomic_add(own[X[k * BN + i]], 1)
        T.copy(own, Y)


def test_updates_wait_for_stores_of_the_same_turn():
    assert loop_part(verify(refilled, VALUES, 16)).count("__syncthreads") == 2


@jit
def read_in_turns(X: T.Tensor[("N",), "int32"], Y: T.Tensor[(64,), "int32"]):
    with T.Kernel(1, threads=64) as bx:
        tile = T.alloc_shared((64,), "int32")
        sums = T.alloc_fragment((64,), "int32")
        T.copy(X[0:64], tile)
        T.clear(sums)
        for k in T.serial(8):
            for i in T.Parallel(64):
                sums[i] += tile[(i + k) % 64]
        T.copy(sums, Y)


def test_a_tile_that_the_loop_only_reads_is_complete_before_the_loop():
    source = verify(read_in_turns, VALUES, 64)
    assert "__syncthreads" not in loop_part(source) and kernel_part(source).count("__syncthreads") == 1
