"""The command line, as a program: what it prints, where, and its exit status."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tilegen import cli, placement

ROOT = Path(__file__).resolve().parent.parent
GEMM = str(ROOT / "examples" / "06_gemm.py")
SAXPY = str(ROOT / "examples" / "02_saxpy.py")

FACTORY = '''
import tilegen
import tilegen.language as T
print("loading")

@tilegen.jit
def scaled(M, N, factor=2.0, dtype="float32"):
    @T.prim_func
    def kernel(A: T.Tensor((M, N), dtype), B: T.Tensor((M, N), dtype)):
        with T.Kernel(T.ceildiv(N, 32), M, threads=32) as (bx, by):
            for j in T.Parallel(32):
                B[by, bx * 32 + j] = A[by, bx * 32 + j] * factor
    return kernel
'''
TWO = FACTORY + '''
@tilegen.jit
def other(A: T.Tensor[("n",), "float32"], B: T.Tensor[("n",), "float32"]):
    T.assume(n % 24 == 0)
    T.assume(n <= 512)
    with T.Kernel(T.ceildiv(n, 64), threads=64) as bx:
        for i in T.Parallel(64):
            B[bx * 64 + i] = A[bx * 64 + i]
'''


@pytest.fixture(autouse=True)
def no_settings(monkeypatch):
    """Neither the GPU nor the settings of the machine matter."""
    for name in ("TARGET", "ARCH", "KEEP"):
        monkeypatch.delenv(f"TILEGEN_{name}", raising=False)
    monkeypatch.setattr(placement, "can_launch", lambda target: target == "cpu")


@pytest.fixture
def factory(tmp_path):
    file = tmp_path / "scaled.py"
    file.write_text(FACTORY)
    return file


def program(*arguments, stdin="", **environment):
    return subprocess.run([sys.executable, "-m", "tilegen", *map(str, arguments)], input=stdin, capture_output=True,
                          text=True, cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT), **environment})


# ---- emit ----------------------------------------------------------------------------------------
@pytest.mark.parametrize("target, mark", [("cuda", "__global__"), ("hip", "hip_runtime.h"), ("maca", "mc_runtime.h"),
                                          ("cpu", "immintrin.h")])
def test_emit_prints_the_source_only(tilegen, target, mark):
    status, out, err = tilegen("emit", GEMM, "-t", target)
    assert status == 0 and err == ""
    assert out.startswith("// matmul(") and mark in out and f"for {target} " in out.split("\n\n")[0]


def test_emit_takes_values(tilegen):
    status, out, _ = tilegen("emit", GEMM, "-a", "sm_75", "-D", "BM=64", "-D", "M=4000")
    assert status == 0 and "for cuda sm_75" in out
    assert "constexpr int BM = 64;" in out and "constexpr int M = 4000;" in out


def test_emit_to_a_file(tilegen, tmp_path):
    file = tmp_path / "gemm.cpp"
    file.write_text("old")
    assert tilegen("emit", GEMM, "-o", file, "--force") == (0, "", "")
    assert "for cpu avx2" in file.read_text(), "the suffix tells the target"
    assert sorted(f.name for f in tmp_path.iterdir()) == [".tilegen", "gemm.cpp"]
    assert tilegen("emit", GEMM, "-t", "cuda", "-o", file)[0] == 0 and "for cuda" in file.read_text()


def test_a_failing_emit_leaves_the_file_alone(tilegen, tmp_path):
    file = tmp_path / "gemm.cu"
    file.write_text("old")
    assert tilegen("emit", GEMM, "-D", "BM=7000000", "-o", file)[0] == 1
    assert file.read_text() == "old" and len(list(tmp_path.iterdir())) == 1


def test_emit_overwrites_no_hand_edit(tilegen, tmp_path):
    file = tmp_path / "gemm.cu"
    assert tilegen("emit", GEMM, "-o", file)[0] == 0
    assert tilegen("emit", GEMM, "-o", file, "-D", "BM=64")[0] == 0, "what tilegen wrote is its own"
    edited = file.read_text().replace("BM = 64", "BM = 32")
    file.write_text(edited)
    status, _, err = tilegen("emit", GEMM, "-o", file)
    assert status == 1 and "TG0504" in err and "has been edited" in err and "tilegen merge" in err
    assert file.read_text() == edited
    assert tilegen("emit", GEMM, "-o", file, "--force")[0] == 0 and file.read_text() != edited
    other = tmp_path / "notes.cu"
    other.write_text("mine")
    assert "was not emitted by tilegen" in tilegen("emit", GEMM, "-o", other)[2] and other.read_text() == "mine"


def test_an_interrupt_leaves_no_half_written_file(tilegen, tmp_path, monkeypatch):
    def interrupted(source, target):
        raise KeyboardInterrupt
    file = tmp_path / "gemm.cu"
    file.write_text("old")
    monkeypatch.setattr("tilegen.files.os.replace", interrupted)
    status, out, err = tilegen("emit", GEMM, "-o", file, "--force")
    assert status == 130 and out == "" and err.strip() == "interrupted"
    assert file.read_text() == "old" and [f.name for f in tmp_path.iterdir()] == ["gemm.cu"]


def test_emit_levels_and_passes(tilegen):
    status, out, _ = tilegen("emit", GEMM, "--level", "tile")
    assert status == 0 and "T.gemm(A_shared, B_shared, C_local)" in out and "__global__" not in out
    status, planned, _ = tilegen("emit", GEMM, "--stop-after", "plan_copies")
    assert status == 0 and "T.copy(" in planned and planned != out
    assert tilegen("emit", GEMM, "--stop-after", "parse")[1] == out
    status, out, err = tilegen("emit", GEMM, "--stop-after", "plan_copy")
    assert (status, out) == (1, "") and "TG0506" in err and "plan_copies" in err


def test_emit_from_standard_input():
    done = program("emit", "-", "-t", "cuda", stdin=Path(GEMM).read_text())
    assert done.returncode == 0 and done.stdout.startswith("// matmul(") and done.stderr == ""


def test_what_a_file_prints_does_not_reach_the_source(tilegen, factory):
    status, out, err = tilegen("emit", factory, "-D", "M=8", "-D", "N=64", "-t", "cuda")
    assert status == 0 and out.startswith("// scaled(") and err == "loading\n"


@pytest.mark.parametrize("arguments, code, text", [
    (["emit", "none.py"], "TG0504", "none.py"),
    (["emit", GEMM + ":gem"], "TG0505", "matmul"),
    (["emit", str(ROOT / "tilegen" / "errors.py")], "TG0505", "no kernel"),
    (["emit", GEMM, "-t", "cude"], "TG0502", "cuda"),
    (["emit", GEMM, "-a", "sm_81"], "TG0502", "did you mean sm_8"),
    (["emit", GEMM, "-D", "BX=3"], "TG0503", "BX"),
    (["emit", GEMM, "-D", "BM"], "TG0506", "NAME=VALUE"),
    (["emit", GEMM, "-D", "BM=1.5"], "TG0004", "BM"),
    (["emit", GEMM, "-o", "none/gemm.cu"], "TG0504", "none/gemm.cu"),
    (["run", GEMM, "-t", "cuda", "--on", "cpu"], "TG0506", "--on cpu"),
    (["run", GEMM, "-D", "Q=3"], "TG0503", "Q"),
    (["cache", "show", "no such entry"], "TG0506", "no such entry"),
])
def test_mistakes(tilegen, arguments, code, text):
    status, out, err = tilegen(*arguments)
    assert status == 1 and out == "" and f"error[{code}]" in err and text in err


def test_factory_needs_values(tilegen, factory):
    status, _, err = tilegen("emit", factory)
    assert status == 1 and "TG0501" in err and "values for M, N" in err and "-D M=1024 -D N=1024" in err


def test_several_kernels_are_listed(tilegen, tmp_path):
    file = tmp_path / "two.py"
    file.write_text(TWO)
    status, _, err = tilegen("emit", file)
    assert status == 1 and "TG0505" in err and f"{file}:scaled, {file}:other" in err
    assert tilegen("emit", f"{file}:other", "-t", "cuda")[0] == 0


@pytest.mark.parametrize("text, message, line", [
    ("x = (\n", "is not Python", 1), ("\nimport nosuchmodule\n", "ModuleNotFoundError", 2),
    ("def f():\n    return 1 / 0\n\nf()\n", "ZeroDivisionError", 2), ("raise SystemExit(3)\n", "SystemExit", 1)])
def test_a_file_that_fails(tilegen, tmp_path, text, message, line):
    file = tmp_path / "broken.py"
    file.write_text(text)
    status, out, err = tilegen("emit", file)
    assert (status, out) == (1, "") and "error[TG0507]" in err and message in err and f"broken.py:{line}:" in err


def test_wrong_use(tilegen):
    for arguments in (["emit"], ["emot", GEMM], ["emit", GEMM, "--nosuch"], ["emit", GEMM, "--level", "x"],
                      ["cache", "rm"]):
        status, out, err = tilegen(*arguments)
        assert status == 2 and out == "" and "Usage" in err


def test_internal_faults_show_no_traceback(capsys, monkeypatch):
    monkeypatch.setattr("tilegen.kernel_files.find", lambda place: 1 / 0)
    status, err = cli.main(["emit", GEMM]), capsys.readouterr().err
    assert status == 1 and "tilegen itself failed: ZeroDivisionError" in err and "Traceback" not in err
    with pytest.raises(ZeroDivisionError):
        cli.main(["--traceback", "emit", GEMM])


def test_a_reader_that_leaves():
    done = subprocess.run(f"{sys.executable} -m tilegen emit {GEMM} | head -1", shell=True, capture_output=True,
                          text=True, cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT)})
    assert done.stdout.startswith("// matmul(") and done.stderr == ""


def test_unknown_variables_warn():
    done = program("targets", TILEGEN_TARGTE="cpu")
    assert done.returncode == 0 and "warning: tilegen does not read" in done.stderr and "TILEGEN_TARGET" in done.stderr


# ---- run -----------------------------------------------------------------------------------------
def test_run_on_the_cpu(tilegen):
    status, out, err = tilegen("run", GEMM, "-D", "M=100", "-D", "N=70", "-D", "K=50", "-D", "BM=48")
    assert status == 0 and err == ""
    first, time, check = out.splitlines()
    assert first == "matmul for cpu avx2, on the cpu  M=100  K=50  N=70"
    assert "GFLOP/s" in time and "GB/s" in time and check.strip().startswith("C") and "right: worst error" in check


def test_run_in_the_emulator_as_json(tilegen):
    status, out, err = tilegen("run", SAXPY, "-t", "cuda", "-D", "n=1000", "-D", "alpha=3.5", "--json")
    result = json.loads(out)
    assert status == 0 and err == "" and result["ok"] and result["checked"] and result["on"] == "emulator"
    assert result["sizes"] == {"n": 1000} and result["time_us"] is None
    assert [output["name"] for output in result["outputs"]] == ["y"]


def test_run_keeps_conditions_of_the_kernel(tilegen, tmp_path):
    file = tmp_path / "two.py"
    file.write_text(TWO)
    status, out, _ = tilegen("run", f"{file}:other", "--json")
    assert status == 1, "no power of two is a multiple of 24"
    status, out, _ = tilegen("run", f"{file}:other", "-D", "n=48", "--json")
    assert status == 0 and json.loads(out)["sizes"] == {"n": 48}
    status, _, err = tilegen("run", f"{file}:other", "-D", "n=50")
    assert status == 1 and "TG0409" in err and "n = 50" in err


def test_run_a_factory(tilegen, factory):
    status, out, _ = tilegen("run", factory, "-D", "M=8", "-D", "N=dynamic", "-D", "factor=3.0", "--json")
    assert status == 0 and json.loads(out)["sizes"] == {"N": 1024} and json.loads(out)["ok"]


@pytest.mark.parametrize("suffix, place", [(".cu", "emulator"), (".cpp", "cpu")])
def test_run_an_emitted_file(tilegen, factory, suffix, place):
    file = factory.with_suffix(suffix)
    assert tilegen("emit", factory, "-D", "M=8", "-D", "N=dynamic", "-D", "factor=3.0", "-o", file)[0] == 0
    status, out, _ = tilegen("run", file, "-D", "N=50", "--json")
    result = json.loads(out)
    assert status == 0 and result["checked"] and result["ok"] and result["on"] == place
    assert result["sizes"] == {"N": 50}


def test_a_wrong_file_is_found_out(tilegen, factory):
    file = factory.with_suffix(".cpp")
    tilegen("emit", factory, "-D", "M=8", "-D", "N=64", "-o", file)
    assert "constexpr float factor = 2.0f;" in file.read_text()
    file.write_text(file.read_text().replace(") * factor)", ") * (factor + 0.25f))"))
    status, out, err = tilegen("run", file)
    assert status == 1 and "WRONG" in out and "error[TG0703]" in err and "the first at [0, 0]" in err


def test_a_file_whose_python_has_moved_on_is_told(tilegen, factory):
    file = factory.with_suffix(".cpp")
    arguments = ("-D", "M=8", "-D", "N=64")
    tilegen("emit", factory, *arguments, "-o", file)
    file.write_text(file.read_text().replace("constexpr float factor = 2.0f;", "constexpr float factor = 3.0f;"))
    assert "has changed since" not in tilegen("run", file)[1], "an edited knob is no change of the Python"
    factory.write_text("# one more line\n" + factory.read_text())
    assert "has changed since" not in tilegen("run", file)[1], "nor are lines that have moved"
    factory.write_text(factory.read_text().replace("* factor", "* factor * 1.0"))
    status, out, _ = tilegen("run", file)
    assert status == 0 and f"{factory} has changed since {file} was emitted" in out and "right" in out


def test_a_file_without_its_kernel_is_only_run(tilegen, factory, tmp_path):
    (tmp_path / "elsewhere").mkdir()
    file = tmp_path / "elsewhere" / "scaled.cpp"
    tilegen("emit", factory, "-D", "M=8", "-D", "N=64", "-o", file)
    status, out, _ = tilegen("run", file)
    assert status == 0 and "not checked" in out and "--against" in out
    status, out, _ = tilegen("run", file, "--against", factory)
    assert status == 0 and "right" in out
    assert "TG0505" in tilegen("run", file, "--against", GEMM)[2]
    assert "TG0506" in tilegen("run", file, "-t", "cuda")[2]


# ---- The rest ------------------------------------------------------------------------------------
def test_explain(tilegen):
    status, out, _ = tilegen("explain", GEMM, "-t", "cuda")
    assert status == 0 and "T.gemm(A_shared, B_shared, C_local)" in out and "gemm: " in out
    decisions = json.loads(tilegen("explain", GEMM, "--json")[1])
    assert {"subject", "reason", "place", "text"} == set(decisions[0])
    assert any(d["place"].startswith("06_gemm.py:") and d["subject"] == "copy" for d in decisions)


def test_targets(tilegen):
    found = {row["target"]: row for row in json.loads(tilegen("targets", "--json")[1])}
    assert set(found) == {"cuda", "hip", "maca", "cpu"} and found["cpu"]["runs_here"]
    assert found["cuda"]["archs"][0] == "sm_80" and found["cuda"]["suffix"] == ".cu"
    assert "gfx942" in tilegen("targets")[1]


def test_doctor(tilegen):
    checks = {check["name"]: check for check in json.loads(tilegen("doctor", "--json")[1])}
    assert checks["Python"]["ok"] and "cache" in checks
    assert all(check["ok"] or check["fix"] for check in checks.values())
    assert "Python" in tilegen("doctor")[1]


def test_cache(tilegen, monkeypatch, tmp_path):
    monkeypatch.setenv("TILEGEN_CACHE_DIR", str(tmp_path / "store"))
    assert tilegen("cache", "path")[1].strip() == str(tmp_path / "store")
    assert tilegen("run", SAXPY, "-t", "cpu", "-D", "n=100")[0] == 0
    entry, = json.loads(tilegen("cache", "ls", "--json")[1])
    assert entry["name"].startswith("saxpy-cpu-avx2-") and entry["bytes"] > 1000
    assert "saxpy.cpp" in tilegen("cache", "show", "saxpy")[1]
    assert "saxpy" in tilegen("cache", "ls", "saxpy")[1] and "saxpy" not in tilegen("cache", "ls", "matmul")[1]
    assert tilegen("cache", "rm", "saxpy")[1].startswith("removed 1 entries")
    assert json.loads(tilegen("cache", "ls", "--json")[1]) == []


def test_help(tilegen):
    for verb in ("emit", "run", "explain", "targets", "doctor", "cache"):
        assert verb in tilegen("--help")[1]
        status, out, _ = tilegen(verb, "--help")
        assert status == 0 and "Usage: tilegen" in out
    assert tilegen("--version")[1].strip().endswith("0.1.0")
