"""Kernels for sm_90a: loads and stores by the copy engine, products by warpgroups, on the emulator."""

from __future__ import annotations

import re
import warnings

import ml_dtypes
import numpy as np
import pytest

import tilegen
import tilegen.language as T
from generated_files import ROOT
from generated_runs import run
from tilegen import kernel_files
from tilegen.build import nvrtc
from tilegen.build.toolchain import compile_text
from tilegen.errors import TilegenError
from tilegen.layout import Axis, FragmentLayout
from tilegen.wgmma import wgmma_sums

ARCH = "sm_90a"


@tilegen.jit
def product(M, N, K, dtype="float16", out="float16", turn_a=False, turn_b=False, BM=128, BN=128, BK=64, stages=3,
            threads=256):
    a_shape, a_tile = ((K, M), (BK, BM)) if turn_a else ((M, K), (BM, BK))
    b_shape, b_tile = ((N, K), (BN, BK)) if turn_b else ((K, N), (BK, BN))

    @T.prim_func
    def kernel(A: T.Tensor(a_shape, dtype), B: T.Tensor(b_shape, dtype), C: T.Tensor((M, N), out)):
        with T.Kernel(T.ceildiv(N, BN), T.ceildiv(M, BM), threads=threads) as (bx, by):
            A_shared = T.alloc_shared(a_tile, dtype)
            B_shared = T.alloc_shared(b_tile, dtype)
            C_local = T.alloc_fragment((BM, BN), "float32")
            T.clear(C_local)
            for ko in T.Pipelined(T.ceildiv(K, BK), num_stages=stages):
                if turn_a:
                    T.copy(A[ko * BK, by * BM], A_shared)
                else:
                    T.copy(A[by * BM, ko * BK], A_shared)
                if turn_b:
                    T.copy(B[bx * BN, ko * BK], B_shared)
                else:
                    T.copy(B[ko * BK, bx * BN], B_shared)
                T.gemm(A_shared, B_shared, C_local, transpose_A=turn_a, transpose_B=turn_b)
            T.copy(C_local, C[by * BM, bx * BN])
    return kernel


def made(kernel, **values):
    return kernel.specialize(**values).specialised("cuda", ARCH)


def names(text: str) -> str:
    """The part of a file that a person reads first: without helpers and the program."""
    return text[text.index("// ---- The kernel"):text.index("// tilegen-launch")]


def random(shape, dtype="float16", seed=0):
    return np.random.default_rng(seed).standard_normal(shape).astype(dtype)


def worst(got, want) -> float:
    return float(np.abs(got.astype("float32") - want).max())


@pytest.mark.parametrize("sizes", [(256, 256, 256), (200, 264, 328), (8, 8, 8), (129, 136, 200)])
@pytest.mark.parametrize("turn_b", (False, True))
@pytest.mark.parametrize("turn_a", (False, True))
def test_products(turn_a, turn_b, sizes):
    M, N, K = sizes
    if turn_a and M % 8:
        M += 8 - M % 8
    special = made(product, M=T.dynamic("M"), N=T.dynamic("N"), K=T.dynamic("K"), turn_a=turn_a, turn_b=turn_b)
    assert f"wgmma_m64n128k16_f16<{int(turn_a)}, {int(not turn_b)}>" in special.source
    a, b = random((M, K)), random((K, N), seed=1)
    got = special.emulated(np.ascontiguousarray(a.T) if turn_a else a, np.ascontiguousarray(b.T) if turn_b else b)
    assert worst(got, a.astype("float32") @ b.astype("float32")) < 0.06


@pytest.mark.parametrize("BM, BN, threads", [(64, 64, 128), (64, 256, 128), (128, 192, 256), (192, 128, 384),
                                             (256, 128, 256), (128, 256, 256)])
def test_warpgroups(BM, BN, threads):
    special = made(product, M=T.dynamic("M"), N=T.dynamic("N"), K=T.dynamic("K"), BM=BM, BN=BN, threads=threads)
    assert f"wgmma_m64n{BN}k16_f16" in special.source
    a, b = random((300, 136)), random((136, 264), seed=1)
    assert worst(special.emulated(a, b), a.astype("float32") @ b.astype("float32")) < 0.06


