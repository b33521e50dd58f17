"""The small floats of the emulator against NumPy and ml_dtypes, for every pattern and around every rounding."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tilegen import dtypes
from tilegen.runtime import emulator

NAMES = ("float16", "bfloat16", "float8_e4m3", "float8_e5m2")
SOURCE = Path(__file__).parent / "emulator" / "types.cu"


@pytest.fixture(scope="module")
def library():
    return emulator.compile_source(SOURCE.read_text(), "cuda", warp_size=32, name="types.cu")


def _patterns(name: str) -> np.ndarray:
    bits = dtypes.lookup(name).bits
    return np.arange(2 ** bits, dtype=f"uint{bits}").view(dtypes.lookup(name).numpy)


def _same(found: np.ndarray, wanted: np.ndarray) -> None:
    """Equal bit for bit, but any NaN is as good as another."""
    found, wanted = np.ascontiguousarray(found), np.ascontiguousarray(wanted)
    kind = f"uint{8 * found.itemsize}"
    wrong = (found.view(kind) != wanted.view(kind)) & ~(np.isnan(found) & np.isnan(wanted))
    assert not wrong.any(), f"{wrong.sum()} differ, the first at {wrong.argmax()}: {found[wrong][0]}, not {wanted[wrong][0]}"


@pytest.mark.parametrize("name", NAMES)
def test_every_pattern_decodes(library, name):
    patterns = _patterns(name)
    values = np.empty(patterns.size, np.float32)
    emulator.launch(library, f"decode_{name}", [2], [256], 0, [patterns, values, patterns.size])
    _same(values, patterns.astype(np.float32))


@pytest.mark.parametrize("name", NAMES)
def test_rounding_to_nearest_even(library, name):
    exact = np.sort(_patterns(name).astype(np.float32))
    exact = exact[np.isfinite(exact)]
    middle = (exact[:-1].astype(np.float64) + exact[1:]) / 2
    middle = middle.astype(np.float32)
    rng = np.random.default_rng(1)
    anything = rng.integers(0, 2**32, 200_000, dtype=np.uint32).view(np.float32)
    top = np.float32([np.inf, -np.inf, np.nan, 3.4e38, 448, 464, 465, 480, 57344, 61440, 61439, 65504, 65519, 65520])
    values = np.concatenate([exact, middle, np.nextafter(middle, np.inf), np.nextafter(middle, -np.inf), anything, top])
    found = np.empty(values.size, dtypes.lookup(name).numpy)
    emulator.launch(library, f"encode_{name}", [2], [256], 0, [values, found, values.size])
    with np.errstate(over="ignore", invalid="ignore"):
        _same(found, values.astype(found.dtype))


def test_a_double_is_rounded_once(library):
    exact = np.sort(_patterns("float16").astype(np.float64))
    exact = exact[np.isfinite(exact)]
    middle = (exact[:-1] + exact[1:]) / 2
    values = np.concatenate([middle, middle * (1 + 1e-12), middle * (1 - 1e-12), [1e300, -1e300, 1e-300, np.nan]])
    found = np.empty(values.size, np.float16)
    emulator.launch(library, "double_float16", [2], [256], 0, [values, found, values.size])
    with np.errstate(over="ignore", invalid="ignore"):
        _same(found, values.astype(np.float16))
