"""Tiles whose rows are gathered: by vectors, ahead of their step where copies run in the background."""

import numpy
import pytest
import tilegen.language as T
from tilegen.api import jit
from tilegen.interpret import run as interpret
from tilegen.runtime.load import load

TARGETS = [("cuda", "sm_80"), ("cuda", "sm_75"), ("cuda", "sm_90a"), ("hip", "gfx942")]


@jit
def rows(X: T.Tensor[("N", "K"), "float16"], index: T.Tensor[("M",), "int32"], B: T.Tensor[("K", "P"), "float16"],
         Y: T.Tensor[("M", "P"), "float32"], BM=32, BP=32, BK=32, stages=3):
    """Rows of X, named by `index`, times B; what `index` names outside of X is zero."""
    with T.Kernel(T.ceildiv(P, BP), T.ceildiv(M, BM), threads=64) as (bx, by):
        tile = T.alloc_shared((BM, BK), "float16")
        B_shared = T.alloc_shared((BK, BP), "float16")
        Y_local = T.alloc_fragment((BM, BP), "float32")
        T.clear(Y_local)
        for ko in T.Pipelined(T.ceildiv(K, BK), num_stages=stages):
            for i, j in T.Parallel(BM, BK):
                row = index[by * BM + i]
                tile[i, j] = X[row, ko * BK + j]
            T.copy(B[ko * BK, bx * BP], B_shared)
            T.gemm(tile, B_shared, Y_local)
        T.copy(Y_local, Y[by * BM, bx * BP])


def once(element, dtype="float16"):
    """One tile; `element(X, own, i, j)` is what it holds, where `own` is a shared tile of row numbers."""
    @T.prim_func
    def kernel(X: T.Tensor((64, 96), "float16"), Y: T.Tensor((32, 32), dtype)):
        with T.Kernel(1, threads=64) as bx:
            own = T.alloc_shared((32,), "int32")
            tile = T.alloc_shared((32, 32), dtype)
            for i in T.Parallel(32):
                own[i] = 31 - i
            for i, j in T.Parallel(32, 32):
                tile[i, j] = element(X, own, i, j)
            T.copy(tile, Y)
    return jit(kernel)


def verify(kernel, target, arch, given, out, sizes):
    special = kernel.specialised(target, arch, {})
    got, want = (numpy.full_like(given[out], 7) for _ in range(2))
    load(special.source, target="emulator")(**{**given, out: got})
    interpret(special.kernel, {**given, out: want}, sizes)
    assert numpy.allclose(got.astype(float), want.astype(float), rtol=1e-3, atol=1e-2)
    return special.source


@pytest.mark.parametrize("target, arch", TARGETS)
@pytest.mark.parametrize("M, N, K, P", [(32, 50, 96, 32), (37, 20, 45, 19), (5, 9, 8, 3)])
def test_rows_named_by_a_table(target, arch, M, N, K, P):
    rng = numpy.random.default_rng(M)
    X, B = ((rng.random(shape) - 0.5).astype("float16") for shape in ((N, K), (K, P)))
    index = rng.integers(-2, N + 2, M).astype("int32")
    given = {"X": X, "index": index, "B": B, "Y": numpy.zeros((M, P), "float32")}
    source = verify(rows, target, arch, given, "Y", {"M": M, "N": N, "K": K, "P": P})
    copies = "copy_async" if arch in ("sm_80", "sm_90a") else "copy_inside"
    stage = "[stage]" if copies == "copy_async" else ""
    assert f"{copies}<TILE_VEC>(&s.tile{stage}[i]" in source


@T.macro
def shifted(X, own, i, j):
    return X[i * 2 - 3, j + 40]


@T.macro
def from_the_start(X, own, i, j):
    return X[63 - i, j]


@T.macro
def turned(X, own, i, j):
    return X[j, i]


@T.macro
def every_other(X, own, i, j):
    return X[i, 2 * j]


@T.macro
def along_the_row(X, own, i, j):
    return X[i + j // 16, j]


@T.macro
def by_a_tile(X, own, i, j):
    return X[own[i], j]


@T.macro
def doubled(X, own, i, j):
    return X[i, j] + X[i, j]


@pytest.mark.parametrize("element", [shifted, from_the_start], ids=lambda macro: macro.__name__)
def test_rows_go_by_vectors(element):
    X = numpy.random.default_rng(1).random((64, 96)).astype("float16")
    source = verify(once(element), "cuda", "sm_80", {"X": X, "Y": numpy.zeros((32, 32), "float16")}, "Y", {})
    assert "copy_inside<TILE_VEC>(&s.tile[i]" in source


@pytest.mark.parametrize("element", [turned, every_other, along_the_row, by_a_tile, doubled],
                         ids=lambda macro: macro.__name__)
def test_what_is_no_gather_of_rows(element):
    X = numpy.random.default_rng(2).random((64, 96)).astype("float16")
    source = verify(once(element), "cuda", "sm_80", {"X": X, "Y": numpy.zeros((32, 32), "float16")}, "Y", {})
    assert "TILE_VEC>(&s.tile[i]" not in source


def test_elements_that_are_converted_are_no_gather():
    X = numpy.random.default_rng(3).random((64, 96)).astype("float16")
    source = verify(once(shifted, "float32"), "cuda", "sm_80", {"X": X, "Y": numpy.zeros((32, 32), "float32")}, "Y", {})
    assert "TILE_VEC>(&s.tile[i]" not in source


def test_a_tensor_that_the_loop_writes_is_read_in_its_step():
    @jit
    def kernel(X: T.Tensor[(64, 64), "float16"], Y: T.Tensor[(32, 64), "float16"]):
        with T.Kernel(1, threads=64) as bx:
            tile = T.alloc_shared((32, 32), "float16")
            for ko in T.Pipelined(2, num_stages=2):
                for i, j in T.Parallel(32, 32):
                    tile[i, j] = X[2 * i, ko * 32 + j]
                T.copy(tile, Y[0:32, ko * 32:ko * 32 + 32])
                for i, j in T.Parallel(32, 32):
                    X[i, j] = 0.5
    special = kernel.specialised("cuda", "sm_80", {})
    assert "copy_async" not in special.source and "copy_inside<TILE_VEC>(&s.tile[i]" in special.source