@pytest.mark.parametrize("dtype, out", [("bfloat16", "bfloat16"), ("bfloat16", "float32"), ("float16", "float32")])
def test_dtypes(dtype, out):
    special = made(product, M=200, N=136, K=72, dtype=dtype, out=out)
    kind = getattr(ml_dtypes, dtype, dtype)
    a, b = (random(s, "float32", n).astype(kind) for n, s in enumerate(((200, 72), (72, 136))))
    want = a.astype("float32") @ b.astype("float32")
    assert worst(special.emulated(a, b), want) < (0.2 if out == "bfloat16" else 1e-4)


@tilegen.jit
def wide_and_narrow(M, N, K, dtype, sums="float32", BM=128, BN=128, BK=64):
    @T.prim_func
    def kernel(A: T.Tensor((M, K), dtype), B: T.Tensor((N, K), dtype), C: T.Tensor((M, N), sums)):
        with T.Kernel(T.ceildiv(N, BN), T.ceildiv(M, BM), threads=256) as (bx, by):
            A_shared = T.alloc_shared((BM, BK), dtype)
            B_shared = T.alloc_shared((BN, BK), dtype)
            C_local = T.alloc_fragment((BM, BN), sums)
            T.clear(C_local)
            for ko in T.Pipelined(T.ceildiv(K, BK), num_stages=3):
                T.copy(A[by * BM, ko * BK], A_shared)
                T.copy(B[bx * BN, ko * BK], B_shared)
                T.gemm(A_shared, B_shared, C_local, transpose_B=True)
            T.copy(C_local, C[by * BM, bx * BN])
    return kernel


@pytest.mark.parametrize("dtype, sums, BK, instruction", [
    ("tfloat32", "float32", 32, "wgmma_m64n128k8_tf32"), ("float8_e4m3", "float32", 128, "wgmma_m64n128k32_e4m3"),
    ("float8_e5m2", "float32", 128, "wgmma_m64n128k32_e5m2"), ("int8", "int32", 128, "wgmma_m64n128k32_s8"),
    ("uint8", "int32", 128, "wgmma_m64n128k32_u8")])
def test_operands_of_32_and_8_bits(dtype, sums, BK, instruction):
    """Rows of both operands run along the depth."""
    special = wide_and_narrow.specialize(M=200, N=144, K=208, dtype=dtype, sums=sums, BK=BK).specialised("cuda", ARCH)
    assert f"{instruction}(C_local" in special.source
    numbers = np.random.default_rng(0)
    if sums == "int32":
        low, high = (-128, 128) if dtype == "int8" else (0, 256)
        a, b = (numbers.integers(low, high, s).astype(dtype) for s in ((200, 208), (144, 208)))
        assert (special.emulated(a, b) == a.astype("int32") @ b.astype("int32").T).all()
    else:
        kind = {"tfloat32": "float32", "float8_e4m3": ml_dtypes.float8_e4m3fn}.get(dtype, ml_dtypes.float8_e5m2)
        a, b = (numbers.standard_normal(s).astype("float32").astype(kind) for s in ((200, 208), (144, 208)))
        want = a.astype("float32") @ b.astype("float32").T
        assert worst(special.emulated(a, b), want) < (0.1 if dtype == "tfloat32" else 1e-3)
    artifact = compile_text(special.source, nvrtc.find(), name="product.cu", target="cuda", arch=ARCH)
    assert not artifact.findings and artifact.resources.stack == 0


@pytest.mark.parametrize("stages", (2, 3, 5))
@pytest.mark.parametrize("K", (8, 64, 128, 640))
def test_few_steps_and_many(K, stages):
    special = made(product, M=128, N=128, K=K, stages=stages, BM=64, threads=128)
    a, b = random((128, K)), random((K, 128), seed=1)
    assert worst(special.emulated(a, b), a.astype("float32") @ b.astype("float32")) < 0.1


