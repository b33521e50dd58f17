"""Textures on the emulator, against NumPy: filters, address modes, coordinates, types, and their faults."""

from __future__ import annotations

import ctypes
import itertools
from functools import cache

import numpy as np
import pytest

from tilegen.errors import TilegenError
from tilegen.runtime import emulator

# One kernel for each number of dimensions and type: fetches at n given coordinates.
KERNEL = """
extern "C" __global__ void {name}({object} t, const float* at, {scalar}* out, int n)
{{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) reinterpret_cast<{type}*>(out)[i] = tex{rank}D<{type}>(t, {coordinates});
}}
"""
TYPES = {"float": "float", "float2": "float", "float4": "float", "int": "int", "unsigned": "unsigned",
         "uchar4": "unsigned char", "short": "short"}
MODES = ("clamp", "wrap", "mirror", "border")


@cache
def library(target: str = "cuda", check: bool = False) -> emulator.Library:
    object_type = {"cuda": "cudaTextureObject_t", "hip": "hipTextureObject_t"}[target]
    texts = [KERNEL.format(name=f"{kind}_{rank}", object=object_type, scalar=scalar, type=kind, rank=rank,
                           coordinates=", ".join(f"at[{rank} * i + {d}]" for d in range(rank)))
             for kind, scalar in TYPES.items() for rank in (1, 2, 3)]
    texts.append(f'extern "C" __global__ void fetch({object_type} t, float* out, int first)\n'
                 "{\n    out[threadIdx.x] = tex1Dfetch<float>(t, first + int(threadIdx.x));\n}\n")
    return emulator.compile_source("".join(texts), target, warp_size=32, name="textures.cu", check=check)


def sampled(texture, kind: str, coordinates: np.ndarray, dtype=np.float32, target: str = "cuda",
            check: bool = False) -> np.ndarray:
    """What tex1D, tex2D or tex3D gives at `coordinates` [n, dimensions], x first: [n, channels]."""
    n, rank = coordinates.shape
    channels = int(kind[-1]) if kind[-1].isdigit() else 1
    out = np.zeros((n, channels), dtype)
    emulator.launch(library(target, check), f"{kind}_{rank}", [-(-n // 64)], [64], 0,
                    [texture, np.ascontiguousarray(coordinates, np.float32), out, n])
    return out


def reference(array: np.ndarray, coordinates: np.ndarray, linear: bool, modes: tuple[str, ...], normalized: bool,
              border: float) -> np.ndarray:
    """As the programming guides describe it; `array` is [..., channels], `modes` and coordinates x first."""
    rank = coordinates.shape[1]
    wanted = np.zeros((len(coordinates), array.shape[-1]), np.float64)
    for number, point in enumerate(coordinates.astype(np.float64)):
        sides = []
        for d in range(rank):
            extent = array.shape[rank - 1 - d]
            x = point[d] * (extent if normalized else 1)
            if not linear:
                sides.append([(np.floor(x), 1.0)])
                continue
            fixed = np.floor((x - 0.5) * 256 + 0.5)          # 8 bits of fraction
            first, fraction = fixed // 256, fixed % 256 / 256
            sides.append([(first, 1 - fraction), (first + 1, fraction)])
        for corner in itertools.product(*sides):
            weight = np.prod([w for _, w in corner])
            place = [element(int(i), array.shape[rank - 1 - d], modes[d]) for d, (i, _) in enumerate(corner)]
            wanted[number] += weight * (border if None in place else array[tuple(place[::-1])])
    return wanted


def element(index: int, extent: int, mode: str) -> int | None:
    if mode == "border" and not 0 <= index < extent:
        return None
    if mode == "clamp":
        return min(max(index, 0), extent - 1)
    unrolled = list(range(extent)) if mode == "wrap" else [*range(extent), *reversed(range(extent))]
    return unrolled[index % len(unrolled)]


def points(shape: tuple[int, ...], normalized: bool, n: int = 200) -> np.ndarray:
    """Coordinates in and around an array of `shape`, among them centres and edges of elements, x first."""
    rng = np.random.default_rng(7)
    extents = np.array(shape[::-1])
    random = rng.uniform(-1.7, 2.7, (n, len(shape))) * extents
    exact = np.round(random * 2) / 2 + 1 / 1024
    return (np.concatenate([random, exact]) / (extents if normalized else 1)).astype(np.float32)


@pytest.mark.parametrize("rank", [1, 2, 3])
@pytest.mark.parametrize("filter", ["point", "linear"])
@pytest.mark.parametrize("mode, normalized", [("clamp", False), ("border", False), *((m, True) for m in MODES)])
def test_filters_and_address_modes(rank, filter, mode, normalized):
    shape = (5, 6, 8)[-rank:]                                # sizes for which normalised coordinates are exact enough
    array = np.random.default_rng(1).standard_normal(shape).astype(np.float32)
    at = points(shape, normalized)
    texture = emulator.texture(array, filter=filter, address=mode, normalized=normalized, border=(3, 3, 3, 3))
    wanted = reference(array[..., None], at, filter == "linear", (mode,) * rank, normalized, 3)
    assert np.allclose(sampled(texture, "float", at), wanted, rtol=1e-5, atol=1e-5)


def test_weights_have_eight_bits():
    array = np.array([0, 1], np.float32)
    at = np.linspace(0.5, 1.5, 2049, dtype=np.float32)[:, None]
    found = sampled(emulator.texture(array, filter="linear"), "float", at)[:, 0]
    assert len(np.unique(found)) == 257 and np.array_equal(found, np.floor((at[:, 0] - 0.5) * 256 + 0.5) / 256)


def test_each_dimension_has_its_own_mode():
    array = np.arange(12, dtype=np.float32).reshape(3, 4)
    at = points((3, 4), True)
    found = sampled(emulator.texture(array, address=("wrap", "clamp"), normalized=True), "float", at)
    assert np.array_equal(found, reference(array[..., None], at, False, ("wrap", "clamp"), True, 0))


@pytest.mark.parametrize("channels", [2, 4])
@pytest.mark.parametrize("dtype", [np.float32, np.float16])
def test_several_channels(channels, dtype):
    array = np.random.default_rng(2).standard_normal((7, 9, channels)).astype(dtype)
    at = points((7, 9), False)
    texture = emulator.texture(array, filter="linear", channels=channels)
    wanted = reference(array, at, True, ("clamp", "clamp"), False, 0)
    assert np.allclose(sampled(texture, f"float{channels}", at), wanted, atol=1e-5)


@pytest.mark.parametrize("kind, dtype", [("int", np.int32), ("unsigned", np.uint32), ("short", np.int16), ("uchar4", np.uint8)])
def test_integers_as_they_are(kind, dtype):
    channels = 4 if kind == "uchar4" else 1
    limits = np.iinfo(dtype)
    array = np.random.default_rng(3).integers(limits.min, limits.max, (6, 8, channels), dtype, endpoint=True)
    at = points((6, 8), False)
    texture = emulator.texture(array if channels > 1 else array[..., 0].copy(), address="border", channels=channels,
                               border=(9, 9, 9, 9))
    wanted = reference(array.astype(np.float64), at, False, ("border", "border"), False, 9)
    assert np.array_equal(sampled(texture, kind, at, dtype), wanted.astype(np.int64).astype(dtype))


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int16, np.uint16])
@pytest.mark.parametrize("filter", ["point", "linear"])
def test_integers_as_normalised_floats(dtype, filter):
    limits = np.iinfo(dtype)
    array = np.random.default_rng(4).integers(limits.min, limits.max, 16, dtype, endpoint=True)
    array[:2] = limits.min, limits.max
    at = points((16,), False)
    floats = np.maximum(array.astype(np.float64) / limits.max, -1)
    texture = emulator.texture(array, filter=filter, read_normalized=True)
    wanted = reference(floats[:, None], at, filter == "linear", ("clamp",), False, 0)
    assert np.allclose(sampled(texture, "float", at), wanted, atol=1e-6)


