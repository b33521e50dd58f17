"""T.alloc_reducer: contributions in registers, sums in a fixed order, and what it refuses."""

from __future__ import annotations

import numpy as np
import operations_reducers  # noqa: F401  (registers its kernels)
import pytest
from operation_cases import CASES, arguments

import tilegen
import tilegen.language as T
from tilegen.checking.places import Emulator
from tilegen.errors import TilegenError

OWN = [case for case in CASES if case.function.__module__ == "operations_reducers"]
ATOMIC = [case for case in OWN if case.name.startswith("by_places")]


@pytest.mark.parametrize("target", ["cuda", "hip", "maca"])
@pytest.mark.parametrize("case", [c for c in OWN if c not in ATOMIC], ids=lambda c: c.name)
def test_contributions_stay_in_registers(case, target):
    """No atomic update, and the threads meet when the reducer is finalized, not before."""
    made = case.specialised(target)
    text = made.source.split("tilegen-launch")[0]
    assert "atomic" not in text and "_partial" in text


@pytest.mark.parametrize("case", ATOMIC, ids=lambda c: c.name)
def test_places_that_are_loaded_need_atomic_updates_and_the_file_says_so(case):
    made = case.specialised("cuda")
    assert "// why: atomic updates: result[X[k * 128 + i] & 15] may lie in another thread" in made.source
    assert any("in no fixed order" in text for _, text in made.planned.plan.notes)


@pytest.mark.parametrize("case", [c for c in OWN if c.name.startswith(("rows_of", "everything-op=sum"))][::5],
                         ids=lambda c: c.name)
def test_the_order_of_threads_changes_no_bit(case):
    made = case.specialised("cuda")
    results = []
    for order, seed in (("forward", 0), ("reverse", 0), ("random", 1), ("random", 2)):
        given = arguments(made, case.sizes[0], seed=5)
        assert not Emulator(made.source, made.emulated.contract, False, seed=seed).attempt(given, order).fault
        results.append([np.asarray(a).tobytes() for a in given.values() if isinstance(a, np.ndarray)])
    assert all(r == results[0] for r in results)


def test_a_large_reducer_stays_in_shared_memory():
    @tilegen.jit
    def kernel(A: T.Tensor[(64, 128), "float32"], B: T.Tensor[(64, 128), "float32"]):
        with T.Kernel(1, threads=32) as _:
            tile = T.alloc_reducer((64, 128), "float32")
            for i, j in T.Parallel(64, 128):
                tile[i, j] += A[i, j]
            T.finalize_reducer(tile, B)

    assert "// why: atomic updates: 256 registers of each thread would be too many" in kernel.specialised("cuda").source


def test_single_threads_contribute_by_atomic_updates():
    @tilegen.jit
    def kernel(B: T.Tensor[(1,), "int32"]):
        with T.Kernel(1, threads=64) as _:
            total = T.alloc_reducer((1,), "int32")
            tx = T.get_thread_binding()
            if tx < 10:
                T.reducer_update(total[0], tx)
            T.finalize_reducer(total, B)

    made = kernel.specialised("cuda")
    notes = dict(made.planned.plan.notes)
    assert notes["reducer total"].endswith("single threads contribute") and "atomicAdd" in made.source
    result = np.zeros(1, np.int32)
    made.emulated(B=result)
    assert result[0] == 45


@pytest.mark.parametrize("replication", ["some", 1])
def test_a_replication_that_does_not_exist(replication):
    @tilegen.jit
    def kernel(B: T.Tensor[(1,), "int32"]):
        with T.Kernel(1, threads=64) as _:
            total = T.alloc_reducer((1,), "int32", replication=replication)
            T.finalize_reducer(total, B)

    with pytest.raises(TilegenError, match="replication is None, 'all' or 'none'"):
        kernel.specialised("cuda").kernel
