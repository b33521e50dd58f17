"""Emitted files that are called without tilegen: from C, and through CuPy alone."""

import re
import runpy
import shutil
import subprocess
import sys
import types
from pathlib import Path

import numpy
import operations_launches
import pytest

import tilegen as package
from tilegen import kernel_files
from tilegen.build import nvcc
from tilegen.errors import TilegenError
from tilegen.hosting import c, loader
from tilegen.hosting.spelling import in_c, in_python
from tilegen.runtime.contract import read_contract
from tilegen.runtime.expressions import evaluate

ROOT = Path(__file__).resolve().parent.parent
EXPRESSIONS = ["ceildiv(N, 64)", "2 * N * (M + 3) * 4", "N - (M - 3)", "N / M / 2", "N / (M / 2)", "N % 8 == 0 && M > 3 || !N",
               "min(N, M) + max(N, M)", "N > M ? N : M + 1", "(N > M ? 2 : 3) * M", "1 << (N & 3)", "N & M == 5", "-N + ~M",
               "floor_modulo(N, 4) < 3 == (M < 100)", "ceildiv(ceildiv(N, 2), 3)"]
MAIN = """
#include "matmul.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

int main(void)
{
    enum { M = 70, K = 50, N = 90 };
    static float A[M * K], B[K * N], C[M * N];
    for (int i = 0; i < M * K; ++i) A[i] = rand() % 7 - 3;
    for (int i = 0; i < K * N; ++i) B[i] = rand() % 5 - 2;
    if (matmul(A, B, C, M, K, N)) return puts("refused"), 1;
    for (int m = 0; m < M; ++m)
        for (int n = 0; n < N; ++n) {
            float sum = 0;
            for (int k = 0; k < K; ++k) sum += A[m * K + k] * B[k * N + n];
            if (fabsf(sum - C[m * N + n]) > 1e-3f) return puts("wrong"), 1;
        }
    return puts("right"), 0;
}
"""


@pytest.mark.parametrize("text", EXPRESSIONS)
def test_expressions_keep_their_values(text):
    """C and Python with the fewest parentheses mean what the contract means."""
    for values in ({"N": 100, "M": 7}, {"N": 3, "M": 5}, {"N": 0, "M": 64}):
        wanted = evaluate(text, values.__getitem__)
        assert int(eval(in_python(text), {}, dict(values))) == wanted
        assert evaluate(in_c(text), values.__getitem__) == wanted


def test_expressions_have_few_parentheses():
    assert in_c("2 * STAGES * (BM + 1) + K % 8") == "2 * STAGES * (BM + 1) + K % 8"
    assert in_c("K % 8 == 0") == "K % 8 == 0" and in_python("ceildiv(N, BN)") == "-(-N // BN)"


@pytest.fixture
def folder(tmp_path, tilegen, monkeypatch):
    monkeypatch.chdir(tmp_path)
    shutil.copy(ROOT / "examples" / "06_gemm.py", "gemm.py")
    return tmp_path


def run(*command):
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.skipif(not shutil.which("g++"), reason="needs g++ and gcc")
def test_a_c_program_calls_the_kernel(folder, tilegen):
    assert tilegen("emit", "gemm.py", "-t", "cpu", "-o", "matmul.cpp", "--host", "c") == (0, "", "")
    Path("main.c").write_text(MAIN)
    line = next(line for line in Path("matmul_host.cpp").read_text().splitlines() if "g++" in line)
    run(*line.removeprefix("//").split(), "-Wall", "-Wextra", "-Werror")
    run("gcc", "-std=c99", "-Wall", "-Wextra", "-Werror", "-c", "main.c")
    run("g++", "-fopenmp", "main.o", "matmul_host.o", "-lm", "-o", "main")
    assert run("./main") == "right\n"


@pytest.mark.skipif(not shutil.which("nvcc"), reason="needs nvcc")
@pytest.mark.parametrize("example, arch", [("06_gemm", "sm_80"), ("02_saxpy", "sm_80"), ("09_gemm_tensor_core", "sm_90a"),
                                           ("24_int4_dequant_gemm", "sm_80")])