def test_objects_of_hip():
    array = np.arange(24, dtype=np.float32).reshape(4, 6)
    at = points((4, 6), False)
    found = sampled(emulator.texture(array), "float", at, target="hip")
    assert np.array_equal(found, reference(array[..., None], at, False, ("clamp", "clamp"), False, 0))


@pytest.mark.parametrize("check", [False, True])
def test_linear_memory_and_its_bounds(check):
    array, out = np.arange(40, dtype=np.float32), np.zeros(32, np.float32)
    emulator.launch(library(check=check), "fetch", [1], [32], 0, [emulator.texture(array), out, 8])
    assert np.array_equal(out, array[8:])
    with pytest.raises(TilegenError) as caught:
        emulator.launch(library(check=check), "fetch", [1], [32], 0, [emulator.texture(array), out, 9])
    assert "out-of-bounds access: tex1Dfetch of element 40 of a texture with 40" in caught.value.message
    assert "thread (31, 0, 0)" in caught.value.message and "tex1Dfetch<float>" in caught.value.loc.text()


def test_a_write_to_what_a_texture_reads_is_a_race():
    text = ("__global__ void k(cudaTextureObject_t t, float* a)\n{\n    a[threadIdx.x] = 1;\n"
            "    a[64 + threadIdx.x] = tex1Dfetch<float>(t, threadIdx.x ^ 1);\n}\n")
    array = np.zeros(128, np.float32)
    checked = emulator.compile_source(text, "cuda", warp_size=32, check=True)
    with pytest.raises(TilegenError, match="data race"):
        emulator.launch(checked, "k", [1], [64], 0, [emulator.texture(array), array])


@pytest.mark.parametrize("kind, rank, message", [
    ("float", 1, "tex1D of a texture with 2 dimensions"),
    ("int", 2, "tex2D of 1 x int32 from a texture that gives 1 x float32"),
    ("float4", 2, "tex2D of 4 x float32 from a texture that gives 1 x float32")])
def test_fetches_that_do_not_fit_the_texture(kind, rank, message):
    array = np.zeros((4, 4), np.float32)
    with pytest.raises(TilegenError, match=message) as caught:
        sampled(emulator.texture(array), kind, np.zeros((1, rank)))
    assert caught.value.code == "TG0601" and f"tex{rank}D" in caught.value.loc.text()


def test_what_is_no_texture_object():
    with pytest.raises(TilegenError, match="0x5 is not a texture object"):
        emulator.launch(library(), "fetch", [1], [1], 0, [ctypes.c_uint64(5), np.zeros(1, np.float32), 0])


@pytest.mark.parametrize("code, array, options", [
    ("TG0403", np.zeros((2, 3, 4, 5), np.float32), {}), ("TG0403", np.zeros((4, 3), np.float32), {"channels": 4}),
    ("TG0403", np.zeros((4, 4), np.float32)[:, ::2], {}), ("TG0402", np.zeros(4), {}),
    ("TG0411", np.zeros(4, np.float32), {"filter": "cubic"}), ("TG0411", np.zeros(4, np.float32), {"address": "wrap"}),
    ("TG0411", np.zeros(4, np.int32), {"filter": "linear"}), ("TG0411", np.zeros(4, np.int32), {"read_normalized": True})])
def test_textures_that_no_gpu_has(code, array, options):
    with pytest.raises(TilegenError) as caught:
        emulator.texture(array, **options)
    assert caught.value.code == code