def test_the_text_reads_as_the_python_does():
    text = names(made(product, M=T.dynamic("M"), N=T.dynamic("N"), K=T.dynamic("K")).source)
    parts = ("mbarrier_init", "setmaxnreg_dec", "tma_load_2d", "return;", "setmaxnreg_inc", "stmatrix_x4",
             "fence_async_proxy", "tma_store_2d", "mbarrier_wait(&s.full", "wgmma_fence", "store_C(piece)",
             "wgmma_wait<0>", "mbarrier_arrive_remote(&s.empty")
    order = [text.index(part) for part in parts]
    assert order == sorted(order)
    assert text.count("\n") < 140 and "cluster_sync" in text.partition("setmaxnreg_dec")[0]
    assert "__syncthreads" not in text and "cluster_sync" not in text.partition("return;")[2]


@pytest.mark.parametrize("turned", [dict(stages=5), dict(BK=128), dict(BM=256), dict(BM=256, BK=128, stages=2),
                                    dict(BLOCKS=2), dict(BLOCKS=3, CLUSTER=1),
                                    dict(BLOCKS=4, SLABS=1, PANEL=2)], ids=str)
def test_knobs_turned_in_the_file(turned):
    """Loads, boxes of the tensor maps, memory and grid follow the file."""
    example = kernel_files.find(str(ROOT / "examples" / "09_gemm_tensor_core.py"))
    before = dict(BM=128, BN=128, BK=64, stages=3)
    text = example.specialize(**before).specialised("cuda", ARCH).source
    before |= dict(BLOCKS=132, CLUSTER=2, SLABS=2, PANEL=8)
    for name, value in turned.items():
        assert f"constexpr int {name} = {before[name]};" in text
        text = text.replace(f"constexpr int {name} = {before[name]};", f"constexpr int {name} = {value};")
    loaded = tilegen.load(text, target="emulator")
    assert {name: loaded.knobs[name] for name in turned} == turned
    a, b = random((300, 264)), random((264, 136), seed=1)
    assert worst(loaded(a, b), a.astype("float32") @ b.astype("float32")) < 0.1


@pytest.mark.parametrize("values", [dict(), dict(turn_b=True), dict(BM=128, BN=64), dict(BM=64, BN=128, threads=128),
                                    dict(out="float32")], ids=str)
def test_blocks_with_many_tiles_in_clusters(values):
    """What the checker of the emulator finds: reads before arrivals, writes before the engine has read."""
    text = made(product, M=T.dynamic("M"), N=T.dynamic("N"), K=T.dynamic("K"), **values).source
    text = re.sub("constexpr int BLOCKS = [0-9]+;", "constexpr int BLOCKS = 4;", text)
    a, b = random((520, 136)), random((136, 264), seed=1)
    c = np.full((520, 264), np.nan, values.get("out", "float16"))
    run(text, {"A": a, "B": np.ascontiguousarray(b.T) if values.get("turn_b") else b, "C": c}, order="random")
    assert worst(c, a.astype("float32") @ b.astype("float32")) < 0.1


@tilegen.jit
def walking(A: T.Tensor[("M", "K"), "float16"], B: T.Tensor[("K", "N"), "float16"],
            C: T.Tensor[("M", "N"), "float16"], BM=64, BN=64, BK=64, WORKERS=3):
    with T.Kernel(WORKERS, threads=128) as block:
        A_shared = T.alloc_shared((BM, BK), "float16")
        B_shared = T.alloc_shared((BK, BN), "float16")
        sums = T.alloc_fragment((BM, BN), "float32")
        for by, bx in T.Persistent([T.ceildiv(M, BM), T.ceildiv(N, BN)], WORKERS, block):
            T.clear(sums)
            for ko in T.Pipelined(T.ceildiv(K, BK), num_stages=3):
                T.copy(A[by * BM, ko * BK], A_shared)
                T.copy(B[ko * BK, bx * BN], B_shared)
                T.gemm(A_shared, B_shared, sums)
            T.copy(sums, C[by * BM, bx * BN])


