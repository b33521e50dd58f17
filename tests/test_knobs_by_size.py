"""@tilegen.jit(knobs=): knobs that follow from the sizes of a call."""

from __future__ import annotations

import numpy as np
import pytest

import tilegen
import tilegen.language as T
from tilegen.errors import TilegenError

asked: list[tuple] = []


def rule(M, arch):
    asked.append((M, arch))
    return {"BM": 64} if M > 100 else {}


@tilegen.jit(target="cpu", knobs=rule)
def double(X: T.Tensor[("M", "N"), "float32"], Y: T.Tensor[("M", "N"), "float32"], BM=16, BN=32):
    with T.Kernel(T.ceildiv(N, BN), T.ceildiv(M, BM)) as (bx, by):
        for i, j in T.Parallel(BM, BN):
            Y[by * BM + i, bx * BN + j] = X[by * BM + i, bx * BN + j] * 2


def made(kernel) -> set[int]:
    """The values of BM that the kernel was emitted for and ran with."""
    return {s.loaded.knobs["BM"] for s in kernel._specialised.values() if "loaded" in vars(s)}


def test_a_call_gets_the_knobs_of_its_sizes():
    small, large = np.ones((10, 40), "float32"), np.ones((200, 40), "float32")
    kernel = double.specialize()
    for x in (small, large, small, large):
        assert (kernel(x) == 2 * x).all()
    assert made(kernel) == {16, 64} and asked[-2:] == [(10, "avx2"), (200, "avx2")]
    y = np.zeros_like(large)
    kernel.bind(large, y)()
    assert (y == 2).all()


def test_the_rule_is_asked_once_for_calls_alike():
    kernel, x = double.specialize(), np.ones((300, 8), "float32")
    kernel(x)
    count = len(asked)
    kernel(x)
    kernel(np.ones((300, 8), "float32"))
    assert len(asked) <= count + 2


def test_the_caller_has_the_last_word():
    kernel, x = double.specialize(), np.ones((200, 8), "float32")
    assert (kernel(x, BM=32) == 2 * x).all() and made(kernel) == {32}
    fixed = double.specialize(BM=8)
    assert (fixed(x) == 2 * x).all() and made(fixed) == {8}


def copy(X: T.Tensor[("M",), "float32"], Y: T.Tensor[("M",), "float32"], BM=16):
    with T.Kernel(T.ceildiv(M, BM)) as b:
        for i in T.Parallel(BM):
            Y[b * BM + i] = X[b * BM + i]


@pytest.mark.parametrize("wrong, told", [(lambda Q: {}, "asks for Q"), (lambda M: 3, "expected a dict"),
                                         (lambda M: {"BQ": 3}, "BQ")], ids=("size", "result", "knob"))
def test_what_is_wrong_with_a_rule_is_said(wrong, told):
    with pytest.raises(TilegenError, match=told):
        tilegen.jit(copy, target="cpu", knobs=wrong)(np.ones(5, "float32"))


def test_files_and_factories_have_no_rule(tmp_path):
    path = tmp_path / "copy.cpp"
    tilegen.jit(copy).save(path, target="cpu")
    with pytest.raises(TilegenError, match="emitted for a call"):
        tilegen.jit(copy, source=str(path), knobs=rule)
