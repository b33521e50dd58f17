"""int4 and uint4: two elements in a byte, unpacked on their way to where they are used."""

import numpy
import pytest
import tilegen.language as T
from tilegen import TilegenError
from tilegen.api import jit
from tilegen.interpret import run as interpret
from tilegen.runtime.load import load


def packed(values: numpy.ndarray) -> numpy.ndarray:
    """The bytes of 4-bit integers, the even column in the lower half."""
    low, high = values[..., ::2].astype(numpy.uint8) & 15, values[..., 1::2].astype(numpy.uint8) & 15
    return low | high << 4


def product(dtype, depth=32):
    """(64, 3 depth) times (depth 3, 32)."""
    K = 3 * depth

    @T.prim_func
    def kernel(A: T.Tensor((64, K), dtype), B: T.Tensor((32, K), dtype), C: T.Tensor((64, 32), "int32")):
        with T.Kernel(1, threads=128) as bx:
            A_shared = T.alloc_shared((64, depth), dtype)
            B_shared = T.alloc_shared((32, depth), dtype)
            C_local = T.alloc_fragment((64, 32), "int32")
            T.clear(C_local)
            for ko in T.Pipelined(3, num_stages=2):
                T.copy(A[0, ko * depth], A_shared)
                T.copy(B[0, ko * depth], B_shared)
                T.gemm(A_shared, B_shared, C_local, transpose_B=True)
            T.copy(C_local, C)
    return jit(kernel)


@jit
def dequantised(A: T.Tensor[("M", "K"), "float16"], W: T.Tensor[("N", "K"), "int4"],
                scale: T.Tensor[("N",), "float32"], C: T.Tensor[("M", "N"), "float32"], BM=32, BN=64, BK=32):
    with T.Kernel(T.ceildiv(N, BN), T.ceildiv(M, BM), threads=128) as (bx, by):
        A_shared = T.alloc_shared((BM, BK), "float16")
        W_shared = T.alloc_shared((BN, BK), "int4")
        W_half = T.alloc_shared((BN, BK), "float16")
        C_local = T.alloc_fragment((BM, BN), "float32")
        T.clear(C_local)
        for ko in T.Pipelined(T.ceildiv(K, BK), num_stages=2):
            T.copy(A[by * BM, ko * BK], A_shared)
            T.copy(W[bx * BN, ko * BK], W_shared)
            T.copy(W_shared, W_half)
            T.gemm(A_shared, W_half, C_local, transpose_B=True)
        for i, j in T.Parallel(BM, BN):
            C_local[i, j] *= scale[bx * BN + j]
        T.copy(C_local, C[by * BM, bx * BN])


@jit
def elements(X: T.Tensor[(8, 64), "uint4"], Y: T.Tensor[(8, 64), "int32"], Z: T.Tensor[(8, 64), "uint4"]):
    with T.Kernel(1, threads=64) as bx:
        X_shared = T.alloc_shared((8, 64), "uint4")
        T.fill(X_shared, 9)
        for i, j in T.Parallel(8, 64):
            Y[i, j] = X[i, j] * 3
        T.copy(X[0:4, 0:32], X_shared[2:6, 16:48])
        T.copy(X_shared, Z)


def on(special):
    """The emitted text, run where that is possible without a GPU."""
    return load(special.source) if special.target.name == "cpu" else load(special.source, target="emulator")


PLACES = [("cuda", "sm_80"), ("cuda", "sm_75"), ("cuda", "sm_90a"), ("hip", "gfx942"), ("cpu", "avx2")]


@pytest.mark.parametrize("place", PLACES, ids=lambda p: p[1])
@pytest.mark.parametrize("dtype, low, high", [("int4", -8, 8), ("uint4", 0, 16)])
def test_a_product_of_four_bits(dtype, low, high, place):
    special = product(dtype).specialised(*place, {})
    rng = numpy.random.default_rng(1)
    a, b = (rng.integers(low, high, (rows, 96)) for rows in (64, 32))
    c, d = numpy.zeros((64, 32), "int32"), numpy.zeros((64, 32), "int32")
    on(special)(packed(a), packed(b), c)
    interpret(special.kernel, {"A": packed(a), "B": packed(b), "C": d}, {})
    assert numpy.array_equal(c, a @ b.T) and numpy.array_equal(d, a @ b.T)
    kind = {"int4": "s4", "uint4": "u4"}[dtype]
    helper = {"sm_80": f"mma_m16n8k32_{kind}", "sm_75": f"mma_m8n8k32_{kind}",
              "sm_90a": f"mma_m16n8k32_{kind[0]}8"}.get(place[1], "")
    emitted = special.source.partition("// ---- Stand-alone")[0]
    if place[0] != "cpu":
        assert helper in emitted and ("_unpacked" in emitted) == (place[1] not in ("sm_80", "sm_75"))


@pytest.mark.parametrize("depth, helper", [(64, "mma_m16n8k64_s4"), (128, "mma_m16n8k64_s4"), (96, "mma_m16n8k32_s4"),
                                           (16, "mma_m16n8k16_s8")])
def test_the_depth_of_a_block_decides(depth, helper):
    special = product("int4", depth).specialised("cuda", "sm_86", {})
    assert helper in special.source
    rng = numpy.random.default_rng(1)
    a, b = (rng.integers(-8, 8, (rows, 3 * depth)) for rows in (64, 32))
    c = numpy.zeros((64, 32), "int32")
    on(special)(packed(a), packed(b), c)
    assert numpy.array_equal(c, a @ b.T)


@pytest.mark.parametrize("place", PLACES[::3], ids=lambda p: p[1])
@pytest.mark.parametrize("sizes", [(32, 64, 64), (35, 50, 70)], ids=["whole", "ragged"])
def test_weights_of_four_bits(sizes, place):
    M, N, K = sizes
    rng = numpy.random.default_rng(2)
    a, w = rng.integers(-4, 4, (M, K)).astype("float16"), rng.integers(-8, 8, (N, K))
    scale = rng.integers(1, 5, N).astype("float32")
    c = numpy.zeros((M, N), "float32")
    on(dequantised.specialised(*place, {}))(a, packed(w), scale, c)
    assert numpy.array_equal(c, a.astype("float32") @ w.T * scale)


@pytest.mark.parametrize("place", PLACES[::4], ids=lambda p: p[1])
def test_elements_parts_and_fills(place):
    x = numpy.random.default_rng(3).integers(0, 16, (8, 64))
    y, z = numpy.zeros((8, 64), "int32"), numpy.zeros((8, 32), "uint8")
    on(elements.specialised(*place, {}))(packed(x), y, z)
    wanted = numpy.full((8, 64), 9)
    wanted[2:6, 16:48] = x[0:4, 0:32]
    assert numpy.array_equal(y, 3 * x) and numpy.array_equal(z, packed(wanted))


def test_a_row_of_an_odd_number_of_elements_is_refused():
    @jit
    def odd(X: T.Tensor[(8, 63), "int4"], Y: T.Tensor[(8, 63), "int32"]):
        with T.Kernel(1, threads=64) as bx:
            for i, j in T.Parallel(8, 63):
                Y[i, j] = X[i, j]
    with pytest.raises(TilegenError, match="rows of X have 63 elements of int4, which are no whole bytes"):
        odd.specialised("cuda", "sm_80", {}).kernel
    with pytest.raises(TilegenError, match="requires K % 2 == 0"):
        load(dequantised.specialised("cpu", "avx2", {}).source)(
            numpy.zeros((4, 33), "float16"), numpy.zeros((4, 16), "uint8"), numpy.zeros(4, "float32"),
            numpy.zeros((4, 4), "float32"))