def test_a_walk_over_tiles_that_the_kernel_makes():
    special = made(walking)
    text = names(special.source)
    assert "wgmma_fence" in text and text.count("for (int tile = ") == 2
    a, b = random((300, 200)), random((200, 200), seed=1)
    assert worst(special.emulated(a, b), a.astype("float32") @ b.astype("float32")) < 0.1


@tilegen.jit
def triangle(A: T.Tensor[("M", "K"), "float16"], B: T.Tensor[("K", "N"), "float16"],
             C: T.Tensor[("M", "N"), "float16"], BM=64, BN=64, BK=64):
    with T.Kernel(T.ceildiv(N, BN), T.ceildiv(M, BM), threads=128) as (bx, by):
        A_shared = T.alloc_shared((BM, BK), "float16")
        B_shared = T.alloc_shared((BK, BN), "float16")
        sums = T.alloc_fragment((BM, BN), "float32")
        T.clear(sums)
        for ko in T.Pipelined(T.min(by + 1, T.ceildiv(K, BK)), num_stages=3):
            T.copy(A[by * BM, ko * BK], A_shared)
            T.copy(B[ko * BK, bx * BN], B_shared)
            T.gemm(A_shared, B_shared, sums)
        T.copy(sums, C[by * BM, bx * BN])


def test_tiles_that_take_different_times_have_a_block_each():
    special = made(triangle)
    text = names(special.source)
    assert "wgmma_fence" in text and "BLOCKS" not in special.source and "blockIdx.y" in text
    a, b = np.tril(random((200, 200))), random((200, 72), seed=1)
    for first in range(0, 200, 64):                       # what the kernel leaves out
        a[first:first + 64, first + 64:] = 0
    assert worst(special.emulated(a, b), a.astype("float32") @ b.astype("float32")) < 0.1


def test_tensors_that_the_engine_cannot_move_take_the_other_text():
    special = made(product, M=T.dynamic("M"), N=T.dynamic("N"), K=T.dynamic("K"))
    a, b = random((64, 33)), random((33, 40), seed=1)
    with pytest.warns(UserWarning, match="requires K % 8 == 0, but K is 33: such calls run the text for sm_90"):
        got = special.emulated(a, b)
    assert worst(got, a.astype("float32") @ b.astype("float32")) < 0.05
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        special.emulated(a, b)
    with pytest.raises(TilegenError, match="requires K % 8 == 0"):
        tilegen.load(special.source, target="emulator")(a, b)


@tilegen.jit
def batched(A: T.Tensor[("P", "M", "K"), "bfloat16"], B: T.Tensor[("P", "N", "K"), "bfloat16"],
            bias: T.Tensor[("N",), "float32"], C: T.Tensor[("P", "M", "N"), "bfloat16"], BM=64, BN=64, BK=64):
    with T.Kernel(T.ceildiv(N, BN), T.ceildiv(M, BM), P, threads=128) as (bx, by, p):
        A_shared = T.alloc_shared((BM, BK), "bfloat16")
        B_shared = T.alloc_shared((BN, BK), "bfloat16")
        sums = T.alloc_fragment((BM, BN), "float32")
        T.clear(sums)
        for ko in T.Pipelined(T.ceildiv(K, BK), num_stages=4):
            T.copy(A[p, by * BM:(by + 1) * BM, ko * BK:(ko + 1) * BK], A_shared)
            T.copy(B[p, bx * BN:(bx + 1) * BN, ko * BK:(ko + 1) * BK], B_shared)
            T.gemm(A_shared, B_shared, sums, transpose_B=True)
        for i, j in T.Parallel(BM, BN):
            sums[i, j] = T.max(sums[i, j] + bias[bx * BN + j], 0)
        T.copy(sums, C[p, by * BM:(by + 1) * BM, bx * BN:(bx + 1) * BN])


def test_batches_and_an_epilogue():
    special = made(batched)
    assert "tma_load_3d" in special.source and "tma_store_3d" in special.source
    a, b = (random(s, "float32", n).astype(ml_dtypes.bfloat16) for n, s in enumerate(((3, 100, 136), (3, 72, 136))))
    bias = random((72,), "float32", 2)
    want = np.maximum(a.astype("float32") @ b.astype("float32").transpose(0, 2, 1) + bias, 0)
    assert worst(special.emulated(a, b, bias), want) < 0.15


