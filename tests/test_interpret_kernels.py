"""Whole kernels from their Python text, interpreted, against NumPy written by hand."""

import math

import ml_dtypes
import numpy as np
import pytest
import tilegen.language as T
from tilegen.errors import TilegenError
from tilegen.frontend import parse
from tilegen.interpret import run

RNG = np.random.default_rng(7)


def floats(*shape):
    return RNG.standard_normal(shape).astype("float32")


def call(function, *arrays, values=None, **scalars):
    """Runs a kernel on arrays by position; gives the last one."""
    kernel = parse(function, values=values)
    tensors = [p.name for p in kernel.params if p.buffer is not None]
    run(kernel, dict(zip(tensors, arrays)) | scalars)
    return arrays[-1]


def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def matmul(A: T.Tensor[("M", "K"), "float16"], B: T.Tensor[("K", "N"), "float16"],
           C: T.Tensor[("M", "N"), "float32"], BM=32, BN=16, BK=8):
    with T.Kernel(T.ceildiv(N, BN), T.ceildiv(M, BM), threads=128) as (bx, by):
        a = T.alloc_shared((BM, BK), "float16")
        b = T.alloc_shared((BK, BN), "float16")
        c = T.alloc_fragment((BM, BN), "float32")
        T.clear(c)
        for k in T.Pipelined(T.ceildiv(K, BK), num_stages=3):
            T.copy(A[by * BM, k * BK], a)
            T.copy(B[k * BK, bx * BN], b)
            T.gemm(a, b, c)
        T.copy(c, C[by * BM, bx * BN])


@pytest.mark.parametrize("m, n, k", [(64, 32, 16), (33, 17, 9), (1, 1, 1), (5, 100, 3), (0, 4, 4), (4, 4, 0)])
def test_matmul_of_any_size(m, n, k):
    a, b = floats(m, k).astype("float16"), floats(k, n).astype("float16")
    result = call(matmul, a, b, np.full((m, n), np.nan, "float32"))
    np.testing.assert_allclose(result, a.astype("float32") @ b.astype("float32"), rtol=1e-4, atol=1e-5)


def attention(Q: T.Tensor[("S", 16), "float32"], K: T.Tensor[("S", 16), "float32"],
              V: T.Tensor[("S", 16), "float32"], O: T.Tensor[("S", 16), "float32"], BM=16, BN=8):
    """Flash attention with a causal mask."""
    with T.Kernel(T.ceildiv(S, BM), threads=64) as bx:
        q, k, v = T.alloc_shared((BM, 16)), T.alloc_shared((BN, 16)), T.alloc_shared((BN, 16))
        score, out = T.alloc_fragment((BM, BN)), T.alloc_fragment((BM, 16))
        top, before, rescale = T.alloc_fragment((BM,)), T.alloc_fragment((BM,)), T.alloc_fragment((BM,))
        total, part = T.alloc_fragment((BM,)), T.alloc_fragment((BM,))
        T.clear(out)
        T.clear(total)
        T.fill(top, -T.infinity("float32"))
        T.copy(Q[bx * BM, 0], q)
        for n in T.Pipelined(T.ceildiv((bx + 1) * BM, BN), num_stages=2):
            T.copy(K[n * BN, 0], k)
            T.copy(V[n * BN, 0], v)
            T.gemm(q, k, score, transpose_B=True, clear_accum=True)
            T.copy(top, before)
            for i, j in T.Parallel(BM, BN):
                seen = bx * BM + i >= n * BN + j
                score[i, j] = T.if_then_else(seen, score[i, j] * 0.25, -T.infinity("float32"))
            T.reduce_max(score, top, dim=1, clear=False)
            for i in T.Parallel(BM):
                rescale[i] = T.exp(before[i] - top[i])
            for i, j in T.Parallel(BM, BN):
                score[i, j] = T.exp(score[i, j] - top[i])
            T.reduce_sum(score, part, dim=1)
            for i in T.Parallel(BM):
                total[i] = total[i] * rescale[i] + part[i]
            for i, j in T.Parallel(BM, 16):
                out[i, j] *= rescale[i]
            T.gemm(score, v, out)
        for i, j in T.Parallel(BM, 16):
            out[i, j] /= total[i]
        T.copy(out, O[bx * BM, 0])


