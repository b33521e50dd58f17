"""Accumulators that go through 16-bit shared tiles: by stmatrix from sm_90 on, by stores of pairs before."""

import numpy
import pytest
import tilegen.language as T
from tilegen.api import jit
from tilegen.interpret import run as interpret
from tilegen.runtime.load import load


@jit
def staged(A: T.Tensor[("M", "K"), "float16"], B: T.Tensor[("K", "N"), "float16"], C: T.Tensor[("M", "N"), "float16"],
           BM=64, BN=64, BK=32):
    with T.Kernel(T.ceildiv(N, BN), T.ceildiv(M, BM), threads=128) as (bx, by):
        A_shared = T.alloc_shared((BM, BK), "float16")
        B_shared = T.alloc_shared((BK, BN), "float16")
        C_shared = T.alloc_shared((BM, BN), "float16")
        C_local = T.alloc_fragment((BM, BN), "float32")
        T.clear(C_local)
        for ko in T.Pipelined(T.ceildiv(K, BK), num_stages=2):
            T.copy(A[by * BM, ko * BK], A_shared)
            T.copy(B[ko * BK, bx * BN], B_shared)
            T.gemm(A_shared, B_shared, C_local)
        T.copy(C_local, C_shared)
        T.copy(C_shared, C[by * BM, bx * BN])


@jit
def through_half(A: T.Tensor[(64, 32), "float16"], C: T.Tensor[(64, 96), "float16"]):
    with T.Kernel(1, threads=128) as bx:
        A_shared = T.alloc_shared((64, 32), "float16")
        B_shared = T.alloc_shared((32, 32), "float16")
        C_shared = T.alloc_shared((64, 96), "float16")
        C_local = T.alloc_fragment((64, 32), "float16")
        T.copy(A, A_shared)
        T.copy(A[0:32, :], B_shared)
        T.fill(C_shared, 2)
        T.gemm(A_shared, B_shared, C_local, clear_accum=True)
        T.copy(C_local, C_shared[:, 32:64])
        T.copy(C_shared, C)


def verify(kernel, arch, sizes, shapes):
    special = kernel.specialised("cuda", arch, {})
    rng = numpy.random.default_rng(5)
    inputs = {n: (rng.random(shape) - 0.5).astype("float16") for n, shape in shapes.items()}
    want, got = dict(inputs, C=inputs["C"].copy()), dict(inputs, C=inputs["C"].copy())
    interpret(special.kernel, want, sizes)
    load(special.source, target="emulator")(**got)
    assert numpy.allclose(got["C"].astype(float), want["C"].astype(float), atol=4e-3)
    return special


@pytest.mark.parametrize("arch", ["sm_80", "sm_90a"])
@pytest.mark.parametrize("sizes", [{"M": 64, "N": 64, "K": 64}, {"M": 70, "N": 50, "K": 45}], ids=["whole", "ragged"])
def test_an_epilogue_through_shared_memory(arch, sizes):
    M, N, K = sizes.values()
    special = verify(staged, arch, sizes, {"A": (M, K), "B": (K, N), "C": (M, N)})
    assert ("stmatrix_x4(" in special.source) == (arch == "sm_90a")
    if arch == "sm_90a":
        assert "stmatrix_x4(&s.C_shared[row][swizzle<float16, BN>(row, col)]" in special.source
        words = dict(special.planned.plan.notes)["bank conflicts of C_shared"]
        assert words.startswith("swizzled: ") and "stmatrix 1 pass" in words


@pytest.mark.parametrize("arch", ["sm_86", "sm_120"])
def test_float16_sums_into_a_part_of_a_tile(arch):
    special = verify(through_half, arch, {}, {"A": (64, 32), "C": (64, 96)})
    assert ("stmatrix_x4(" in special.source) == (arch == "sm_120")
