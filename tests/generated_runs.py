"""Runs the text of an emitted file, and compares what it leaves with the interpreter."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import numpy
from generated_files import Generated
from tilegen import ir
from tilegen.check import compare, tolerance
from tilegen.errors import TilegenError
from tilegen.interpret import run as interpret
from tilegen.runtime import emulator
from tilegen.runtime.binding import Binder
from tilegen.runtime.constants import read_constants
from tilegen.runtime.contract import Contract, read_contract
from tilegen.runtime.emulated import EmulatedKernel, warp_size
from tilegen.runtime.load import load
from tilegen.trial import random

# What to call each example with: whole tiles, ragged ones, one element, none.
SIZES: dict[str, list[dict[str, int]]] = {
    "01_add": [
        {"M": 32, "N": 512},
        {"M": 33, "N": 301},
        {"M": 1, "N": 1},
        {"M": 0, "N": 5},
        {"M": 5, "N": 0},
    ],
    "02_saxpy": [{"n": 8192}, {"n": 5003}, {"n": 1}, {"n": 0}],
    "03_transpose": [{"M": 128, "N": 64}, {"M": 65, "N": 131}, {"M": 1, "N": 1}, {"M": 0, "N": 5}],
    "04_softmax": [{"M": 2, "N": 8192}, {"M": 3, "N": 1000}, {"M": 1, "N": 8}, {"M": 0, "N": 8}],
    "05_layernorm": [{"M": 2, "N": 8192}, {"M": 3, "N": 1000}, {"M": 1, "N": 8}, {"M": 0, "N": 8}],
    "16_rmsnorm": [{"M": 2, "N": 8192}, {"M": 3, "N": 1000}, {"M": 1, "N": 8}, {"M": 0, "N": 8}],
    "17_layernorm_backward": [{"M": 140, "N": 512}, {"M": 3, "N": 1000}, {"M": 1, "N": 8}, {"M": 0, "N": 8}],
    "18_online_softmax": [{"M": 2, "N": 16384}, {"M": 3, "N": 1000}, {"M": 1, "N": 8}, {"M": 0, "N": 8}],
    "19_row_sum": [{"M": 2, "N": 8192}, {"M": 3, "N": 1000}, {"M": 1, "N": 8}, {"M": 0, "N": 8}],
    "06_gemm": [
        {"M": 128, "N": 128, "K": 64},
        {"M": 131, "N": 37, "K": 41},
        {"M": 1, "N": 1, "K": 1},
        {"M": 3, "N": 5, "K": 0},
        {"M": 0, "N": 5, "K": 7},
    ],
    "07_gemm_bias_gelu": [
        {"M": 128, "N": 128, "K": 64},
        {"M": 131, "N": 37, "K": 41},
        {"M": 1, "N": 1, "K": 1},
        {"M": 3, "N": 5, "K": 0},
    ],
    "08_batched_gemm": [
        {"batch": 2, "M": 64, "N": 64, "K": 64},
        {"batch": 3, "M": 65, "N": 37, "K": 41},
        {"batch": 1, "M": 1, "N": 1, "K": 1},
        {"batch": 0, "M": 3, "N": 3, "K": 3},
    ],
    "09_gemm_tensor_core": [
        {"M": 256, "N": 128, "K": 192},
        {"M": 131, "N": 37, "K": 41},
        {"M": 1, "N": 1, "K": 1},
        {"M": 3, "N": 5, "K": 0},
    ],
    "09_gemm_tensor_core_sm90a": [                          # rows start at multiples of 16 bytes
        {"M": 256, "N": 256, "K": 192},
        {"M": 131, "N": 40, "K": 72},
        {"M": 1, "N": 8, "K": 8},
        {"M": 3, "N": 8, "K": 0},
    ],
    "09_gemm_tensor_core_sm120": [                          # the same for the copy engine
        {"M": 256, "N": 256, "K": 192},
        {"M": 131, "N": 40, "K": 72},
        {"M": 1, "N": 8, "K": 8},
        {"M": 3, "N": 8, "K": 0},
    ],
    "11_gemm_level3": [
        {"M": 128, "N": 128, "K": 64},
        {"M": 131, "N": 37, "K": 41},
        {"M": 1, "N": 1, "K": 1},
        {"M": 3, "N": 5, "K": 0},
    ],
    "10_flash_attention": [
        {"heads": 2, "queries": 64, "keys": 128},
        {"heads": 3, "queries": 65, "keys": 71},
        {"heads": 1, "queries": 1, "keys": 1},
        {"heads": 0, "queries": 2, "keys": 3},
    ],
    "20_flash_attention_causal_gqa": [
        {"heads": 4, "kv_heads": 2, "queries": 128, "keys": 128},
        {"heads": 2, "kv_heads": 1, "queries": 65, "keys": 71},
        {"heads": 1, "kv_heads": 1, "queries": 67, "keys": 3},
        {"heads": 1, "kv_heads": 1, "queries": 1, "keys": 1},
    ],
    "21_flash_attention_varlen": [                        # see test_attention.py for several sequences
        {"tokens": 80, "heads": 2, "bounds": 2},
        {"tokens": 5, "heads": 1, "bounds": 2},
        {"tokens": 5, "heads": 1, "bounds": 1},
    ],
    "22_flash_attention_backward": [
        {"heads": 2, "queries": 64, "keys": 64},
        {"heads": 1, "queries": 65, "keys": 71},
        {"heads": 1, "queries": 1, "keys": 1},
        {"heads": 0, "queries": 2, "keys": 3},
    ],
    "12_cumsum": [{"M": 4, "N": 2048}, {"M": 5, "N": 1500}, {"M": 1, "N": 1}, {"M": 0, "N": 3}],
    "14_gemm_dtypes": [
        {"M": 64, "N": 64, "K": 128},
        {"M": 67, "N": 37, "K": 41},
        {"M": 1, "N": 1, "K": 1},
        {"M": 3, "N": 5, "K": 0},
    ],
    "13_philox_dropout": [{"M": 8, "N": 256}, {"M": 9, "N": 301}, {"M": 1, "N": 1}, {"M": 0, "N": 3}],
    "23_split_k_gemm": [
        {"M": 64, "N": 64, "K": 256},
        {"M": 65, "N": 37, "K": 141},
        {"M": 1, "N": 1, "K": 1},
        {"M": 3, "N": 5, "K": 0},
    ],
    "31_gemm_small": [
        {"M": 16, "N": 128, "K": 256},
        {"M": 19, "N": 37, "K": 141},
        {"M": 1, "N": 1, "K": 1},
        {"M": 3, "N": 5, "K": 0},
    ],
    "31_gemm_small_sm90a": [                                # rows start at multiples of 16 bytes
        {"M": 16, "N": 128, "K": 1536},
        {"M": 19, "N": 37, "K": 328},
        {"M": 1, "N": 1, "K": 8},
        {"M": 3, "N": 5, "K": 0},
    ],
    "24_int4_dequant_gemm": [
        {"M": 16, "N": 64, "K": 1024},
        {"M": 5, "N": 37, "K": 384},
        {"M": 1, "N": 1, "K": 128},
        {"M": 3, "N": 5, "K": 0},
    ],
    "25_conv2d": [
        {"N": 2, "H": 8, "W": 8, "C": 32, "K": 64},
        {"N": 1, "H": 7, "W": 9, "C": 5, "K": 19},
        {"N": 1, "H": 1, "W": 1, "C": 1, "K": 1},
        {"N": 0, "H": 3, "W": 3, "C": 2, "K": 2},
    ],
    "26_topk": [{"M": 4, "N": 512}, {"M": 5, "N": 301}, {"M": 1, "N": 1}, {"M": 0, "N": 5}],
    "27_permute": [
        {"N": 2, "R": 64, "C": 128},
        {"N": 1, "R": 65, "C": 31},
        {"N": 1, "R": 1, "C": 1},
        {"N": 0, "R": 3, "C": 5},
    ],
    "28_histogram": [{"n": 8192}, {"n": 5003}, {"n": 1}, {"n": 0}],
    "30_jacobi": [{"M": 32, "N": 256}, {"M": 33, "N": 131}, {"M": 1, "N": 1}, {"M": 0, "N": 5}],
}
RAGGED = 1


def arguments(contract: Contract, sizes: Mapping[str, int], seed: int = 0) -> dict[str, Any]:
    """Random inputs, and outputs that hold what no kernel writes."""
    generator = numpy.random.default_rng(seed)
    found: dict[str, Any] = {}
    for p in contract.caller_params:
        if not p.is_array:
            found[p.name] = 3 if p.dtype.is_integer else 1.5
            continue
        shape = tuple(int(contract.value(extent, sizes)) for extent in p.shape)
        found[p.name] = (
            numpy.full(shape, 77).astype(p.dtype.numpy) if p.is_output else random(generator, p.dtype, shape)
        )
    return found


def run(text: str, given: Mapping[str, Any], order: str = "forward") -> None:
    """Runs the text of a file in place: C++ natively, for a GPU in the emulator, where every access to memory
    is watched."""
    contract = read_contract(text, "<text>")
    if contract.target == "cpu":
        load(text)(**given)
        return
    library = emulator.compile_source(
        text,
        contract.target,
        warp_size=warp_size(contract.target, contract.arch),
        name=f"{contract.entry}{emulator.SUFFIXES[contract.target]}",
        check=True,
    )
    bound = Binder(contract).bind((), given)
    prepared = EmulatedKernel.prepare(_Prepared(contract), bound)
    names = [p.name for p in contract.params] + list(contract.sizes)
    for _, launch, geometry in bound.launches():
        emulator.launch(
            library,
            launch.entry,
            geometry.grid,
            geometry.block,
            geometry.shared,
            [prepared[position] for position in launch.arguments],
            order=order,
            seed=7,
            names=[names[position] for position in launch.arguments],
        )


class _Prepared:
    """What `EmulatedKernel.prepare` needs of a kernel."""

    def __init__(self, contract: Contract) -> None:
        self.contract = contract


def sizes_of(file: Generated) -> list[dict[str, int]]:
    """What to call a file with."""
    return SIZES.get(f"{file.example}_{file.variant}", SIZES[file.example])


def wrong(
    file: Generated, kernel: ir.Kernel, text: str, sizes: Mapping[str, int], order: str = "forward"
) -> list[str]:
    """What the text computes otherwise than the interpreter does: a line for each array."""
    contract = read_contract(text, str(file))
    found, expected = arguments(contract, sizes), arguments(contract, sizes)
    interpret(kernel, expected, sizes=dict(sizes))
    run(text, found, order)
    values = {k.name: k.value for k in kernel.knobs} | dict(sizes)
    problems = []
    for p in contract.caller_params:
        if p.is_array:
            allowed = tolerance(kernel, p.dtype, values) if p.writes else 0
            result = compare(p.name, found[p.name], expected[p.name], allowed)
            problems += [] if result.ok else [f"{p.name}: {result}"]
    return problems


# ---- Knobs ---------------------------------------------------------------------------------------
def turned(text: str, knob: str, value: int | float) -> str:
    """The text with another value for one knob, and nothing else changed."""
    changed, count = re.subn(rf"^(constexpr \w+ {knob} =) [^;]+;", rf"\1 {value};", text, flags=re.MULTILINE)
    assert count == 1, knob
    return changed


def knobs(text: str) -> dict[str, int]:
    """The whole-number knobs of a file with their values."""
    contract = read_contract(text, "<text>")
    values = read_constants(text, "<text>")
    return {name: values[name] for name in contract.knobs if type(values[name]) is int}


def refuses(error: TilegenError) -> bool:
    """Whether an error says that a knob cannot have its value: a static_assert, or the limits of a launch."""
    signs = ("static assertion failed", "static_assert", "division by zero is not a constant expression")
    return error.code == "TG0411" or any(sign in str(error) for sign in signs)
