"""Kernels outside of the examples that take the copy engine and warpgroups from the same rules."""

from __future__ import annotations

import numpy as np
import pytest

import tilegen
import tilegen.language as T
from tilegen.build import nvrtc
from tilegen.build.toolchain import compile_text

ARCH = "sm_90a"


def random(shape, seed=0, dtype="float16"):
    return np.random.default_rng(seed).standard_normal(shape).astype(dtype)


def made(kernel, **values):
    special = kernel.specialize(**values).specialised("cuda", ARCH)
    assert "wgmma_fence" in special.source and "tma_load" in special.source, special.planned.plan.notes
    return special


def close(got, want, tolerance) -> None:
    error = np.abs(got.astype("float32") - want).max() / np.abs(want).max()
    assert error < tolerance, error


@tilegen.jit
def residual(A: T.Tensor[("M", "K"), "float16"], B: T.Tensor[("N", "K"), "float16"], scale: T.Tensor[("M",), "float32"],
             R: T.Tensor[("M", "N"), "float16"], C: T.Tensor[("M", "N"), "float16"], BM=128, BN=128, BK=64):
    """Rows of a product that are scaled, and what was there before."""
    with T.Kernel(T.ceildiv(N, BN), T.ceildiv(M, BM), threads=256) as (bx, by):
        A_shared = T.alloc_shared((BM, BK), "float16")
        B_shared = T.alloc_shared((BN, BK), "float16")
        sums = T.alloc_fragment((BM, BN), "float32")
        T.clear(sums)
        for ko in T.Pipelined(T.ceildiv(K, BK), num_stages=3):
            T.copy(A[by * BM, ko * BK], A_shared)
            T.copy(B[bx * BN, ko * BK], B_shared)
            T.gemm(A_shared, B_shared, sums, transpose_B=True)
        for i, j in T.Parallel(BM, BN):
            sums[i, j] = sums[i, j] * scale[by * BM + i] + R[by * BM + i, bx * BN + j]
        T.copy(sums, C[by * BM, bx * BN])


def test_a_scaled_product_with_a_residual():
    """The blocks of a cluster lie along the dimension that no other access depends on, or there is none."""
    special = made(residual)
    a, b, scale, r = random((200, 136)), random((264, 136), 1), random((200,), 2, "float32"), random((200, 264), 3)
    want = a.astype("float32") @ b.astype("float32").T * scale[:, None] + r
    close(special.emulated(a, b, scale, r), want, 2e-3)
    assert "CLUSTER" not in special.source                 # R is read by row and by column


@tilegen.jit
def three_operands(A: T.Tensor[("M", "K"), "float16"], U: T.Tensor[("K", "N"), "float16"],
                   V: T.Tensor[("K", "N"), "float16"], W: T.Tensor[("K", "N"), "float16"],
                   C: T.Tensor[("M", "N"), "float16"], BM=64, BN=64, BK=64):
    """(A U) * (A V) + A W, four tiles in a stage."""
    with T.Kernel(T.ceildiv(N, BN), T.ceildiv(M, BM), threads=128) as (bx, by):
        A_shared = T.alloc_shared((BM, BK), "float16")
        U_shared = T.alloc_shared((BK, BN), "float16")
        V_shared = T.alloc_shared((BK, BN), "float16")
        W_shared = T.alloc_shared((BK, BN), "float16")
        u = T.alloc_fragment((BM, BN), "float32")
        v = T.alloc_fragment((BM, BN), "float32")
        w = T.alloc_fragment((BM, BN), "float32")
        T.clear(u)
        T.clear(v)
        T.clear(w)
        for ko in T.Pipelined(T.ceildiv(K, BK), num_stages=2):
            T.copy(A[by * BM, ko * BK], A_shared)
            T.copy(U[ko * BK, bx * BN], U_shared)
            T.copy(V[ko * BK, bx * BN], V_shared)
            T.copy(W[ko * BK, bx * BN], W_shared)
            T.gemm(A_shared, U_shared, u)
            T.gemm(A_shared, V_shared, v)
            T.gemm(A_shared, W_shared, w)
        for i, j in T.Parallel(BM, BN):
            u[i, j] = u[i, j] * v[i, j] + w[i, j]
        T.copy(u, C[by * BM, bx * BN])