def test_nvcc_compiles_the_launcher(folder, tilegen, example, arch):
    assert tilegen("emit", ROOT / "examples" / f"{example}.py", "-t", "cuda", "-a", arch, "-o", "kernel.cu", "--host",
                   "c")[0] == 0
    kind = f"arch=compute_{arch[3:]},code={arch}"
    run(nvcc.find().command, "-gencode", kind, "-Werror", "all-warnings", "-Xptxas", "-v", "-c", "kernel_host.cu")
    names = run("nm", "kernel_host.o")
    assert f" T {read_contract(Path('kernel.cu').read_text()).entry}\n" in names


def test_a_launcher_for_every_example():
    """Every committed file of every target has a launcher, with one function named as its kernel."""
    for path in sorted((ROOT / "generated").glob("*/*.*")):
        contract = read_contract(path.read_text())
        header, launcher = c.files(contract, path.name).values()
        for text in (header, launcher):
            assert text.count(f"int {contract.entry}(") == 1
            assert max(map(len, text.splitlines())) <= 120 and "\n\n\n" not in text


def test_workspaces_are_the_callers():
    text = package.jit(operations_launches.split_depth).emit("cuda", splits=3)
    contract = read_contract(text)
    header, launcher = c.files(contract, "split.cu").values()
    assert "void* partial, int M" in header and "size_t split_depth_partial_bytes(int M, int K, int N);" in header
    assert "return (size_t)4 * splits * M * N;" in launcher and launcher.count("<<<") == 2
    python = loader.text_of(contract, "split.cu")
    assert 'partial = cupy.empty((splits, M, N), "float32")' in python and python.count("get_function") == 2


# ---- CuPy alone ----------------------------------------------------------------------------------
@pytest.fixture
def cupy(monkeypatch):
    """A CuPy on host memory, whose kernels run in the emulator, launched as the loader asks."""
    module = types.ModuleType("cupy")
    module.launches = []

    class RawModule:
        def __init__(self, code, options):
            self.code = code

        def get_function(self, name):
            def launch(grid, block, arguments, shared_mem):
                contract = read_contract(self.code)
                one, = [one for one in contract.launches if one.entry == name]
                values = dict(zip(one.arguments, arguments))
                names = [p.name for p in contract.params] + list(contract.sizes)
                module.launches.append((grid, block, shared_mem, kernel.max_dynamic_shared_size_bytes))
                sizes = {names[i]: int(value) for i, value in values.items() if names[i] in contract.sizes}
                wanted = contract.geometries(sizes)[contract.launches.index(one)]
                assert (tuple(grid) + (1, 1))[:3] == wanted.grid and (tuple(block) + (1, 1))[:3] == wanted.block
                assert shared_mem == wanted.shared <= max(48 * 1024, kernel.max_dynamic_shared_size_bytes)
                package.load(self.code, target="emulator")(*[values[i] for i, p in enumerate(contract.params)])
            kernel = types.SimpleNamespace(max_dynamic_shared_size_bytes=0)

            class Function:
                def __call__(self, *args, **named):
                    launch(*args, **named)

                def __setattr__(self, name, value):
                    setattr(kernel, name, value)
            return Function()
    module.RawModule, module.empty = RawModule, numpy.empty
    for name in ("int32", "float32"):
        setattr(module, name, getattr(numpy, name))
    monkeypatch.setitem(sys.modules, "cupy", module)
    return module


def test_the_loader_follows_the_file(folder, tilegen, cupy):
    assert tilegen("emit", "gemm.py", "-t", "cuda", "-o", "matmul.cu", "--loader") == (0, "", "")
    text = Path("matmul_loader.py").read_text()
    assert len(text.splitlines()) < 40 and [line for line in text.splitlines() if "import" in line] == [
        "import pathlib", "import re", "import cupy"]
    A, B = (numpy.random.default_rng(0).random(shape, "float32") for shape in ((100, 50), (50, 70)))
    C = runpy.run_path("matmul_loader.py")["matmul"](A, B)
    assert numpy.allclose(C, A @ B, rtol=1e-4)
    Path("matmul.cu").write_text(Path("matmul.cu").read_text().replace("constexpr int BN = 128;", "constexpr int BN = 64;"))
    again = runpy.run_path("matmul_loader.py")["matmul"]
    assert again(A, B, C) is C and numpy.allclose(C, A @ B, rtol=1e-4)
    assert cupy.launches[0][2] > cupy.launches[1][2] > 48 * 1024, "less shared memory for smaller tiles"
    with pytest.raises(AssertionError):
        again(A, A)