@tilegen.jit
def gated(X: T.Tensor[("M", "K"), "float16"], V: T.Tensor[("K", "N"), "float16"], W: T.Tensor[("K", "N"), "float16"],
          Y: T.Tensor[("M", "N"), "float16"], BM=128, BN=64, BK=64):
    with T.Kernel(T.ceildiv(N, BN), T.ceildiv(M, BM), threads=256) as (bx, by):
        X_shared = T.alloc_shared((BM, BK), "float16")
        V_shared = T.alloc_shared((BK, BN), "float16")
        W_shared = T.alloc_shared((BK, BN), "float16")
        left = T.alloc_fragment((BM, BN), "float32")
        right = T.alloc_fragment((BM, BN), "float32")
        T.clear(left)
        T.clear(right)
        for ko in T.Pipelined(T.ceildiv(K, BK), num_stages=3):
            T.copy(X[by * BM, ko * BK], X_shared)
            T.copy(V[ko * BK, bx * BN], V_shared)
            T.copy(W[ko * BK, bx * BN], W_shared)
            T.gemm(X_shared, V_shared, left)
            T.gemm(X_shared, W_shared, right)
        for i, j in T.Parallel(BM, BN):
            left[i, j] = left[i, j] * T.sigmoid(right[i, j])
        T.copy(left, Y[by * BM, bx * BN])


def test_two_products_of_one_operand():
    special = made(gated)
    assert special.source.count("wgmma_m64n64k16_f16<0, 1>(") == 2
    x, v, w = random((136, 72)), random((72, 80), seed=1) / 4, random((72, 80), seed=2) / 4
    left, right = (x.astype("float32") @ m.astype("float32") for m in (v, w))
    assert worst(special.emulated(x, v, w), left / (1 + np.exp(-right))) < 0.03


@tilegen.jit
def in_pairs(A: T.Tensor[("M", "K"), "float16"], B: T.Tensor[("K", "N"), "float16"],
             C: T.Tensor[("M", "N"), "float16"], BM=64, BN=64, BK=64):
    with T.Kernel(T.ceildiv(N, BN), T.ceildiv(M, BM), threads=128) as (bx, by):
        tiles = T.ceildiv(K, BK)
        pairs = T.ceildiv(tiles, 2)
        steps = pairs * 2
        top = by * BM
        A_shared = T.alloc_shared((BM, BK), "float16")
        B_shared = T.alloc_shared((BK, BN), "float16")
        sums = T.alloc_fragment((BM, BN), "float32")
        T.clear(sums)
        for ko in T.Pipelined(steps, num_stages=3):
            T.copy(A[top, ko * BK], A_shared)
            T.copy(B[ko * BK, bx * BN], B_shared)
            T.gemm(A_shared, B_shared, sums)
        T.copy(sums, C[top, bx * BN])


def test_names_that_the_loads_need_come_before_the_threads_part():
    """Also those that only other names need."""
    special = made(in_pairs)
    text = names(special.source)
    order = [text.index(part) for part in ("const int tiles =", "const int pairs =", "const int steps", "mbarrier_init",
                                           "wgmma_fence")]
    assert order == sorted(order)
    a, b = random((100, 200)), random((200, 72), seed=1)
    assert worst(special.emulated(a, b), a.astype("float32") @ b.astype("float32")) < 0.06


def attended(q, k, v, causal=False):
    """Attention in float32; with `causal` a query sees the keys up to its own, counted from the end."""
    scores = q.astype("float32") @ k.astype("float32").transpose(0, 2, 1) * q.shape[-1] ** -0.5
    if causal:
        scores += np.triu(np.full(scores.shape[1:], -np.inf), 1 + scores.shape[2] - scores.shape[1])
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    return weights / weights.sum(-1, keepdims=True) @ v.astype("float32")


