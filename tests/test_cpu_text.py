"""Rules that every emitted C++ file keeps, and that turning its knobs keeps it right."""

import re

import cpu_samples
import numpy as np
import pytest
from cpu_support import CPU, emitted, library
from tilegen.emit import templates
from tilegen.frontend import instantiate
from tilegen.runtime.load import load

SAMPLES = [cpu_samples.matmul, cpu_samples.gemm_bias_gelu, cpu_samples.batched, cpu_samples.attention,
           cpu_samples.softmax, cpu_samples.add, cpu_samples.transpose, cpu_samples.sums]
ALLOWED = {"immintrin.h", "algorithm", "cmath", "cstdio", "cstdlib", "cstring", "limits", "memory", "type_traits"}


def kernel_part(text: str) -> str:
    """The file without its self-test."""
    return text.split("#ifdef TILEGEN_MAIN")[0]


@pytest.mark.parametrize("function", SAMPLES, ids=lambda f: f.__name__)
def test_rules_of_text(function, tmp_path):
    text = emitted(function)
    kernel = kernel_part(text)
    assert not [line for line in text.split("\n") if len(line) > 100]
    assert set(re.findall(r"#include <(.*)>", kernel)) <= ALLOWED
    code = re.sub(r"//[^\n]*", "", kernel)
    for name in templates.stems(CPU.folders, "helpers"):
        uses = len(re.findall(rf"(?<!std::)\b{name}\b", code))
        assert uses != 1, f"{name} is emitted and not used"
    body = code[code.index("_block(") : code.index('extern "C"')]
    for index in re.findall(r"\[([^\[\]]*)\]", body):
        assert index.count("(") <= 2
    literals = set(re.findall(r"(?<![\w.])\d{2,}(?![\w.])", body)) - {"16"}
    assert not literals, f"numbers without a name: {literals}"
    library(text, tmp_path)


@pytest.mark.parametrize("function", SAMPLES, ids=lambda f: f.__name__)
def test_the_same_text_again(function):
    assert emitted(function) == emitted(function)


def turned(text: str, **knobs) -> str:
    for name, value in knobs.items():
        text, count = re.subn(rf"(constexpr int {name} = )\d+;", rf"\g<1>{value};", text)
        assert count == 1
    return text


@pytest.mark.parametrize("knobs", [dict(BM=24, BN=32, BK=8), dict(MR=4), dict(NV=1), dict(MR=2, NV=4, BK=5)])
def test_turning_knobs_of_a_gemm(knobs):
    text = turned(emitted(cpu_samples.matmul), **knobs)
    generator = np.random.default_rng(0)
    a, b = (generator.standard_normal(shape).astype("f4") for shape in ((61, 45), (45, 83)))
    assert np.allclose(load(text)(a, b), a @ b, rtol=1e-4, atol=1e-4)


def test_turning_knobs_of_a_softmax():
    text = turned(emitted(cpu_samples.softmax), BM=3, BN=64, PARTIALS=2)
    x = np.random.default_rng(0).standard_normal((7, 50)).astype("f4")
    weights = np.exp(x - x.max(1, keepdims=True))
    assert np.allclose(load(text)(x), weights / weights.sum(1, keepdims=True), rtol=1e-5)


def test_a_knob_that_breaks_the_tiling_is_refused_by_the_compiler():
    text = turned(emitted(cpu_samples.matmul), BM=50)
    assert 'static_assert(BM % MR == 0' in text
    with pytest.raises(Exception, match="a block is made of whole register tiles"):
        load(text).artifact


def test_a_factory_knob_keeps_its_name():
    text = emitted(instantiate(cpu_samples.product, target="cpu", values={}))
    assert "float A_shared[24 / MR][16][MR];" in text