def test_three_products_in_a_step():
    special = made(three_operands)
    a, u, v, w = random((72, 136)), *(random((136, 72), n) / 8 for n in (1, 2, 3))
    A, U, V, W = (x.astype("float32") for x in (a, u, v, w))
    close(special.emulated(a, u, v, w), (A @ U) * (A @ V) + A @ W, 3e-3)


def test_products_that_follow_each_other_share_the_barriers_of_their_tiles():
    text = made(three_operands).source
    assert "s.full[stage]" in text and "_full[stage]" not in text


@tilegen.jit
def two_layers(X: T.Tensor[("M", "D"), "float16"], W1: T.Tensor[("H", "D"), "float16"],
               W2: T.Tensor[("H", "E"), "float16"], Y: T.Tensor[("M", "E"), "float16"], BM=128, BH=64, D=128, E=128):
    """A product of a product that stays on the chip: relu(X W1') W2, hidden units a block at a time."""
    with T.Kernel(T.ceildiv(M, BM), threads=256) as block:
        X_shared = T.alloc_shared((BM, D), "float16")
        W1_shared = T.alloc_shared((BH, D), "float16")
        W2_shared = T.alloc_shared((BH, E), "float16")
        hidden = T.alloc_fragment((BM, BH), "float32")
        units = T.alloc_fragment((BM, BH), "float16")
        sums = T.alloc_fragment((BM, E), "float32")
        T.copy(X[block * BM, 0], X_shared)
        T.clear(sums)
        for h in T.Pipelined(T.ceildiv(H, BH), num_stages=3):
            T.copy(W1[h * BH, 0], W1_shared)
            T.copy(W2[h * BH, 0], W2_shared)
            T.gemm(X_shared, W1_shared, hidden, transpose_B=True, clear_accum=True)
            for i, j in T.Parallel(BM, BH):
                units[i, j] = T.max(hidden[i, j], 0)
            T.gemm(units, W2_shared, sums)
        T.copy(sums, Y[block * BM, 0])


def test_a_product_of_a_product():
    special = made(two_layers)
    order = [special.source.rindex(part) for part in (
        "mbarrier_wait(&s.W1_full", "wgmma_m64n64k16_f16<0", "mbarrier_arrive(&s.W1_empty",
        "mbarrier_wait(&s.W2_full", "_registers<1>(sums", "mbarrier_arrive(&s.W2_empty")]
    assert order == sorted(order)
    x, w1, w2 = random((200, 128)), random((200, 128), 1) / 8, random((200, 128), 2) / 8
    units = np.maximum(x.astype("float32") @ w1.astype("float32").T, 0).astype("float16").astype("float32")
    close(special.emulated(x, w1, w2), units @ w2.astype("float32"), 3e-3)


