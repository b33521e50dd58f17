"""The helpers of emitted C++: vector math against float64, small floats against ml_dtypes."""

import ctypes
import math

import ml_dtypes
import numpy as np
import pytest
from cpu_support import library, pointer, with_helpers

# Function, range, and the units in the last place that its comment promises.
MATH = [("exp", -103, 88.7, 1.1), ("exp2", -149, 127.9, 1.0), ("log", 1e-44, 100, 0.9), ("log2", 1e-44, 100, 2.0),
        ("tanh", -10, 10, 1.4), ("erf", -4, 4, 1.4), ("sqrt", 0, 1e9, 0.5), ("rsqrt", 1e-9, 1e9, 1.5),
        ("floor", -1e3, 1e3, 0), ("ceil", -1e3, 1e3, 0), ("trunc", -1e3, 1e3, 0),
        ("nearbyint", -1e3, 1e3, 0), ("abs", -9, 9, 0)]
SMALL = {"float16": np.float16, "bfloat16": ml_dtypes.bfloat16, "float8_e4m3": ml_dtypes.float8_e4m3fn,
         "float8_e5m2": ml_dtypes.float8_e5m2}
SPECIAL = [0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, -1.0, 1e-40]


@pytest.fixture(scope="module")
def compiled(tmp_path_factory):
    body = "".join(f"""
extern "C" void vector_{name}(const float* x, float* y, int n)
{{
    for (int i = 0; i < n; i += 8)
        store_float32_first(y + i, {name}(load_float32_first(x + i, n - i)), n - i);
}}
""" for name, *_ in MATH)
    body += "".join(f"""
extern "C" void to_{t}(const float* x, {t}* y, int n) {{ for (int i = 0; i < n; ++i) y[i] = x[i]; }}
extern "C" void from_{t}(const {t}* x, float* y, int n) {{ for (int i = 0; i < n; ++i) y[i] = x[i]; }}
""" for t in SMALL)
    body += "".join(f"""
extern "C" void vectors_{t}(const {t}* x, {t}* y, int n)
{{
    for (int i = 0; i < n; i += 8)
        store_{t}_first(y + i, load_{t}_first(x + i, n - i), n - i);
}}
extern "C" void round_{t}(const float* x, {t}* y, int n)
{{
    for (int i = 0; i < n; i += 8) store_{t}(y + i, round_to_{t}(load_float32(x + i)));
}}
""" for t in ("float16", "bfloat16"))
    return library(with_helpers(body), tmp_path_factory.mktemp("helpers"))


def call(function, x, dtype):
    y = np.zeros(len(x), dtype)
    function(pointer(x), pointer(y), ctypes.c_int(len(x)))
    return y


def exact(name, x):
    if name == "erf":
        return np.array([math.erf(v) for v in x])
    if name == "rsqrt":
        return 1 / np.sqrt(x)
    return getattr(np, {"nearbyint": "rint"}.get(name, name))(x)


@pytest.mark.parametrize("name, low, high, units", MATH)
def test_vector_math(compiled, name, low, high, units):
    generator = np.random.default_rng(1)
    x = generator.uniform(low, high, 20011).astype("f4")
    x[:8000] = (x[:8000] / (1 if name.startswith("log") else 12)).astype("f4")
    found = call(compiled[f"vector_{name}"], x, "f4").astype("f8")
    want = exact(name, x.astype("f8"))
    unit = np.maximum(np.spacing(np.abs(want).astype("f4")), np.float32(1e-45)).astype("f8")
    normal = np.abs(want) > 1.2e-38
    assert (np.abs(found - want)[normal] <= (units + 1e-3) * unit[normal]).all()
    assert (np.abs(found - want)[~normal] <= 1.5e-45).all()


@pytest.mark.parametrize("name", [m[0] for m in MATH])
def test_vector_math_of_special_numbers(compiled, name):
    x = np.array(SPECIAL, "f4")
    with np.errstate(all="ignore"):
        want = exact(name, x.astype("f8")).astype("f4")
    found = call(compiled[f"vector_{name}"], x, "f4")
    special = ~np.isfinite(want)
    assert np.array_equal(found[special], want[special], equal_nan=True)
    assert np.allclose(found[~special], want[~special], rtol=1e-6, atol=0)


@pytest.mark.parametrize("name", SMALL)
def test_small_floats(compiled, name):
    generator = np.random.default_rng(2)
    x = (generator.standard_normal(50000) * np.exp(generator.uniform(-30, 12, 50000))).astype("f4")
    edges = [448, 464, 465, 480, 57344, 61440, 61441, 65504, 65519, 65520, 1e9, 2.0**-9, 2.0**-10, 2.0**-17,
             3 * 2.0**-18]
    x = np.concatenate([x, SPECIAL, edges, -np.array(edges)]).astype("f4")
    with np.errstate(all="ignore"):
        want = x.astype(SMALL[name])
    found = call(compiled[f"to_{name}"], x, SMALL[name])
    assert np.array_equal(found.astype("f4"), want.astype("f4"), equal_nan=True)
    assert np.array_equal(call(compiled[f"from_{name}"], want, "f4"), want.astype("f4"), equal_nan=True)


@pytest.mark.parametrize("name", ["float16", "bfloat16"])
def test_vectors_of_small_floats(compiled, name):
    x = np.concatenate([np.linspace(-9, 9, 997), SPECIAL[:7]]).astype(SMALL[name])
    found = call(compiled[f"vectors_{name}"], x, SMALL[name])
    assert np.array_equal(found.astype("f4"), x.astype("f4"), equal_nan=True)
    wide = np.random.default_rng(3).standard_normal(4096).astype("f4")
    rounded = call(compiled[f"round_{name}"], wide, SMALL[name])
    assert np.array_equal(rounded.astype("f4"), wide.astype(SMALL[name]).astype("f4"))
