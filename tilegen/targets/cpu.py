"""CPUs through C++17 with AVX2: vectors of 32 bytes, OpenMP over blocks."""

from __future__ import annotations

from tilegen.targets.base import C_FUNCTIONS, C_TYPES, Target
from tilegen.vectors import ADDRESS, VECTOR_ELEMENTS, VECTOR_FUNCTIONS

DEFAULT_ARCH = "avx2"
ARCHS = ("avx2",)

# Most bytes of tiles that one thread may have: they are meant to live in the cache.
MAX_TILES = 64 * 2**20

_INTERNAL = ("broadcast", "sum_lanes", "max_lanes", "min_lanes", "min", "max", "lane_numbers", "to_float32", "to_int32",
             "round_to_float16", "round_to_bfloat16")


def make(arch: str) -> Target:
    """The facts of one arch of ARCHS."""
    types = {name: name if name == "bool" else spelling for name, spelling in C_TYPES.items()}
    return Target(name="cpu", arch=arch, family="cpu", suffix=".cpp", folders=("cpu", "common"),
                  max_threads=2**31 - 1, max_shared=MAX_TILES, vector_bytes=32, types=types, functions=_functions(),
                  compile_line="g++ -O3 -mavx2 -mfma -mf16c -fopenmp -std=c++17 -DTILEGEN_MAIN {file}.cpp "
                               "-o {file} && ./{file}")


def _functions() -> dict[str, dict[str, str]]:
    """Scalars use the standard library by its full name, vectors the helpers."""
    result: dict[str, dict[str, str]] = {}
    plain = [*(n for n in C_FUNCTIONS["float64"] if n not in ("min", "max", "exp10")), "atan2", "copysign", "isnan",
             "isinf", "isfinite"]
    for dtype in ("float32", "float64"):
        result[dtype] = {n: f"std::{n}" for n in plain} | {
            "min": "std::fmin", "max": "std::fmax", "exp10": "power_of_ten", "rsqrt": "reciprocal_sqrt",
            "broadcast": "broadcast" if dtype == "float32" else "broadcast<double>", "infinity": "infinity"}
    for dtype in ("int32", "int64", "uint32", "uint64"):
        kind = "" if dtype == "int32" else f"<{C_TYPES[dtype]}>"
        result[dtype] = {"min": f"std::min{kind}", "max": f"std::max{kind}", "abs": "std::abs",
                         "broadcast": "broadcast", "popcount": "count_ones", "clz": "leading_zeros"}
    for dtype in ("int32", "int64"):
        result[dtype][f"lowest_{dtype}"] = f"lowest_{dtype}"
    for vector, names in VECTOR_FUNCTIONS.items():
        result[vector] = {n: n for n in (*names, *_INTERNAL)}
    loads = [f"load_{e}{tail}" for elements in VECTOR_ELEMENTS.values() for e in elements for tail in ("", "_first")]
    result[ADDRESS.name] = {n: n for n in loads}
    return result