@tilegen.jit
def capped(Q: T.Tensor[("heads", "queries", "D"), "bfloat16"], K: T.Tensor[("heads", "keys", "D"), "bfloat16"],
           V: T.Tensor[("heads", "keys", "D"), "bfloat16"], slopes: T.Tensor[("heads",), "float32"],
           O: T.Tensor[("heads", "queries", "D"), "bfloat16"], BM=64, BN=64, D=64, cap=20.0):
    """Attention whose scores are capped and fall with the distance (ALiBi), in bfloat16."""
    with T.Kernel(T.ceildiv(queries, BM), heads, threads=128) as (bx, head):
        Q_shared = T.alloc_shared((BM, D), "bfloat16")
        K_shared = T.alloc_shared((BN, D), "bfloat16")
        V_shared = T.alloc_shared((BN, D), "bfloat16")
        S = T.alloc_fragment((BM, BN), "float32")
        P = T.alloc_fragment((BM, BN), "bfloat16")
        out = T.alloc_fragment((BM, D), "float32")
        top = T.alloc_fragment((BM,), "float32")
        before = T.alloc_fragment((BM,), "float32")
        total = T.alloc_fragment((BM,), "float32")
        part = T.alloc_fragment((BM,), "float32")
        T.copy(Q[head, bx * BM, 0], Q_shared)
        T.clear(out)
        T.clear(total)
        T.fill(top, -1e30)
        for kb in T.Pipelined(T.ceildiv(keys, BN), num_stages=2):
            T.copy(K[head, kb * BN, 0], K_shared)
            T.copy(V[head, kb * BN, 0], V_shared)
            T.gemm(Q_shared, K_shared, S, transpose_B=True, clear_accum=True)
            for i, j in T.Parallel(BM, BN):
                S[i, j] = cap * T.tanh(S[i, j] * 0.125 / cap) - slopes[head] * T.abs(T.cast(
                    bx * BM + i - kb * BN - j, "float32"))
            for i, j in T.Parallel(BM, BN):
                S[i, j] = T.if_then_else(kb * BN + j < keys, S[i, j], -T.infinity("float32"))
            T.copy(top, before)
            T.reduce_max(S, top, dim=1, clear=False)
            for i, j in T.Parallel(BM, BN):
                S[i, j] = T.exp(S[i, j] - top[i])
            T.reduce_sum(S, part, dim=1)
            for i in T.Parallel(BM):
                total[i] = total[i] * T.exp(before[i] - top[i]) + part[i]
            for i, j in T.Parallel(BM, D):
                out[i, j] = out[i, j] * T.exp(before[i] - top[i])
            T.copy(S, P)
            T.gemm(P, V_shared, out)
        for i, j in T.Parallel(BM, D):
            out[i, j] = out[i, j] / total[i]
        T.copy(out, O[head, bx * BM, 0])


def test_attention_with_a_cap_and_slopes():
    import ml_dtypes
    special = made(capped)
    q, k, v = (random((2, n, 64), s, "float32").astype(ml_dtypes.bfloat16) for s, n in ((0, 100), (1, 136), (2, 136)))
    slopes = np.array([0.5, 0.03125], "float32")
    Q, K, V = (x.astype("float32") for x in (q, k, v))
    scores = 20 * np.tanh(Q @ K.transpose(0, 2, 1) * 0.125 / 20)
    scores -= slopes[:, None, None] * np.abs(np.arange(100)[:, None] - np.arange(136)[None])
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    close(special.emulated(q, k, v, slopes), weights / weights.sum(-1, keepdims=True) @ V, 2e-2)


@tilegen.jit
def running(A: T.Tensor[("M", "D"), "float16"], B: T.Tensor[("N", "D"), "float16"], best: T.Tensor[("M",), "float32"],
            BM=128, BN=128, D=64):
    """The largest product of each row of A with any row of B: nothing else leaves the chip."""
    with T.Kernel(T.ceildiv(M, BM), threads=256) as block:
        A_shared = T.alloc_shared((BM, D), "float16")
        B_shared = T.alloc_shared((BN, D), "float16")
        scores = T.alloc_fragment((BM, BN), "float32")
        top = T.alloc_fragment((BM,), "float32")
        T.copy(A[block * BM, 0], A_shared)
        T.fill(top, -T.infinity("float32"))
        for n in T.Pipelined(T.ceildiv(N, BN), num_stages=3):
            T.copy(B[n * BN, 0], B_shared)
            T.gemm(A_shared, B_shared, scores, transpose_B=True, clear_accum=True)
            for i, j in T.Parallel(BM, BN):
                scores[i, j] = T.if_then_else(n * BN + j < N, scores[i, j], -T.infinity("float32"))
            T.reduce_max(scores, top, dim=1, clear=False)
        T.copy(top, best[block * BM])


def test_a_running_maximum_of_a_product():
    special = made(running)
    a, b = random((200, 64)), random((300, 64), 1)
    close(special.emulated(a, b), (a.astype("float32") @ b.astype("float32").T).max(1), 1e-5)


@pytest.mark.parametrize("kernel", [residual, three_operands, two_layers, capped, running], ids=lambda k: k.__name__)
def test_they_compile_without_spills_or_warnings(kernel):
    special = made(kernel)
    artifact = compile_text(special.source, nvrtc.find(), name="kernel.cu", target="cuda", arch=ARCH)
    assert not artifact.findings and artifact.resources.stack == 0