@pytest.mark.parametrize("values", [dict(BM=128, threads=256), dict(BM=64, BN=64, D=128, threads=128),
                                    dict(BN=96, stages=3)],
                         ids=str)
def test_attention_takes_scores_from_registers_and_queries_once(values):
    """From the plain Python of the example: one product's sums are the next one's left operand."""
    example = kernel_files.find(str(ROOT / "examples" / "10_flash_attention.py"))
    special = example.specialize(**values).specialised("cuda", ARCH)
    text = names(special.source)
    assert all(part in text for part in ("k16_f16_registers<1>(O_local", "mbarrier_wait(&s.ready",
                                         "_multicast(s.K_shared"))
    D = values.get("D", 64)
    q, k, v = (random((2, n, D), seed=n) for n in (200, 301, 302))
    k, v = k[:, :300].copy(), v[:, :300].copy()
    assert worst(special.emulated(q, k, v), attended(q, k, v)) < 2e-3


def test_causal_attention_of_shared_heads():
    example = kernel_files.find(str(ROOT / "examples" / "20_flash_attention_causal_gqa.py"))
    special = example.specialize(BM=128, threads=256).specialised("cuda", ARCH)
    assert "k16_f16_registers<1>(O_local" in special.source and "BLOCKS" not in special.source
    q, k, v = random((4, 200, 64)), random((2, 264, 64), seed=1), random((2, 264, 64), seed=2)
    assert worst(special.emulated(q, k, v), attended(q, np.repeat(k, 2, 0), np.repeat(v, 2, 0), causal=True)) < 2e-3


def test_tiles_of_attention_with_many_for_a_block():
    example = kernel_files.find(str(ROOT / "examples" / "10_flash_attention.py"))
    text = example.specialize(BM=64, threads=128).specialised("cuda", ARCH).source
    text = re.sub("constexpr int BLOCKS = [0-9]+;", "constexpr int BLOCKS = 2;", text)
    q, k, v = (random((2, n, 64), seed=n) for n in (136, 100, 100))
    out = np.full(q.shape, np.nan, "float16")
    run(text, {"Q": q, "K": k, "V": v, "O": out}, order="random")
    assert worst(out, attended(q, k, v)) < 2e-3


REFUSED = {
    "rows of 64 bytes": dict(BK=32),
    "threads are not 1 to 3 warpgroups": dict(threads=64, BM=64),
    "rows are not made of 64": dict(BM=64, threads=256),
    "num_stages is 1": dict(stages=1),
}


@pytest.mark.parametrize("values", REFUSED.values(), ids=REFUSED)
def test_what_has_no_use_for_warpgroups_says_why(values):
    special = made(product, M=128, N=128, K=128, **values)
    assert "wgmma" not in special.source
    reasons = [text for subject, text in special.planned.plan.notes if subject == "warpgroups"]
    assert len(reasons) == 1 and "mma.sync" in reasons[0]


def test_compiles_without_spills_or_warnings():
    toolchain = nvrtc.find()
    for values in (dict(BM=128, BN=256, stages=3), dict(BM=192, BN=128, threads=384), dict(BM=64, threads=128),
                   dict(turn_a=True, turn_b=True, dtype="bfloat16")):
        text = made(product, M=T.dynamic("M"), N=T.dynamic("N"), K=T.dynamic("K"), **values).source
        artifact = compile_text(text, toolchain, name="product.cu", target="cuda", arch=ARCH)
        assert not artifact.findings and artifact.resources.stack == 0


def test_the_accumulator_is_that_of_wgmma():
    rows = Axis("row", "ROWS", 128, "m", 32, arrangement="wgmma")
    cols = Axis("col", "COLS", 64, "n", 4, 2, arrangement="wgmma")
    table = FragmentLayout((rows, cols), 32, 4, "wgmma").table()
    sums = wgmma_sums(64)
    for thread in range(128):
        for register in range(32):
            row, col = sums.place(thread, register, 0)
            slots = (register % 4 // 2, register // 4 * 2 + register % 2)
            assert table[thread, slots] == (row, col)
            assert rows.owner(row)[1] == slots[0]
