"""Waits that never end, clusters and registers on the emulator: each fault is reported with who waits for what."""

from __future__ import annotations

import numpy as np
import pytest

from tilegen.errors import TilegenError
from tilegen.runtime import emulator


def fault(lines: str, *, block: int = 64, grid: int = 1, cluster=(1, 1, 1), order: str = "forward") -> TilegenError:
    """The error of a kernel with body `lines`, which start at line 3 of the file."""
    text = f"extern \"C\" __global__ void k()\n{{\n{lines}\n}}\n"
    library = emulator.compile_source(text, "cuda", warp_size=32, name="bad.cu")
    with pytest.raises(TilegenError) as caught:
        emulator.launch(library, "k", [grid], [block], 0, [], cluster=cluster, order=order)
    assert caught.value.code == "TG0601"
    return caught.value


BARRIER = ("__shared__ unsigned long long bars[2];\nif (threadIdx.x == 0) mbarrier_init(&bars[1], COUNT);\n"
           "__syncthreads();\n")


@pytest.mark.parametrize("order", emulator.ORDERS)
def test_a_phase_that_nobody_completes(order):
    error = fault(BARRIER.replace("COUNT", "33") + "if (threadIdx.x < 32) mbarrier_arrive(&bars[1]);\n"
                  "else mbarrier_wait(&bars[1], 0);", order=order)
    assert error.loc.line == 7 and error.message.startswith("deadlock: thread")
    assert "and others of block (0, 0, 0) wait at mbarrier_wait (bad.cu:7)" in error.message
    assert "for parity 0 of the mbarrier of bad.cu:4 at shared address 0x408 of block (0, 0, 0)" in error.message
    assert "whose phase 0 lacks 1 of 33 arrivals and 0 bytes" in error.message


def test_a_phase_whose_bytes_never_come():
    error = fault(BARRIER.replace("COUNT", "1") + "if (threadIdx.x == 0) mbarrier_arrive_expect(&bars[1], 64);\n"
                  "mbarrier_wait(&bars[1], 0);")
    assert error.loc.line == 7 and "lacks 0 of 1 arrivals and 64 bytes" in error.message


def test_a_loop_that_tries_in_vain():
    error = fault(BARRIER.replace("COUNT", "1") + "while (!mbarrier_try_wait(&bars[1], 0)) {\n}")
    assert error.loc.line == 6 and "mbarrier_try_wait" in error.message and "lacks 1 of 1 arrivals" in error.message


def test_a_loop_that_tries_until_it_is_there():
    out = np.zeros(64, np.int32)
    text = ("extern \"C\" __global__ void k(int* out)\n{\n" + BARRIER.replace("COUNT", "32") +
            "if (threadIdx.x < 32) { for (int i = 0; i < 100; ++i) __nanosleep(1); mbarrier_arrive(&bars[1]); }\n"
            "int tries = 1;\nwhile (!mbarrier_try_wait(&bars[1], 0)) ++tries;\nout[threadIdx.x] = tries;\n}\n")
    library = emulator.compile_source(text, "cuda", warp_size=32)
    for order in emulator.ORDERS:
        emulator.launch(library, "k", [1], [64], 0, [out], order=order)
        assert (out >= 1).all()


def test_a_named_barrier_that_lacks_threads():
    error = fault("if (threadIdx.x < 32) named_barrier_sync(1, 64);")
    assert "a named barrier (bad.cu:3) for 32 more of 64 threads" in error.message and error.loc.line == 3


def test_a_block_that_stays_away_from_the_cluster():
    error = fault("if (blockIdx.x == 0) cluster_sync();", grid=2, cluster=(2, 1, 1))
    assert "the cluster barrier (bad.cu:3) for 64 more of 128 threads" in error.message and error.loc.line == 3


def test_a_block_outside_of_the_cluster():
    error = fault("__shared__ int s;\n*map_shared_rank(&s, 2) = 1;", grid=2, cluster=(2, 1, 1))
    assert "the cluster of 2 blocks has no block 2" in error.message and error.loc.line == 4


@pytest.mark.parametrize("call, message", [
    ("setmaxnreg_dec<20>()", "a multiple of 8 from 24 to 256"), ("setmaxnreg_inc<100>()", "a multiple of 8"),
    ("setmaxnreg_inc<160>()", "setmaxnreg.inc to 160, from 168"), ("setmaxnreg_dec<200>()", "setmaxnreg.dec to 200, from 168")])
def test_register_counts_that_are_refused(call, message):
    error = fault(f"{call};", block=384)
    assert message in error.message and error.loc.line == 3


def test_more_registers_than_the_pool_has():
    error = fault("if (threadIdx.x < 128) setmaxnreg_dec<24>();\nelse setmaxnreg_inc<248>();", block=384)
    assert error.message.startswith("deadlock") and "registers of" in error.message and error.loc.line == 4


@pytest.mark.parametrize("grid, cluster, before, message", [
    (4, (3, 1, 1), "", "the grid (4, 1, 1) is not a multiple of the cluster (3, 1, 1)"),
    (34, (17, 1, 1), "", "a cluster of 17 blocks"), (4, (0, 1, 1), "", "a cluster of 0 blocks"),
    (4, (4, 1, 1), "__cluster_dims__(2, 1, 1)",
     "declared with __cluster_dims__(2, 1, 1) and launched with clusters of (4, 1, 1)"),
    (3, (1, 1, 1), "__cluster_dims__(N)", "the grid (3, 1, 1) is not a multiple of the cluster (2, 1, 1)"),
    (4, (1, 1, 1), "__launch_bounds__(32 * (N - 1), 1)",
     "64 threads, but the kernel is declared with __launch_bounds__(32)")])
def test_launches_that_do_not_fit_the_cluster_or_the_bounds(grid, cluster, before, message):
    text = f"constexpr int N = 2;\n__global__ void {before} k()\n{{\n}}\n"
    library = emulator.compile_source(text, "cuda", warp_size=32)
    with pytest.raises(TilegenError) as caught:
        emulator.launch(library, "k", [grid], [64], 0, [], cluster=cluster)
    assert caught.value.code == "TG0411" and message in caught.value.message


def test_a_declared_cluster_needs_no_argument():
    out = np.zeros(4, np.int32)
    text = ("constexpr int N = 2;\n__global__ void __cluster_dims__(N, 1, 1) k(int* out)\n"
            "{\n  out[blockIdx.x] = cluster_size();\n}\n")
    emulator.launch(emulator.compile_source(text, "cuda", warp_size=32), "k", [4], [1], 0, [out])
    assert out.tolist() == [2, 2, 2, 2]