def test_a_loader_for_every_example_that_cupy_can_launch():
    for path in sorted((ROOT / "generated" / "cuda").glob("*.cu")):
        contract = read_contract(path.read_text())
        if any(p.box for p in contract.params):
            with pytest.raises(TilegenError, match="TG0506"):
                loader.text_of(contract, path.name)
        else:
            compile(loader.text_of(contract, path.name), path.name, "exec")


def test_files_beside_an_edited_file(folder, tilegen):
    tilegen("emit", "gemm.py", "-t", "cuda", "-o", "matmul.cu")
    edited = Path("matmul.cu").read_text().replace("constexpr int BN = 128;", "constexpr int BN = 64;")
    Path("matmul.cu").write_text(edited)
    assert tilegen("emit", "matmul.cu", "--host", "c", "--loader") == (0, "", "")
    assert Path("matmul.cu").read_text() == edited
    assert {"matmul.h", "matmul_host.cu", "matmul_loader.py"} <= {path.name for path in folder.iterdir()}


@pytest.mark.parametrize("arguments, words", [
    (("gemm.py", "--host", "c"), "name it: -o"), (("gemm.py", "--loader", "-t", "cpu", "-o", "m.cpp"), "does not launch cpu")])
def test_mistakes(folder, tilegen, arguments, words):
    status, _, err = tilegen("emit", *arguments)
    assert status == 1 and "TG0506" in err and words in err


# ---- #line ---------------------------------------------------------------------------------------
def test_line_directives_lead_to_the_python(folder, tilegen):
    assert tilegen("emit", "gemm.py", "-t", "cuda", "--line-directives", "-o", "matmul.cu") == (0, "", "")
    lines = Path("matmul.cu").read_text().split("\n")
    python = Path("gemm.py").read_text().split("\n")
    code = next(n for n, line in enumerate(lines) if "C_local[r][c] +=" in line)
    number = int(lines[code - 1].split()[1])
    assert lines[code - 1] == f'#line {number} "gemm.py"' and "T.gemm" in python[number - 1]
    back = next(n for n, line in enumerate(lines) if line.startswith('#line') and "matmul.cu" in line)
    assert lines[back] == f'#line {back + 2} "matmul.cu"' and lines[back + 1] == "}"
    plain = kernel_files.find("gemm.py").emit("cuda").split("\n")
    def kernel(text):
        return text[text.index(next(line for line in text if "The kernel ---" in line)):text.index("}")]
    assert kernel([line for line in lines if not line.startswith("#line")]) == kernel(plain)
    first, last = read_contract("\n".join(lines)).line_map[str(number)]
    assert first <= code + 1 <= last, "the contract's map counts the directives"
    assert "--line-directives" in "\n".join(lines[:8])


@pytest.mark.parametrize("target, file, place", [("cuda", "matmul.cu", "emulator"), ("cpu", "matmul.cpp", "cpu")])
def test_files_with_line_directives_run(folder, tilegen, target, file, place):
    tilegen("emit", "gemm.py", "-t", target, "--line-directives", "-o", file)
    assert tilegen("run", file, "--on", place, "-D", "M=70", "-D", "N=50", "-D", "K=90")[0] == 0
    text = Path(file).read_text()
    line = 1 + next(n for n, line in enumerate(Path("gemm.py").read_text().splitlines()) if "T.gemm" in line)
    Path(file).write_text(re.sub(rf'(#line {line} "gemm.py"\n *)', r"\g<1>undefined_name(); ", text, count=1))
    status, _, err = tilegen("run", file, "--on", place)
    assert status == 1 and f"gemm.py:{line}" in err and "undefined_name" in err


def test_nvrtc_speaks_of_the_python(folder, tilegen):
    tilegen("emit", "gemm.py", "-t", "cuda", "--line-directives", "-o", "matmul.cu")
    Path("matmul.cu").write_text(Path("matmul.cu").read_text().replace("C_local[r][c] +=", "C_lokal +="))
    with pytest.raises(TilegenError) as caught:
        package.load("matmul.cu", compiler="nvrtc").artifact
    assert caught.value.code == "TG0302" and caught.value.loc.file == "gemm.py" and "T.gemm" in caught.value.loc.text()
