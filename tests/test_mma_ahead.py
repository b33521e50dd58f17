"""Products that load their operands one mma step ahead: which do, what the text says, and that it computes right
whatever the number of steps beside the number of stages."""

import numpy
import pytest
from generated_runs import run, turned
from test_matrix_gemm import kernel_of
from tilegen.errors import TilegenError

AHEAD = "load_operands(1 - set, next, 0);"


def special(tile, threads=128, arch="sm_80", operand="float16", accumulator="float32"):
    return kernel_of(operand, accumulator, False, False, tile, threads).specialised("cuda", arch, {})


@pytest.mark.parametrize("tile, threads, reason", [
    ((64, 64, 16), 128, "1 mma steps a stage cannot alternate"),
    ((64, 64, 48), 128, "3 mma steps a stage cannot alternate"),
    ((128, 192, 32), 128, "two sets need about 308 registers in a thread, which has 255")])
def test_why_operands_are_loaded_when_they_are_needed(tile, threads, reason):
    found = special(tile, threads)
    assert reason in dict(found.planned.plan.notes)["operands of C_local"]
    assert AHEAD not in found.source and "mma_m16n8k16_f16" in found.source


def test_the_barrier_stands_before_the_last_mma_step():
    text = special((64, 64, 32)).source
    loop = text[text.index("for (int ko = 0; ko < steps; ++ko) {"):]
    assert loop.index("load_operands(1 - set, stage, k + MMA_K);") < loop.index("cp_async_wait<") < \
        loop.index("__syncthreads();") < loop.index(AHEAD) < loop.index("mma_m16n8k16_f16(")
    assert text.count("__syncthreads();") == 2


@pytest.mark.parametrize("operand, accumulator", [("float16", "float32"), ("int8", "int32")])
@pytest.mark.parametrize("stages", [2, 3, 5])
@pytest.mark.parametrize("steps", [0, 1, 2, 4, 7])
def test_any_number_of_steps_and_stages(operand, accumulator, stages, steps):
    """The emulator runs copies as late as it may, and reports races and reads of what nobody wrote."""
    text = turned(special((32, 32, 64), 64, operand=operand, accumulator=accumulator).source, "STAGES", stages)
    assert AHEAD in text
    M, N, K = 33, 31, max(0, steps * 64 - 3)
    generator = numpy.random.default_rng(3)
    A, B = (generator.integers(-4, 5, shape).astype(operand) for shape in ((M, K), (K, N)))
    C = numpy.full((M, N), 77, accumulator)
    run(text, {"A": A, "B": B, "C": C, "M": M, "N": N, "K": K})
    assert (C == A.astype(accumulator) @ B.astype(accumulator)).all()


def test_an_odd_number_of_steps_turned_in_the_file_does_not_compile():
    text = turned(special((32, 32, 64), 64).source, "BK", 48)
    arrays = {"A": numpy.zeros((32, 48), "float16"), "B": numpy.zeros((48, 32), "float16"),
              "C": numpy.zeros((32, 32), "float32"), "M": 32, "N": 32, "K": 48}
    with pytest.raises(TilegenError, match="mma steps alternate between two sets of operands"):
        run(text, arrays)