@pytest.mark.parametrize("length", [16, 40, 7, 1])
def test_causal_attention(length):
    q, k, v = floats(length, 16), floats(length, 16), floats(length, 16)
    scores = np.where(np.tri(length, dtype=bool), q @ k.T * 0.25, -np.inf)
    result = call(attention, q, k, v, np.zeros((length, 16), "float32"))
    np.testing.assert_allclose(result, softmax(scores) @ v, rtol=1e-4, atol=1e-5)


def quantise(X: T.Tensor[("M", 64), "float32"], Q: T.Tensor[("M", 64), "float8_e4m3"],
             scale: T.Tensor[("M",), "float32"], BM=4):
    with T.Kernel(T.ceildiv(M, BM), threads=32) as b:
        x, top = T.alloc_fragment((BM, 64)), T.alloc_fragment((BM,))
        q = T.alloc_fragment((BM, 64), "float8_e4m3")
        T.copy(X[b * BM, 0], x)
        T.reduce_absmax(x, top, dim=1)
        for i in T.Parallel(BM):
            top[i] = T.max(top[i], 1e-4) / 448.0
        for i, j in T.Parallel(BM, 64):
            q[i, j] = T.clamp(x[i, j] / top[i], -448.0, 448.0)
        T.copy(q, Q[b * BM, 0])
        T.copy(top, scale[b * BM])


def test_quantisation_to_eight_bits():
    x = floats(10, 64) * 100
    q = np.zeros((10, 64), ml_dtypes.float8_e4m3fn)
    scale = call(quantise, x, q, np.zeros(10, "float32"))
    np.testing.assert_allclose(scale, abs(x).max(1) / 448, rtol=1e-6)
    np.testing.assert_array_equal(q, np.clip(x / scale[:, None], -448, 448).astype(q.dtype))
    assert np.abs(q.astype("float32") * scale[:, None] - x).max() < 0.07 * np.abs(x).max()


def histogram(X: T.Tensor[("N",), "int32"], H: T.Tensor[(8,), "int32"], BN=32):
    with T.Kernel(T.ceildiv(N, BN), threads=32) as b:
        for i in T.Parallel(BN):
            if b * BN + i < N:
                T.atomic_add(H[X[b * BN + i] % 8], 1)


def test_histogram():
    x = RNG.integers(-50, 50, 100).astype("int32")
    np.testing.assert_array_equal(call(histogram, x, np.zeros(8, "int32")), np.bincount(x % 8, minlength=8))


def split_k(A: T.Tensor[("M", "K"), "int8"], B: T.Tensor[("K", "N"), "int8"],
            C: T.Tensor[("M", "N"), "int32"], BM=8, BN=8, BK=8, parts=3):
    with T.Kernel(T.ceildiv(N, BN), T.ceildiv(M, BM), parts, threads=32) as (bx, by, bz):
        a, b = T.alloc_shared((BM, BK), "int8"), T.alloc_shared((BK, BN), "int8")
        c = T.alloc_fragment((BM, BN), "int32")
        T.clear(c)
        for k in T.serial(bz, T.ceildiv(K, BK), parts):
            T.copy(A[by * BM, k * BK], a)
            T.copy(B[k * BK, bx * BN], b)
            T.gemm(a, b, c)
        T.atomic_add(C[by * BM, bx * BN], c)


def test_split_k_with_atomics():
    a, b = (RNG.integers(-128, 128, shape).astype("int8") for shape in ((13, 50), (50, 9)))
    result = call(split_k, a, b, np.zeros((13, 9), "int32"))
    np.testing.assert_array_equal(result, a.astype("int32") @ b.astype("int32"))


def persistent(X: T.Tensor[("M", "N"), "float32"], Y: T.Tensor[("M", "N"), "float32"], BM=4, BN=8, workers=3):
    with T.Kernel(workers, threads=32) as b:
        tile = T.alloc_shared((BM, BN))
        for by, bx in T.Persistent([T.ceildiv(M, BM), T.ceildiv(N, BN)], workers, b, group_size=2):
            T.copy(X[by * BM, bx * BN], tile)
            for i, j in T.Parallel(BM, BN):
                Y[by * BM + i, bx * BN + j] += tile[i, j]


@pytest.mark.parametrize("m, n", [(4, 8), (13, 20), (29, 3)])
def test_persistent_blocks_do_each_tile_once(m, n):
    x, y = floats(m, n), floats(m, n)
    expected = y + x
    np.testing.assert_array_equal(call(persistent, x, y), expected)


