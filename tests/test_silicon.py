"""The table of instructions against the hardware: the PTX of each row assembles, and on a GPU the product is
the one that the table's layouts say."""

from __future__ import annotations

import numpy as np
import pytest

from test_emulator_matrix import lanes_of, matrix_of, random_matrix
from tilegen.build import nvrtc
from tilegen.build.toolchain import Artifact, compile_text
from tilegen.instructions import MATRIX_INSTRUCTIONS, MatrixInstruction

NVIDIA = pytest.mark.parametrize("instruction", [i for i in MATRIX_INSTRUCTIONS if i.target == "cuda"],
                                 ids=lambda i: i.helper)
_SUM = {"float32": ("float", "f"), "float64": ("double", "d"), "int32": ("int", "r"), "float16": ("unsigned", "r")}


def kernel(instruction: MatrixInstruction) -> str:
    """The instruction itself, by one warp, with its operands from memory."""
    a, b, c = (f.registers for f in (instruction.a, instruction.b, instruction.c))
    operand, letter = ("double", "d") if instruction.a.dtype.bits == 64 else ("unsigned", "r")
    sums, sum_letter = _SUM[instruction.c.dtype.name]

    def group(first: int, count: int) -> str:
        return "{" + ", ".join(f"%{first + i}" for i in range(count)) + "}"
    assembly = f"{instruction.spelling} {group(0, c)}, {group(c, a)}, {group(c + a, b)}, {group(0, c)};"
    outputs = ", ".join(f'"+{sum_letter}"(C[{i}])' for i in range(c))
    inputs = ", ".join([*(f'"{letter}"(A[{i}])' for i in range(a)), *(f'"{letter}"(B[{i}])' for i in range(b))])
    return "\n".join([
        f'extern "C" __global__ void one(const {operand}* A, const {operand}* B, {sums}* C)', "{",
        f"    A += threadIdx.x * {a}; B += threadIdx.x * {b}; C += threadIdx.x * {c};",
        f'    asm volatile("{assembly}" : {outputs} : {inputs});', "}"])


def cubin(instruction: MatrixInstruction, arch: str) -> Artifact:
    return compile_text(kernel(instruction), nvrtc.find(), name="one", target="cuda", arch=arch)


@NVIDIA
def test_the_ptx_of_a_row_assembles(instruction):
    assert cubin(instruction, instruction.archs[0]).path.stat().st_size > 0


@pytest.mark.gpu
@NVIDIA
def test_a_row_agrees_with_the_hardware(instruction):
    import cupy
    rng = np.random.default_rng(3)
    a, b, c = (random_matrix(f, rng) for f in (instruction.a, instruction.b, instruction.c))
    capability = cupy.cuda.Device().compute_capability
    function = cupy.RawModule(path=str(cubin(instruction, f"sm_{capability}").path)).get_function("one")
    kept = lanes_of(instruction.c, c)
    data = [cupy.asarray(lanes_of(f, m).view(np.uint8)) for f, m in ((instruction.a, a), (instruction.b, b))]
    sums = cupy.asarray(kept.view(np.uint8))
    function((1,), (32,), (*data, sums))
    exact = np.int64 if instruction.c.dtype.is_integer else np.float64
    found = matrix_of(instruction.c, cupy.asnumpy(sums).view(kept.dtype))
    assert np.array_equal(found.astype(exact), a.astype(exact) @ b.astype(exact) + c.astype(exact))
