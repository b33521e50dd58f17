"""The tour of the hand-tweak loop, from a kernel to a merged file, on the CPU and in the emulator."""

import json
import re
import shutil
from pathlib import Path

import numpy
import pytest

import tilegen as package
from tilegen import kernel_files, placement
from tilegen.racing import limits

ROOT = Path(__file__).resolve().parent.parent
SHAPE = "M=150,N=70,K=90"
SIZES = tuple(word for size in SHAPE.split(",") for word in ("-D", size))


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(limits, "_BUDGET", 0.05)
    shutil.copy(ROOT / "examples" / "06_gemm.py", "gemm.py")
    return tmp_path


def replace(path, *changes):
    text = Path(path).read_text()
    for old, new in changes:
        assert old in text, f"{old!r} is not in {path}"
        text = text.replace(old, new, 1)
    Path(path).write_text(text)


def line_of(path, words):
    return 1 + next(n for n, line in enumerate(Path(path).read_text().splitlines()) if words in line)


@pytest.mark.parametrize("target, file, place, knob", [
    ("cuda", "matmul.cu", "emulator", ("BN = 128;", "BN = 64; ")),
    pytest.param("cuda", "matmul.cu", "gpu", ("BN = 128;", "BN = 64; "), marks=pytest.mark.gpu),
    ("cpu", "matmul.cpp", "cpu", ("BN = 1024;", "BN = 512; "))])
def test_the_tour(folder, tilegen, target, file, place, knob):
    # emit, and call it by the file
    assert tilegen("emit", "gemm.py", "-t", target, "-o", file) == (0, "", "")
    shutil.copy(file, f"emitted{Path(file).suffix}")
    kernel = kernel_files.find("gemm.py").__wrapped__
    matmul = package.jit(kernel, source=Path(file).resolve())
    assert matmul.source == Path(file).read_text()
    # turn a knob in the file: it is loaded again, and grid and memory follow
    before = package.load(file, target=place if place == "emulator" else None)
    replace(file, knob)
    width = int(re.search(r"\d+", knob[1])[0])
    assert matmul.source == Path(file).read_text(), "the file is loaded again"
    after = package.load(file, target=place if place == "emulator" else None)
    A, B = (numpy.random.default_rng(0).random(shape, "float32") for shape in ((150, 90), (90, 70)))
    C = numpy.zeros((150, 70), "float32")
    after(A, B, C)
    assert numpy.allclose(C, A @ B, rtol=1e-4)
    sizes = {"M": 150, "N": 2000, "K": 90}
    old, new = (one.contract.geometries(sizes)[0] for one in (before, after))
    assert new.grid[0] > old.grid[0] and (new.shared < old.shared or target == "cpu")
    # check and race
    status, out, _ = tilegen("check", file, "--shape", SHAPE, "--on", place)
    assert status == 0 and ("C right" in out or "C equal" in out)
    peer = "numpy" if target == "cpu" else "cublas"
    status, out, err = tilegen("bench", file, "gemm.py", "--peers", peer, "--rounds", 6, "--json", *SIZES)
    if place != "emulator":
        library = {"cpu": "NumPy", "gpu": "cuBLAS"}[place]
        assert status == 0 and [row["name"] for row in json.loads(out)] == [file, "gemm.py", library], err
    elif placement.gpu() is None:
        assert status == 1 and "whose time says nothing" in err
    # break a barrier, or where there is none, a guard: the check names the line
    text = Path(file).read_text()
    if target == "cuda":
        Path("broken.cu").write_text(re.sub(r".*__syncthreads\(\);  // why: stage ko.*\n", "", text))
        status, out, err = tilegen("check", "broken.cu", "--shape", SHAPE)
        at = f"gemm.py:{line_of('gemm.py', 'T.gemm(')}"
    else:
        Path("broken.cpp").write_text(text.replace("row, col)), columns - col)", "row, col)), LANES)"))
        status, out, err = tilegen("check", "broken.cpp", "--shape", SHAPE, "--sanitize")
        at = f"gemm.py:{line_of('gemm.py', 'T.copy(C_local')}"
    assert Path(f"broken{Path(file).suffix}").read_text() != text
    assert status == 1 and "error[TG0601]" in err and at in out
    # the Python moves on: the merge keeps the edit, and diff lists both
    python = {"cuda": ("BM=T.by_target(128", "BM=T.by_target(64"), "cpu": ("cpu=480", "cpu=240")}[target]
    replace("gemm.py", python)
    status, out, err = tilegen("run", file, "--on", place, *SIZES)
    assert status == 0 and "gemm.py has changed since" in out, err
    status, out, err = tilegen("merge", file, "-o", file)
    assert status == 0 and f"BN = {width}" in err and f"-D BN={width}" in err
    status, out, _ = tilegen("diff", f"emitted{Path(file).suffix}", file, "--json", "--no-resources")
    rows = {row["name"]: (row["old"], row["new"]) for row in json.loads(out)["knobs"]}
    tall = {"cuda": ("128", "64"), "cpu": ("480", "240")}[target]
    assert rows["BM"] == tall and rows["BN"] == (re.search(r"\d+", knob[0])[0], str(width)) and status == 1
    # and what came out is right, and no longer behind its Python
    status, out, _ = tilegen("run", file, "--on", place, *SIZES)
    assert status == 0 and "C      right" in out and "has changed since" not in out
