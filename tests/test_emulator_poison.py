"""What nobody wrote is garbage on the emulator, never a lucky zero: shared memory, local variables, outputs."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import tilegen
import tilegen.language as T
from test_emulator_matrix import MATMUL, run_matmul
from tilegen.build import cxx
from tilegen.emulator.build import poisons
from tilegen.errors import TilegenError
from tilegen.runtime import emulator

COMPILERS = [name for name, _ in cxx.candidates() if name in cxx.COMPILERS]
SUM = """
extern "C" __global__ void k(const {type}* a, {type}* out)
{{
    {type} sum{extent};
    for (int i = 0; i < 8; ++i) sum{index} = sum{index} + a[threadIdx.x * 8 + i];
    out[threadIdx.x] = sum{index};
}}
"""


@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize("kind, dtype", [("float", np.float32), ("double", np.float64), ("int", np.int32), ("float16", np.float16)])
@pytest.mark.parametrize("extent, index", [("", ""), ("[4]", "[threadIdx.x % 4]")])
def test_a_sum_that_starts_from_nothing(compiler, kind, dtype, extent, index):
    """With ones as the input no sum may come out as if it had started at zero."""
    if not poisons(cxx.find(compiler)):
        pytest.fail(f"{compiler} is too old to poison local variables")
    text = SUM.format(type=kind, extent=extent, index=index)
    library = emulator.compile_source(text, "cuda", warp_size=32, compiler=compiler)
    out = np.zeros(32, dtype)
    emulator.launch(library, "k", [1], [32], 0, [np.ones(256, dtype), out])
    assert not np.isclose(out.astype(np.float64), 8, rtol=1e-3).any()


def test_a_matrix_product_whose_sums_are_not_cleared():
    wrong = MATMUL.replace("float C_local[MT][NT][4] = {};", "float C_local[MT][NT][4];")
    assert wrong != MATMUL
    error = run_matmul(wrong, (64, 128, 64))
    assert np.isnan(error) or error > 1e4


def test_shared_memory_starts_as_nan():
    text = "__global__ void k(float* out)\n{\n  __shared__ float s[64];\n  extern __shared__ float dynamic[];\n" \
           "  out[threadIdx.x] = s[threadIdx.x]; out[64 + threadIdx.x] = dynamic[threadIdx.x];\n}\n"
    out = np.zeros(128, np.float32)
    emulator.launch(emulator.compile_source(text, "cuda", warp_size=32), "k", [1], [64], 256, [out])
    assert np.isnan(out).all()


@tilegen.jit
def half_of_it(A: T.Tensor[(64,), "float32"]):
    B = T.empty((64,), "float32")
    with T.Kernel(1, threads=32):
        for i in T.Parallel(32):
            B[i] = A[i] + 1


def test_an_output_that_is_not_written_whole():
    B = half_of_it.on("emulator")(np.ones(64, np.float32))
    assert (B[:32] == 2).all() and np.isnan(B[32:]).all()


# ---- Text that does not compile ----------------------------------------------------------------------------
def emitted(path: Path) -> str:
    text = half_of_it.emit("cuda")
    path.write_text(text)
    return text


def test_a_compile_error_is_at_the_users_line(tmp_path):
    file = tmp_path / "edited.cu"
    text = emitted(file)
    wrong = next(line for line in text.splitlines() if "B[" in line and "=" in line)
    file.write_text(text.replace(wrong, wrong.replace("=", "= undeclared +", 1)))
    with pytest.raises(TilegenError) as caught:
        tilegen.load(file, target="emulator")(np.ones(64, np.float32))
    error = caught.value
    assert error.code == "TG0602" and error.message.startswith("edited.cu does not compile") and "undeclared" in error.message
    assert error.loc.file == str(file) and "undeclared" in file.read_text().splitlines()[error.loc.line - 1]
    assert any(note.message.startswith("this comes from test_emulator_poison.py:") for note in error.notes)


def test_a_static_assert_is_at_the_users_line(tmp_path):
    file = tmp_path / "edited.cu"
    file.write_text(emitted(file) + 'static_assert(1 + 1 == 3, "one and one");\n')
    with pytest.raises(TilegenError, match="one and one") as caught:
        tilegen.load(file, target="emulator")(np.ones(64, np.float32))
    assert (caught.value.loc.file, caught.value.loc.line) == (str(file), len(file.read_text().splitlines()))


def test_a_fault_is_at_the_users_line(tmp_path):
    file = tmp_path / "edited.cu"
    text = emitted(file)
    wrong = next(line for line in text.splitlines() if "B[" in line and "=" in line)
    file.write_text(text.replace(wrong, wrong + " assert(threadIdx.x < 5);"))
    run = tilegen.load(file, target="emulator")
    with pytest.raises(TilegenError, match="assertion failed") as caught:
        run(np.ones(64, np.float32))
    assert caught.value.loc.file == str(file) and "assert" in file.read_text().splitlines()[caught.value.loc.line - 1]
    file.write_text("// something else\n")               # it no longer is what was run
    with pytest.raises(TilegenError, match="assertion failed") as caught:
        run(np.ones(64, np.float32))
    assert caught.value.loc.file != str(file) and "assert" in caught.value.loc.text()