def collatz(X: T.Tensor[("N",), "int32"], steps: T.Tensor[("N",), "int32"]):
    with T.Kernel(N, threads=32) as b:
        x = T.alloc_var("int32", init=X[b])
        count = 0
        while x > 1:
            x = x // 2 if x % 2 == 0 else 3 * x + 1
            count += 1
            if count == 20:
                break
        steps[b] = count


def test_scalar_loops():
    x = np.array([1, 2, 3, 7, 27, 6], "int32")
    assert call(collatz, x, np.zeros(6, "int32")).tolist() == [0, 1, 7, 16, 20, 8]


@T.macro
def scaled(tile, factor):
    for i, j in T.Parallel(4, 4):
        tile[i, j] = tile[i, j] * factor


def twice(X: T.Tensor[(4, 4), "float32"], alpha: T.float32, Y: T.Tensor[(4, 4), "float32"]):
    with T.Kernel(1, threads=32) as _:
        tile = T.alloc_fragment((4, 4))
        T.copy(X, tile)
        scaled(tile, alpha)
        scaled(tile, 0.5)
        T.copy(tile, Y)


def test_macros_and_scalar_arguments():
    x = floats(4, 4)
    np.testing.assert_array_equal(call(twice, x, np.zeros((4, 4), "float32"), alpha=4.0), x * 2)


def talkative(X: T.Tensor[("N",), "float32"]):
    with T.Kernel(2, threads=32) as b:
        T.print(f"block {b} of {2}, X[b] = {X[b]}")
        T.device_assert(X[b] < 10.0, "too large")


def test_print_and_assert_name_the_line(capsys):
    x = np.array([1.5, 12.0], "float32")
    with pytest.raises(TilegenError) as caught:
        call(talkative, x)
    assert capsys.readouterr().out == "block 0 of 2, X[b] = 1.5\nblock 1 of 2, X[b] = 12.0\n"
    assert caught.value.code == "TG0414" and "block (1,)" in caught.value.message
    assert caught.value.loc.text().strip().startswith("T.device_assert")


def overrun(X: T.Tensor[(8,), "float32"]):
    with T.Kernel(1, threads=32) as _:
        tile = T.alloc_shared((8,))
        T.copy(X, tile)
        for i in T.Parallel(8):
            X[i] = tile[(i * i) % 9 + 1]


def test_an_access_outside_of_a_tile_names_the_line():
    with pytest.raises(TilegenError) as caught:
        call(overrun, np.zeros(8, "float32"))
    assert caught.value.code == "TG0105" and "tile[(i * i) % 9 + 1]" in str(caught.value)


def test_known_sizes_and_knobs():
    a, b = floats(20, 12).astype("float16"), floats(12, 30).astype("float16")
    result = call(matmul, a, b, np.zeros((20, 30), "float32"), values={"M": 20, "BM": 8, "BK": 4})
    np.testing.assert_allclose(result, a.astype("float32") @ b.astype("float32"), rtol=1e-4, atol=1e-5)
    with pytest.raises(TilegenError) as caught:
        call(matmul, a, b, np.zeros((20, 30), "float32"), values={"M": 21})
    assert caught.value.code == "TG0403"


def activations(X: T.Tensor[("N",), "float32"], Y: T.Tensor[(5, "N"), "float32"], BN=16):
    with T.Kernel(T.ceildiv(N, BN), threads=32) as b:
        for i in T.Parallel(BN):
            x = X[b * BN + i]
            Y[0, b * BN + i] = T.gelu(x)
            Y[1, b * BN + i] = T.silu(x)
            Y[2, b * BN + i] = T.softplus(x)
            Y[3, b * BN + i] = T.relu(x)
            Y[4, b * BN + i] = T.sigmoid(x)


def test_activations():
    x = floats(40) * 4
    result = call(activations, x, np.zeros((5, 40), "float32"))
    x = x.astype("float64")
    erf = np.array([math.erf(v / math.sqrt(2)) for v in x])
    sigmoid = 1 / (1 + np.exp(-x))
    expected = [x * (1 + erf) / 2, x * sigmoid, np.log1p(np.exp(x)), np.maximum(x, 0), sigmoid]
    np.testing.assert_allclose(result, expected, rtol=1e-5, atol=1e-6)
