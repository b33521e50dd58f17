"""The attention examples on every target, for both head sizes, against NumPy."""

import re

import numpy
import pytest
from generated_files import ARCHS, ROOT
from generated_runs import run
from tilegen import kernel_files
from tilegen.build import nvrtc
from tilegen.build.toolchain import compile_text

TARGETS = sorted(ARCHS)


@pytest.fixture(autouse=True)
def in_the_project(monkeypatch):
    monkeypatch.chdir(ROOT)


def text_of(example: str, target: str, **knobs) -> str:
    return kernel_files.find(f"examples/{example}.py").specialize(**knobs).specialised(target, ARCHS[target]).source


def halves(seed: int, *shapes: tuple[int, ...]) -> list[numpy.ndarray]:
    generator = numpy.random.default_rng(seed)
    return [generator.standard_normal(shape).astype("float16") for shape in shapes]


def softmax(q, k, seen) -> numpy.ndarray:
    """The weights of every key for every query, in float64; `seen` says which keys count."""
    scores = q.astype("float64") @ k.astype("float64").transpose(0, 2, 1) / numpy.sqrt(q.shape[-1])
    weights = numpy.where(seen, numpy.exp(scores), 0)
    total = weights.sum(-1, keepdims=True)
    return weights / numpy.where(total == 0, 1, total)


def close(found, expected, tolerance=4e-3) -> bool:
    scale = numpy.sqrt(numpy.mean(expected ** 2))
    return bool(numpy.all(numpy.abs(found.astype("float64") - expected) <= tolerance * (scale + numpy.abs(expected))))


@pytest.mark.parametrize("D", [64, 128])
@pytest.mark.parametrize("target", TARGETS)
def test_forward_with_either_head_size(target, D):
    Q, K, V = halves(0, (2, 70, D), (2, 90, D), (2, 90, D))
    O = numpy.full(Q.shape, 77, "float16")
    tiles = {"BM": 64, "BN": 32} if D == 128 and ARCHS[target] in ("gfx942", "xcore1000") else {}
    run(text_of("10_flash_attention", target, D=D, **tiles), {"Q": Q, "K": K, "V": V, "O": O})
    assert close(O, softmax(Q, K, True) @ V.astype("float64"))


@pytest.mark.parametrize("arch", ["sm_80", "sm_90"])
@pytest.mark.parametrize("example", ["10_flash_attention", "20_flash_attention_causal_gqa", "21_flash_attention_varlen",
                                     "22_flash_attention_backward"])
def test_wide_heads_do_not_spill(example, arch):
    """With D = 128 registers are short: loads are unrolled in part, and nothing goes to memory."""
    tiles = {"BN": 64} if example.startswith("22") else {}
    special = kernel_files.find(f"examples/{example}.py").specialize(D=128, **tiles).specialised("cuda", arch)
    artifact = compile_text(special.source, nvrtc.find(), name=f"{example}.cu", target="cuda", arch=arch)
    assert not artifact.findings and artifact.resources.stack == 0


def test_loads_are_unrolled_in_part_only_where_registers_are_short():
    whole, part = (text_of("10_flash_attention", "cuda", D=D) for D in (64, 128))
    load, product = "for (int first = 0; first < BN * D;", "for (int k = 0; k < D; k += MMA_K)"
    assert re.findall(rf"#pragma unroll(.*)\n *{re.escape(load)}", part) == [" 4", " 4"]
    assert re.findall(rf"#pragma unroll(.*)\n *{re.escape(load)}", whole) == ["", ""]
    assert re.findall(rf"#pragma unroll(.*)\n *{re.escape(product)}", part) == [""]


def test_maxima_that_grow_with_every_tile():
    """Keys that match better and better: each step rescales what came before."""
    Q, K, V = halves(0, (1, 64, 64), (1, 256, 64), (1, 256, 64))
    K = (Q[:, :1] * numpy.linspace(-1, 2, 256)[None, :, None]).astype("float16")
    O = numpy.full(Q.shape, 77, "float16")
    run(text_of("10_flash_attention", "cuda"), {"Q": Q, "K": K, "V": V, "O": O})
    assert close(O, softmax(Q, K, True) @ V.astype("float64"))


@pytest.mark.parametrize("queries, keys", [(70, 70), (70, 200), (70, 40)])
@pytest.mark.parametrize("target", TARGETS)
def test_causal_with_grouped_heads(target, queries, keys):
    """The last query sees all keys; where there are fewer keys than queries, the first ones see none and get zeros."""
    Q, K, V = halves(1, (4, queries, 64), (2, keys, 64), (2, keys, 64))
    O = numpy.full(Q.shape, 77, "float16")
    run(text_of("20_flash_attention_causal_gqa", target), {"Q": Q, "K": K, "V": V, "O": O})
    seen = numpy.tri(queries, keys, keys - queries, dtype=bool)
    K, V = (numpy.repeat(x, 2, axis=0) for x in (K, V))
    assert close(O, softmax(Q, K, seen) @ V.astype("float64"))


@pytest.mark.parametrize("target", TARGETS)
def test_sequences_of_different_lengths(target):
    starts = numpy.array([0, 3, 3, 140, 205], "int32")                 # one of them is empty
    Q, K, V = halves(2, *[(205, 2, 64)] * 3)
    O = numpy.full(Q.shape, 77, "float16")
    run(text_of("21_flash_attention_varlen", target),
        {"Q": Q, "K": K, "V": V, "starts": starts, "longest": 137, "O": O})
    for begin, end in zip(starts[:-1], starts[1:]):
        q, k, v = (x[begin:end].transpose(1, 0, 2) for x in (Q, K, V))
        assert begin == end or close(O[begin:end].transpose(1, 0, 2), softmax(q, k, True) @ v.astype("float64"))


@pytest.mark.parametrize("target", TARGETS)
def test_gradients(target):
    Q, K, V, dO = halves(3, (2, 70, 64), (2, 90, 64), (2, 90, 64), (2, 70, 64))
    q, k, v, do = (x.astype("float64") for x in (Q, K, V, dO))
    P, dP = softmax(Q, K, True), do @ v.transpose(0, 2, 1)
    delta = (P * dP).sum(-1)
    dS = P * (dP - delta[..., None]) / 8
    lse = numpy.log(numpy.exp(q @ k.transpose(0, 2, 1) / 8).sum(-1))
    dQ, dK, dV = numpy.zeros(q.shape, "float32"), numpy.full(K.shape, 77, "float16"), numpy.full(V.shape, 77, "float16")
    run(text_of("22_flash_attention_backward", target),
        {"Q": Q, "K": K, "V": V, "dO": dO, "lse": lse.astype("float32"), "delta": delta.astype("float32"),
         "dQ": dQ, "dK": dK, "dV": dV})
    assert close(dQ, dS @ k, 8e-3) and close(dK, dS.transpose(0, 2, 1) @ q, 8e-3)
    assert close(dV, P.transpose(0, 2, 1) @ do, 8e-3)
