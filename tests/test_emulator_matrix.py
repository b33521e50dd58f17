"""The matrix instructions on the emulator: each of them against NumPy, and whole kernels."""

from __future__ import annotations

import ctypes
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from tilegen import dtypes
from tilegen.instructions import MATRIX_INSTRUCTIONS, Fragment, MatrixInstruction
from tilegen.runtime import emulator

KERNELS = Path(__file__).parent / "emulator"
_BUILTIN_ARGUMENTS = {"mfma": "a, b, c, 0, 0, 0", "mxc": "a, b, c", "wmma": "a, b, c",
                      "wmma_integer": "true, a, true, b, c, false"}


def kernel(instruction: MatrixInstruction) -> str:
    """One warp, one instruction: every lane takes its registers from memory and puts C back."""
    name = instruction.helper
    if instruction.call not in ("mma", "quad"):
        sizes = [f.elements * f.dtype.bits // 32 for f in (instruction.a, instruction.b, instruction.c)]
        return "\n".join([
            *(f"struct {letter}_{name} {{ unsigned r[{size}]; }};" for letter, size in zip("abc", sizes)),
            f"extern \"C\" __global__ void test_{name}(const a_{name}* A, const b_{name}* B, c_{name}* C)", "{",
            f"  a_{name} a = A[threadIdx.x]; b_{name} b = B[threadIdx.x]; c_{name} c = C[threadIdx.x];",
            f"  C[threadIdx.x] = {instruction.spelling}({_BUILTIN_ARGUMENTS[instruction.call]});", "}"])
    operand = "double" if instruction.a.dtype.bits == 64 else "unsigned"
    sums = {"float32": "float", "float64": "double", "int32": "int", "float16": "unsigned"}[instruction.c.dtype.name]
    a, b, c = (f.registers for f in (instruction.a, instruction.b, instruction.c))
    return "\n".join([
        f"extern \"C\" __global__ void test_{name}(const {operand}* A, const {operand}* B, {sums}* C)", "{",
        f"  {operand} a[{a}], b[{b}]; {sums} c[{c}];", "  const int t = threadIdx.x;",
        f"  for (int i = 0; i < {a}; ++i) a[i] = A[t * {a} + i];",
        f"  for (int i = 0; i < {b}; ++i) b[i] = B[t * {b} + i];",
        f"  for (int i = 0; i < {c}; ++i) c[i] = C[t * {c} + i];",
        f"  {name}(c, a, b);",
        f"  for (int i = 0; i < {c}; ++i) C[t * {c} + i] = c[i];", "}"])


@cache
def library_of(target: str, lanes: int) -> emulator.Library:
    """All instructions of a target in one file: compiling is what takes the time."""
    text = "\n".join(kernel(i) for i in MATRIX_INSTRUCTIONS if i.target == target and i.lanes == lanes)
    return emulator.compile_source(text, target, warp_size=lanes)


def _numpy_type(dtype: dtypes.DType) -> np.dtype:
    return np.dtype(np.float32) if dtype.name == "tfloat32" else dtype.numpy


def random_matrix(fragment: Fragment, rng: np.random.Generator) -> np.ndarray:
    shape = (fragment.rows, fragment.columns)
    if fragment.dtype.bits == 4:
        return rng.integers(*((0, 16) if fragment.dtype.kind == "uint" else (-8, 8)), shape).astype(np.int8)
    if fragment.dtype.is_integer:
        low, high = (0, 255) if fragment.dtype.kind == "uint" else (-128, 127)
        return rng.integers(low, high, shape).astype(_numpy_type(fragment.dtype))
    return (rng.integers(-8, 9, shape) / 4).astype(_numpy_type(fragment.dtype))      # sums are exact


def lanes_of(fragment: Fragment, matrix: np.ndarray) -> np.ndarray:
    held = np.array([[matrix[place] for place in lane] for lane in fragment.table()], matrix.dtype)
    return (held[:, ::2] & 15 | held[:, 1::2] << 4).astype(np.uint8) if fragment.dtype.bits == 4 else held


def matrix_of(fragment: Fragment, lanes: np.ndarray) -> np.ndarray:
    matrix = np.empty((fragment.rows, fragment.columns), lanes.dtype)
    for lane, places in enumerate(fragment.table()):
        for index, place in enumerate(places):
            matrix[place] = lanes[lane, index]
    return matrix


@pytest.mark.parametrize("instruction", MATRIX_INSTRUCTIONS, ids=lambda i: i.helper)
def test_one_instruction(instruction):
    rng = np.random.default_rng(3)
    a, b, c = (random_matrix(f, rng) for f in (instruction.a, instruction.b, instruction.c))
    lanes = lanes_of(instruction.c, c)
    library = library_of(instruction.target, instruction.lanes)
    emulator.launch(library, f"test_{instruction.helper}", [1], [instruction.lanes], 0,
                    [lanes_of(instruction.a, a), lanes_of(instruction.b, b), lanes], order="random")
    exact = np.int64 if instruction.c.dtype.is_integer else np.float64
    wanted = a.astype(exact) @ b.astype(exact) + c.astype(exact)
    assert np.array_equal(matrix_of(instruction.c, lanes).astype(exact), wanted)


def test_tfloat32_ignores_the_low_bits():
    a = np.full((32, 4), 1 + 2**-10 + 2**-11, np.float32)
    c = np.zeros((32, 4), np.float32)
    emulator.launch(library_of("cuda", 32), "test_mma_m16n8k8_tf32", [1], [32], 0, [a, np.ones((32, 2), np.float32), c])
    assert (c == 8 * (1 + 2**-10)).all()


MATMUL = (KERNELS / "matmul_sm80.cu").read_text()


def run_matmul(text: str, shape: tuple[int, int, int], *, check: bool = False, order: str = "forward") -> float:
    """The worst error of the matmul kernel in `text` for sizes (M, N, K)."""
    m, n, k = shape
    rng = np.random.default_rng(0)
    a = (rng.random((m, k)) - 0.5).astype(np.float16)
    b = (rng.random((k, n)) - 0.5).astype(np.float16)
    c = np.full((m, n), np.nan, np.float16)
    library = emulator.compile_source(text, "cuda", warp_size=32, name="matmul_sm80.cu", check=check)
    emulator.launch(library, "matmul", [-(-n // 128), -(-m // 64)], [128], 2 * 3 * (64 * 64 + 64 * 128),
                    [a, b, c, *map(ctypes.c_int, shape)], order=order, seed=5)
    return float(np.abs(c - a.astype(np.float32) @ b.astype(np.float32)).max())


@pytest.mark.parametrize("order", emulator.ORDERS)
@pytest.mark.parametrize("shape", [(64, 128, 128), (72, 136, 200), (8, 8, 8)])
def test_matmul_with_ldmatrix_and_copies(shape, order):
    assert run_matmul(MATMUL, shape, order=order) < 3e-3


def test_matmul_is_clean_when_checked():
    assert run_matmul(MATMUL, (72, 136, 200), check=True) < 3e-3


@pytest.mark.parametrize("name, target, tile", [("gemm_mfma.hip", "hip", 32), ("gemm_mma.maca", "maca", 16)])
def test_matmul_of_a_wave(name, target, tile):
    rng = np.random.default_rng(0)
    a, b = ((rng.random(size) - 0.5).astype(np.float16) for size in ((64, 96), (32, 96)))
    for check in (False, True):
        c = np.full((64, 32), np.nan, np.float32)
        library = emulator.compile_source((KERNELS / name).read_text(), target, warp_size=64, name=name, check=check)
        emulator.launch(library, "gemm", [32 // tile, 64 // tile], [64], 0, [a, b, c, 32, 96])
        assert np.abs(c - a.astype(np.float32) @ b.astype(np.float32).T).max() < 1e-5
