"""Loads by the copy engine for products of mma.sync: kernels for sm_120, on the emulator and through the compiler."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

import tilegen.language as T
from generated_files import ROOT
from generated_runs import run
from test_warpgroups import attended, product, random, walking, wide_and_narrow, worst
from tilegen import kernel_files
from tilegen.build import nvrtc
from tilegen.build.toolchain import compile_text
from tilegen.passes.shared_accesses import conflicts
from tilegen.targets import find

DYNAMIC = {name: T.dynamic(name) for name in "MNK"}


def made(kernel, arch="sm_120", **values):
    special = kernel.specialize(**values).specialised("cuda", arch)
    assert "tma_load" in special.source and "wgmma" not in special.source, special.planned.plan.notes
    return special


def compiles(text: str, arch: str) -> None:
    toolchain = nvrtc.find()
    if arch.rstrip("a") not in toolchain.architectures():
        pytest.skip(f"NVRTC {toolchain.version} knows no {arch}")
    artifact = compile_text(text, toolchain, name="product.cu", target="cuda", arch=arch)
    assert not artifact.findings and artifact.resources.stack == 0


@pytest.mark.parametrize("sizes", [(256, 256, 256), (200, 264, 328), (8, 8, 8)])
@pytest.mark.parametrize("turn_b", (False, True))
@pytest.mark.parametrize("turn_a", (False, True))
def test_products(turn_a, turn_b, sizes):
    M, N, K = sizes
    special = made(product, **DYNAMIC, turn_a=turn_a, turn_b=turn_b)
    a, b = random((M, K)), random((K, N), seed=1)
    got = special.emulated(np.ascontiguousarray(a.T) if turn_a else a, np.ascontiguousarray(b.T) if turn_b else b)
    assert worst(got, a.astype("float32") @ b.astype("float32")) < 0.06


@pytest.mark.parametrize("values", [dict(), dict(turn_a=True), dict(turn_b=True)], ids=str)
def test_nothing_races_and_no_bank_is_asked_twice(values):
    special = made(product, **DYNAMIC, **values)
    a, b = random((136, 200)), random((200, 136), seed=1)
    c = np.full((136, 136), np.nan, "float16")
    given = {"A": np.ascontiguousarray(a.T) if values.get("turn_a") else a,
             "B": np.ascontiguousarray(b.T) if values.get("turn_b") else b, "C": c}
    run(special.source, given, order="random")
    assert worst(c, a.astype("float32") @ b.astype("float32")) < 0.06
    found = conflicts(special.after("pad_shared"), find("cuda", "sm_120"))
    assert found and not any(count for *_, count in found)


@pytest.mark.parametrize("dtype, sums, BK", [("tfloat32", "float32", 32), ("float8_e4m3", "float32", 128),
                                             ("int8", "int32", 128)])
def test_operands_of_32_and_8_bits(dtype, sums, BK):
    special = made(wide_and_narrow, M=200, N=144, K=208, dtype=dtype, sums=sums, BK=BK, BM=64, BN=64)
    kind = {"tfloat32": "float32", "float8_e4m3": ml_dtypes.float8_e4m3fn, "int8": "int8"}[dtype]
    a, b = (np.random.default_rng(n).integers(-8, 9, s).astype("float32").astype(kind)
            for n, s in enumerate(((200, 208), (144, 208))))
    assert worst(special.emulated(a, b), a.astype("float32") @ b.astype("float32").T) < 0.1
    compiles(special.source, "sm_120")


def test_a_walk_over_tiles_that_the_kernel_makes():
    special = made(walking)
    a, b = random((300, 200)), random((200, 200), seed=1)
    assert worst(special.emulated(a, b), a.astype("float32") @ b.astype("float32")) < 0.1


@pytest.mark.parametrize("D", (64, 128))
def test_attention(D):
    example = kernel_files.find(str(ROOT / "examples" / "10_flash_attention.py"))
    special = made(example, D=D)
    q, k, v = (random((2, n, D), seed=n) for n in (136, 200, 201))
    v = v[:, :200].copy()
    assert worst(special.emulated(q, k, v), attended(q, k, v)) < 2e-3
    compiles(special.source, "sm_120")


def test_causal_attention_of_shared_heads():
    example = kernel_files.find(str(ROOT / "examples" / "20_flash_attention_causal_gqa.py"))
    special = made(example, arch="sm_120a")
    q, k, v = random((4, 136, 64)), random((2, 200, 64), seed=1), random((2, 200, 64), seed=2)
    assert worst(special.emulated(q, k, v), attended(q, np.repeat(k, 2, 0), np.repeat(v, 2, 0), causal=True)) < 2e-3
    compiles(special.source, "sm_120a")


def test_tiles_that_warpgroups_cannot_multiply_have_the_engine_on_sm_90a_too():
    special = made(product, arch="sm_90a", **DYNAMIC, BM=32, BN=64, threads=128)
    a, b = random((72, 136)), random((136, 72), seed=1)
    assert worst(special.emulated(a, b), a.astype("float32") @ b.astype("float32")) < 0.06
    compiles(special.source, "sm_90a")


REFUSED = {"rows of 64 bytes": dict(BK=32), "do not run ahead": dict(stages=1)}


def test_tensors_that_the_engine_cannot_move_take_the_other_text():
    special = made(product, **DYNAMIC)
    a, b = random((64, 33)), random((33, 40), seed=1)
    with pytest.warns(UserWarning, match="requires K % 8 == 0, but K is 33: such calls run the text for sm_89"):
        got = special.emulated(a, b)
    assert worst(got, a.astype("float32") @ b.astype("float32")) < 0.05


@pytest.mark.parametrize("reason", REFUSED)
def test_what_has_no_use_for_the_engine_says_why(reason):
    special = product.specialize(M=128, N=128, K=128, **REFUSED[reason]).specialised("cuda", "sm_120")
    assert "tma_load" not in special.source
    assert any(subject == "copy engine" and reason in text for subject, text in special.planned.plan.notes)
