"""T.StridedTensor: vectors where rows start at their multiples, the contract, calls, and what is refused."""

from __future__ import annotations

import subprocess

import numpy as np
import pytest

import tilegen
import tilegen.language as T
from tilegen.build import cxx
from tilegen.checking.examine import examine
from tilegen.checking.places import Emulator
from tilegen.checking.shapes import shapes
from tilegen.errors import TilegenError

GPUS = ("cuda", "hip", "maca")


@tilegen.jit
def doubled(A: T.StridedTensor[("M", "N"), ("lda", 1), "float32"], B: T.StridedTensor[("M", "N"), ("ldb", 1), "float32"]):
    with T.Kernel(T.ceildiv(N, 64), T.ceildiv(M, 16), threads=64) as (bx, by):
        tile = T.alloc_shared((16, 64), "float32")
        T.copy(A[by * 16, bx * 64], tile)
        for i, j in T.Parallel(16, 64):
            tile[i, j] *= 2.0
        T.copy(tile, B[by * 16, bx * 64])


@tilegen.jit
def columns(A: T.StridedTensor[("M", "N"), (1, "lda"), "float32"], B: T.Tensor[("M", "N"), "float32"]):
    with T.Kernel(T.ceildiv(N, 64), T.ceildiv(M, 16), threads=64) as (bx, by):
        tile = T.alloc_shared((16, 64), "float32")
        T.copy(A[by * 16, bx * 64], tile)
        T.copy(tile, B[by * 16, bx * 64])


@pytest.mark.parametrize("target", [*GPUS, "cpu"])
def test_parts_of_larger_arrays(target):
    """Only the part is written; the strides are those of the arrays."""
    made = doubled.specialised(target, None)
    run = made.loaded if target == "cpu" else made.emulated
    for first, cols in ((0, 70), (3, 61), (4, 64)):
        A, B = np.random.default_rng(0).random((40, 100), np.float32), np.full((50, 80), 7, np.float32)
        run(A[2:32, first:first + cols], B[5:35, 2:2 + cols])
        want = np.full((50, 80), 7, np.float32)
        want[5:35, 2:2 + cols] = 2 * A[2:32, first:first + cols]
        np.testing.assert_array_equal(B, want)


@pytest.mark.parametrize("target", [*GPUS, "cpu"])
def test_a_transposed_array_is_passed_as_it_is(target):
    made = columns.specialised(target, None)
    A = np.arange(35 * 70, dtype=np.float32).reshape(70, 35)
    out = (made.loaded if target == "cpu" else made.emulated)(A.T)
    np.testing.assert_array_equal(out, A.T)


def test_vectors_need_a_last_stride_of_one():
    kernel = " ".join(doubled.emit("cuda").split("// ---- The kernel")[1].split())
    assert "lda % TILE_VEC == 0 && is_aligned<TILE_VEC>(A), [&](bool whole)" in kernel
    assert "copy_inside<TILE_VEC>(&s.tile[row][col], &A[m * lda + n], m < M ? N - n : 0, whole);" in kernel
    kernel = columns.emit("cuda").split("// ---- The kernel")[1]
    assert "A[m + n * lda]" in kernel and "&A[" not in kernel, "no vector from a tensor whose rows are columns"
    assert "copy_vector" in kernel or "store_inside" in kernel, "its copy into a tensor with rows has vectors"


def test_the_contract_has_the_strides():
    contract = doubled.specialised("cuda", None).emulated.contract
    assert [p.strides for p in contract.params] == [("lda", "1"), ("ldb", "1")]
    assert set(contract.sizes) == {"M", "N", "lda", "ldb"}


def test_the_interpreter_reads_the_strides():
    A, B = np.random.default_rng(0).random((40, 100), np.float32), np.zeros((20, 60), np.float32)
    tilegen.interpret(doubled)(A[:20, :60], B)
    np.testing.assert_array_equal(B, 2 * A[:20, :60])


@pytest.mark.parametrize("arrays, code, text", [
    ((lambda a, b: (a[:, ::2], b[:, :50])), "TG0403", "the stride of dimension 1 is 2"),
    ((lambda a, b: (a[::-1, :50], b[:, :50])), "TG0404", "strides"),
    ((lambda a, b: (a[:, :50], np.broadcast_to(b[:1, :50], (40, 50)))), "TG0404", "strides"),
    ((lambda a, b: (a[:, :50], a[:, 50:])), "TG0413", "B is written and has elements between those of argument A"),
    ((lambda a, b: (a[:, :50], a[:, 49:99])), "TG0413", "B is written and shares memory with argument A"),
    ((lambda a, b: (a[:, :50],)), "TG0401", "B has strides"),
])
def test_calls_that_do_not_fit(arrays, code, text):
    a, b = np.zeros((40, 100), np.float32), np.zeros((40, 100), np.float32)
    with pytest.raises(TilegenError) as caught:
        doubled.specialised("cpu", None).loaded(*arrays(a, b))
    assert caught.value.code == code and text in caught.value.message


@pytest.mark.parametrize("strides, dtype, code", [(("lda",), "float32", "TG0010"), ((1, 0), "float32", "TG0110"),
                                                  (("lda", 1), "int4", "TG0102")])
def test_declarations_that_do_not_fit(strides, dtype, code):
    @tilegen.jit
    def kernel(strides, dtype):
        M, N = T.dynamic("M, N")

        @T.prim_func
        def inner(A: T.StridedTensor((M, N), strides, dtype), B: T.Tensor((M, N), "float32")):
            with T.Kernel(M, threads=32) as m:
                for j in T.Parallel(32):
                    B[m, j] = T.cast(A[m, j], "float32")

        return inner

    with pytest.raises(TilegenError) as caught:
        kernel(strides, dtype).emit("cuda")
    assert caught.value.code == code


def test_no_other_shape():
    def kernel(A: T.StridedTensor[("M", 64), ("lda", 1), "float32"], B: T.Tensor[("M", 64), "float32"]):
        with T.Kernel(M, threads=32) as m:
            flat = T.reshape(A, (M * 64,))
            for j in T.Parallel(64):
                B[m, j] = flat[m * 64 + j]

    with pytest.raises(TilegenError, match="A has strides"):
        tilegen.jit(kernel).emit("cuda")


@pytest.mark.parametrize("kernel", [doubled, columns], ids=["doubled", "columns"])
def test_the_file_alone_checks_itself(kernel, tmp_path):
    """Its main has rows that follow rows."""
    source, program = tmp_path / "kernel.cpp", tmp_path / "kernel"
    source.write_text(kernel.emit("cpu"))
    subprocess.run([*cxx.find().command, "-O1", "-std=c++17", "-mavx2", "-mfma", "-fopenmp", "-DTILEGEN_MAIN",
                    str(source), "-o", str(program)], check=True)
    found = subprocess.run([str(program), "70", "90"], capture_output=True, text=True)
    assert found.returncode == 0 and found.stdout.strip().endswith("ok"), found.stdout + found.stderr


def test_check_tries_rows_with_and_without_gaps():
    made = doubled.specialised("cuda", None)
    contract = made.emulated.contract
    tried = shapes(contract, made.kernel, {})
    verdict = examine(contract, made.kernel, Emulator(made.source, contract, False), tried, {})
    sizes = {result.shape.name: result.shape.sizes for result in verdict.shapes}
    assert sizes["ragged"]["lda"] == sizes["ragged"]["N"] + 3
    assert sizes["whole tiles"]["lda"] == sizes["whole tiles"]["N"]
    assert verdict.ok and not any(result.refused for result in verdict.shapes)
