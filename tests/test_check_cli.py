"""`tilegen check`: planted faults are found at their lines, right files pass, and wrong numbers are traced."""

import json
import os
import re
import shlex
import shutil
import subprocess
from pathlib import Path

import numpy
import pytest
from planted.faults import FAULTS, NATIVE, ROOT, SUFFIXES, WRONG_SWIZZLE, emitted

from tilegen import candidate, debugging, kernel_files, placement
from tilegen.check import compare, rule
from tilegen.checking.guarded import unchecked_edits
from tilegen.checking.shapes import extents_of, shapes
from tilegen.checking.shared_names import SharedNames
from tilegen.checking.tiles import tile_of
from tilegen.dtypes import float32, int32
from tilegen.runtime import emulated, load
from tilegen.runtime.contract import read_contract
from tilegen.runtime.emulator import Fault, Report

EXAMPLES = ROOT / "examples"
GENERATED = ROOT / "generated"


@pytest.fixture(autouse=True)
def no_gpu(monkeypatch):
    monkeypatch.setattr(placement, "can_launch", lambda target: target == "cpu")


@pytest.fixture
def checked(tilegen):
    """The status of `tilegen check --json`, and its data."""
    def call(*arguments):
        status, out, err = tilegen("check", *arguments, "--json")
        return status, json.loads(out) if out else err
    return call


def reference(example, **values):
    kernel = kernel_files.find(str(EXAMPLES / f"{example}.py"))
    return kernel.specialize(**values).specialised("cuda", "sm_80").kernel


def python_line(place):
    """The text at `06_gemm.py:19`."""
    name, _, number = place.partition(":")
    return (EXAMPLES / name).read_text().splitlines()[int(number) - 1]


def contract_of(example):
    return read_contract(emitted(example), f"{example}.cu")


# ---- Planted faults ------------------------------------------------------------------------------
@pytest.mark.parametrize("planted", FAULTS, ids=lambda p: p.name)
def test_a_planted_fault_is_found(checked, tmp_path, planted):
    status, found = checked(planted.write(tmp_path), "--against", planted.python_file, "--shape", planted.shape)
    assert status == 1 and not found["ok"]
    fault = next(f for f in found["faults"] if planted.message in f["message"])
    assert planted.lines() & {fault["line"], *fault["called_from"]}
    assert fault["python"] in planted.python_places()
    assert fault["other"] is None or fault["other"]["python"].startswith(planted.python_file.name)
    assert len(fault["block"]) == len(fault["thread"]) == 3 and fault["met"]


@pytest.mark.parametrize("planted", NATIVE, ids=lambda p: p.name)
def test_a_planted_fault_of_a_cpp_file_is_found_by_the_sanitizers(checked, tmp_path, planted):
    status, found = checked(planted.write(tmp_path), "--against", planted.python_file, "--shape", planted.shape,
                            "--sanitize")
    fault, = found["faults"]
    assert status == 1 and planted.message in fault["message"] and fault["line"] in planted.lines()
    assert fault["python"] in planted.python_places()


def test_wrong_numbers_are_traced_to_their_writer(checked, tilegen, tmp_path):
    file = WRONG_SWIZZLE.write(tmp_path)
    arguments = (file, "--against", WRONG_SWIZZLE.python_file, "--shape", WRONG_SWIZZLE.shape, "--order", "forward")
    status, found = checked(*arguments)
    output, = found["shapes"][0]["outputs"]
    assert status == 1 and not found["faults"] and not output["ok"]
    assert 0.4 < output["wrong"] / output["total"] <= 0.5 and output["error"] > output["allowed"]
    first = output["first"]
    assert first["index"][0] == 64 and first["tile"] == [0, 0, 0] and first["block"] == [0, 0, 0]
    assert WRONG_SWIZZLE.lines() & {first["line"], *first["called_from"]}
    assert first["python"] in WRONG_SWIZZLE.python_places()
    status, out, err = tilegen("check", *arguments)
    assert status == 1 and "error[TG0703]: matmul is wrong in 1 of 1 shapes" in err
    assert "C WRONG in" in out and "in the tile of block (0, 0, 0), at [64, 0] of it" in out
    assert "written by thread (0, 0, 0) of block (0, 0, 0)" in out and "T.copy(C_local, C[by * BM, bx * BN])" in out
    assert re.search(r"tolerance of C, at most: \|r - e\| <= 1.\de-05 .* 1e-06 sqrt\(32 terms in float32\)", out)


def test_what_nobody_writes_is_said_to_be_unwritten(tilegen, tmp_path):
    file = tmp_path / "edited.cu"
    text = emitted("01_add")
    file.write_text(text.replace("bx * BN + j < N)", "bx * BN + j < N - 1)"))
    status, out, _ = tilegen("check", file, "--against", EXAMPLES / "01_add.py", "--shape", "M=2,N=5",
                             "--order", "forward")
    assert status == 1 and "C WRONG in 2 of 10 elements (20 %), the first at [0, 4]: nan instead of" in out
    assert "no thread wrote it" in out and "in the tile of block (0, 0, 0), at [0, 4] of it" in out


DEADLOCK = """
__device__ int helper(int x)
{
    if (threadIdx.x == 5)
        __syncwarp();
    else
        __syncthreads();
    return x + threadIdx.x;
}
"""


def test_a_deadlock_is_followed_out_of_its_helper(checked, tmp_path):
    """The thread that is reported does not run then: its calls are read from where it waits."""
    file = tmp_path / "edited.cu"
    text = emitted("01_add").replace("// ---- The kernel", DEADLOCK + "// ---- The kernel")
    file.write_text(text.replace("const int bx = blockIdx.x,", "const int bx = helper(blockIdx.x) - threadIdx.x,"))
    status, found = checked(file, "--against", EXAMPLES / "01_add.py", "--shape", "M=8,N=8", "--order", "forward")
    fault, = found["faults"]
    lines = file.read_text().splitlines()
    assert status == 1 and fault["message"].startswith("deadlock: ")
    assert lines[fault["line"] - 1].strip() in ("__syncwarp();", "__syncthreads();")
    assert [lines[line - 1].strip()[:25] for line in fault["called_from"]] == ["const int bx = helper(blo"]
    assert "T.Kernel(" in python_line(fault["python"])


# ---- Files that are right ------------------------------------------------------------------------
@pytest.mark.parametrize("target", SUFFIXES)
def test_a_right_file_passes_in_every_shape_and_order(checked, tmp_path, target):
    file = tmp_path / f"right{SUFFIXES[target]}"
    file.write_text(emitted("03_transpose", target))
    status, found = checked(file, "--against", EXAMPLES / "03_transpose.py")
    names = {s["shape"] for s in found["shapes"]}
    assert status == 0 and found["ok"] and not found["faults"] and found["against"].startswith("03_transpose.py:")
    assert {"whole tiles", "ragged", "one element", "no M", "no N"} <= names
    assert all(s["ok"] and not s["refused"] for s in found["shapes"])
    assert found["orders"] == (["native"] if target == "cpu" else ["forward", "reverse", "random"])


def test_an_edited_knob_is_compared_with_the_same_meaning(checked, tmp_path):
    """BN bounds N in softmax: the interpreter has to know the new one."""
    (tmp_path / "04_softmax.py").write_text((EXAMPLES / "04_softmax.py").read_text())
    file = tmp_path / "edited.cu"
    text = emitted("04_softmax")
    file.write_text(re.sub(r"constexpr int BN = 8192;", "constexpr int BN = 2048;", text))
    status, found = checked(file, "--order", "random")
    assert status == 0 and found["against"], "the Python file beside it is found"
    assert {s["sizes"]["N"] for s in found["shapes"]} >= {2048, 8, 0}
    assert all(s["sizes"]["N"] <= 2048 for s in found["shapes"])
    assert "2048 terms" in found["shapes"][0]["outputs"][0]["rule"]


def test_without_its_kernel_only_faults_are_looked_for(tilegen, tmp_path):
    file = tmp_path / "transpose.cu"
    file.write_text(emitted("03_transpose"))
    status, out, _ = tilegen("check", file, "--shape", "M=40,N=33")
    assert status == 0 and "only faults are looked for" in out and "name it by --against" in out
    assert "given: M=40 N=33  no faults" in out
    file.write_text(FAULTS[0].text())
    status, out, err = tilegen("check", file, "--shape", "M=40,N=33")
    assert status == 1 and "FAULT" in out and "error[TG0601]" in err and "fault 1: reads shared address" in out


CONSTANT = '''
import tilegen
import tilegen.language as T

@tilegen.jit
def total(A: T.Tensor[(300,), "float32"], B: T.Tensor[(1,), "float32"]):
    with T.Kernel(5, threads=64) as bx:
        for i in T.Parallel(64):
            if bx * 64 + i < 300:
                T.atomic_add(B[0], A[bx * 64 + i])
'''


def test_constant_sizes_and_results_that_depend_on_the_order(tilegen, tmp_path):
    (tmp_path / "total.py").write_text(CONSTANT)
    file = tmp_path / "total.cu"
    assert tilegen("emit", tmp_path / "total.py", "-t", "cuda", "-o", file)[0] == 0
    status, out, _ = tilegen("check", file)
    assert "as emitted:" in out and "B right" in out and "B depends on the order of threads" in out and status == 0


def test_bank_conflicts_are_listed(tilegen, tmp_path):
    file = tmp_path / "edited.cu"
    text = emitted("03_transpose")
    file.write_text(re.sub(r"\[BT \+ \w+\]|\[BT\]\[BT\]", lambda m: m[0] if "+" not in m[0] else "[BT]", text))
    status, out, _ = tilegen("check", file, "--shape", "M=64,N=64", "--order", "forward")
    assert status == 0 and re.search(r"edited\.cu:\d+  read of 4 bytes, 32 ways on average, 32 at worst  "
                                     r"\(03_transpose\.py:\d+\)\n +.*= s\.tile\[", out)


def test_both_accesses_are_followed_to_the_kernel(checked, tmp_path):
    """Both lie in helpers, which several lines of the kernel call."""
    planted = next(p for p in FAULTS if p.name.startswith("a wait"))
    _, found = checked(planted.write(tmp_path), "--shape", planted.shape, "--order", "forward",
                       "--against", planted.python_file)
    text = planted.text().splitlines()
    fault = found["faults"][0]
    assert any("&s.A_shared[stage][row][col]" in text[line - 1] for line in fault["other"]["called_from"])
    assert "T.copy(A[" in python_line(fault["other"]["python"]) and "T.gemm(" in python_line(fault["python"])


def test_edits_that_the_emulator_cannot_see_are_named(tilegen, tmp_path):
    file = tmp_path / "edited.cu"
    text = emitted("04_softmax")
    assert unchecked_edits(text, contract_of("04_softmax"), reference("04_softmax")) == []
    changed = text.replace("__shfl_xor_sync(0xffffffff, x, offset)", "__shfl_xor_sync(0x7fffffff, x, offset)")
    line = 1 + changed[:changed.index("0x7fffffff")].count("\n")
    file.write_text(changed)
    status, out, _ = tilegen("check", file, "--against", EXAMPLES / "04_softmax.py", "--shape", "M=1,N=64")
    assert status == 0 and f"what was changed in line {line} is not checked" in out


# ---- The command line ----------------------------------------------------------------------------
@pytest.mark.parametrize("arguments, code, text", [
    (["none.cu"], "TG0504", "none.cu"),
    ([str(EXAMPLES / "06_gemm.py")], "TG0701", "launch contract"),
    ([str(GENERATED / "cuda" / "06_gemm.cu"), "--on", "cpu"], "TG0506", "--on cpu"),
    ([str(GENERATED / "cpu" / "06_gemm.cpp"), "--on", "emulator"], "TG0506", "--on emulator"),
    ([str(GENERATED / "cuda" / "06_gemm.cu"), "--on", "gpu", "--sanitize"], "TG0506", "--sanitize"),
    ([str(GENERATED / "cuda" / "06_gemm.cu"), "--against", str(EXAMPLES / "01_add.py")], "TG0505", "matmul"),
    ([str(GENERATED / "cuda" / "01_add.cu"), "-D", "Q=3"], "TG0503", "Q"),
    ([str(GENERATED / "cuda" / "01_add.cu"), "--shape", "M=3"], "TG0501", "lacks N"),
    ([str(GENERATED / "cuda" / "01_add.cu"), "--shape", "M=3,Q=3"], "TG0503", "Q"),
    ([str(GENERATED / "cuda" / "01_add.cu"), "--shape", "M"], "TG0506", "--shape M is not NAME=VALUE"),
    ([str(GENERATED / "cuda" / "04_softmax.cu"), "--shape", "M=3,N=9000"], "TG0409", "N <= BN"),
    ([str(GENERATED / "cuda" / "04_softmax.cu"), "-D", "N=9000"], "TG0409", "N <= BN"),
])
def test_mistakes(tilegen, arguments, code, text):
    status, out, err = tilegen("check", *arguments)
    assert status == 1 and out == "" and f"error[{code}]" in err and text in err


def test_on_a_gpu_results_are_compared(checked, monkeypatch, tmp_path):
    """With the emulator in the place of the driver."""
    monkeypatch.setitem(load.BACKENDS, "cuda", emulated.backend())
    arguments = ("--against", EXAMPLES / "03_transpose.py", "--on", "gpu", "--shape", "M=40,N=33",
                 "--shape", "M=0,N=3")
    status, found = checked(GENERATED / "cuda" / "03_transpose.cu", *arguments)
    assert status == 0 and found["on"] == "gpu" and found["orders"] == ["gpu"] and len(found["shapes"]) == 2
    status, found = checked(FAULTS[3].write(tmp_path), *arguments)
    assert status == 1 and "[TG0601]" in found["faults"][0]["message"]


def test_an_endless_kernel_is_stopped_once(tilegen, monkeypatch):
    endless = Report(fault=Fault("no end in sight: still running after 60 s"))
    monkeypatch.setattr(emulated.EmulatedKernel, "attempt", lambda *_, **__: endless)
    status, out, _ = tilegen("check", GENERATED / "cuda" / "01_add.cu", "--shape", "M=2,N=2", "--shape", "M=3,N=2")
    assert status == 1 and out.count("met with") == 1 and "did not end with an earlier shape" in out


def test_an_unknown_order_is_a_wrong_use(tilegen):
    status, out, err = tilegen("check", GENERATED / "cuda" / "01_add.cu", "--order", "sideways")
    assert status == 2 and out == "" and "forward, reverse, random" in err


def test_given_sizes_stay(checked):
    status, found = checked(GENERATED / "cuda" / "02_saxpy.cu", "--against", EXAMPLES / "02_saxpy.py", "-D", "n=77",
                            "-D", "alpha=2.0", "--order", "reverse")
    assert status == 0 and [s["sizes"] for s in found["shapes"]] == [{"n": 77}]


# ---- Its parts -----------------------------------------------------------------------------------
def test_shapes_know_the_tiles_of_grid_and_loops():
    contract, kernel = contract_of("06_gemm"), reference("06_gemm")
    extents = extents_of(contract, kernel)
    assert (extents["M"].tile, extents["N"].tile, extents["K"].tile) == (128, 128, 32)
    assert extents["M"].blocks and not extents["K"].blocks
    found = {shape.name: shape.sizes for shape in shapes(contract, kernel, {})}
    assert found["whole tiles"] == {"M": 256, "N": 256, "K": 128}
    assert all(size % 128 for size in (found["ragged"]["M"], found["ragged"]["N"])) and found["ragged"]["K"] % 32
    assert found["no K"]["K"] == 0 and found["one element"] == {"M": 1, "N": 1, "K": 1}
    assert all(shape.sizes["N"] <= 8192 for shape in shapes(contract_of("04_softmax"), None, {}))


@pytest.mark.parametrize("index, block, origin", [((0, 0), (0, 0, 0), (0, 0)), ((127, 128), (1, 0, 0), (0, 128)),
                                                  ((299, 255), (1, 2, 0), (256, 128))])
def test_tiles_follow_from_the_python(index, block, origin):
    values = {k.name: k.value for k in reference("06_gemm").knobs} | {"M": 300, "N": 256, "K": 8}
    found = tile_of(reference("06_gemm"), "C", index, values)
    assert found.block == block and found.origin == origin
    assert "T.copy(C_local, C[" in found.loc.text()


def test_addresses_of_shared_memory_get_names():
    text = emitted("06_gemm")
    contract = contract_of("06_gemm")
    pitch = contract.value("BK + A_PAD", {})
    address = 1024 + 4 * (3 * pitch + 7)
    names = SharedNames(text, contract)
    assert names.explained(f"reads shared address {address:#x} of") == \
        f"reads shared address {address:#x} (s.A_shared[0][3][7]) of"
    other = SharedNames(text.replace("struct Smem", "struct Other"), contract)
    assert other.explained(f"shared address {address:#x}") == f"shared address {address:#x}"


def test_errors_and_rules_of_a_comparison():
    found = compare("C", numpy.array([1.5, 0.25, 2.0], "float32"), numpy.array([1.0, 0.0, 2.0], "float32"), 1e-5)
    assert (found.absolute, found.relative, found.wrong) == (0.5, 0.5, 2)
    kernel = reference("06_gemm")
    assert rule(kernel, int32, {}) == "int32 has to be equal"
    knobs = {k.name: k.value for k in kernel.knobs}
    assert "1e-06 sqrt(64 terms in float32)" in rule(kernel, float32, {**knobs, "K": 64})


# ---- run --debug and --sanitize ------------------------------------------------------------------
def test_run_for_a_debugger(tilegen):
    status, out, err = tilegen("run", EXAMPLES / "03_transpose.py", "-t", "cuda", "--on", "emulator", "--debug",
                               "-D", "M=40", "-D", "N=40", "--block", "1,0", "--thread", "37")
    assert status == 0 and err == "" and "built with -g -O0" in out and "right" in out
    words = shlex.split(next(line for line in out.splitlines() if line.startswith("  gdb")))
    line = next(word for word in words if word.startswith("break transpose.cu:"))
    assert line.endswith("if tilegen_emulator_is(1, 0, 0, 37, 0, 0)")
    if shutil.which("gdb"):
        commands = ["bt", "print tilegen_emulator_thread()", "next", "next", "print bx"]
        words[1:1] = ["-batch"]
        place = words.index("--args")
        words[place:place] = [word for command in commands for word in ("-ex", command)]
        said = subprocess.run(words, capture_output=True, text=True, cwd=ROOT, timeout=600).stdout
        assert re.search(r"#0 .*transpose\(.*transpose\.cu:" + line.split(":")[1].split()[0], said)
        assert "$1 = 37" in said
        assert re.search(r"\$2 = 1\b", said)


def test_the_first_line_of_a_kernel():
    text = "extern \"C\" __global__ void f(int n)\n{\n    extern __shared__ int s[];\n    // why\n\n    s[0] = 1;\n}\n"
    assert debugging.first_line(text, "f") == 6


@pytest.mark.parametrize("place, planted", [("emulator", FAULTS[-1]), ("cpu", NATIVE[0])], ids=["emulator", "cpu"])
def test_run_under_sanitizers(tilegen, tmp_path, place, planted):
    file = planted.write(tmp_path)
    sizes = [word for pair in planted.shape.split(",") for word in ("-D", pair)]
    status, _, err = tilegen("run", file, "--on", place, "--sanitize", *sizes, "--against", planted.python_file)
    assert status == 1 and "error[TG0601]" in err and planted.python_file.name in err
    assert any(f":{line}:" in err for line in planted.lines())


@pytest.mark.parametrize("arguments, text", [
    (["--on", "cpu", "--debug"], "--debug has no --on cpu"), (["-t", "cuda", "--debug", "--thread", "a"], "X,Y,Z")])
def test_mistakes_of_debug(tilegen, arguments, text):
    status, _, err = tilegen("run", EXAMPLES / "03_transpose.py", "-D", "M=4", "-D", "N=4", *arguments)
    assert status == 1 and "TG0506" in err and text in err


def test_a_file_for_a_debugger_is_not_standard_input(tilegen, monkeypatch):
    text = (EXAMPLES / "03_transpose.py").read_text()
    monkeypatch.setattr("sys.stdin", type("Input", (), {"read": staticmethod(lambda: text)}))
    status, _, err = tilegen("run", "-", "-t", "cuda", "--debug", "-D", "M=4", "-D", "N=4")
    assert status == 1 and "--debug needs a file" in err


def test_help_says_what_check_does(tilegen):
    status, out, _ = tilegen("check", "--help")
    assert status == 0 and "Exit status: 0 where nothing is wrong" in out and "--against" in out
    assert "check" in tilegen("--help")[1]


REPORT = """#!/bin/sh
echo "========= COMPUTE-SANITIZER"
echo "========= Invalid __global__ write of size 4 bytes"
echo "=========     at matmul+0x120 in matmul.cu:LINE"
echo "ran: $*"
exit 9
"""


def test_a_report_of_compute_sanitizer_names_the_python(tilegen, tmp_path, monkeypatch):
    """Its lines are those of the file as it was compiled, under the kernel's name."""
    monkeypatch.chdir(tmp_path)
    shutil.copy(ROOT / "examples" / "06_gemm.py", "gemm.py")
    tilegen("emit", "gemm.py", "-t", "cuda", "-o", "edited.cu")
    lines = Path("edited.cu").read_text().splitlines()
    at = 1 + next(n for n, line in enumerate(lines) if "store_inside<C_VEC>(&C" in line)
    tool = tmp_path / "bin" / "compute-sanitizer"
    tool.parent.mkdir()
    tool.write_text(REPORT.replace("LINE", str(at)))
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tool.parent}:{os.environ['PATH']}")
    monkeypatch.setattr(candidate, "_place", lambda target: "gpu")
    status, out, err = tilegen("run", "edited.cu", "--sanitize", "-D", "M=70")
    python = 1 + next(n for n, line in enumerate(Path("gemm.py").read_text().splitlines()) if "T.copy(C_local" in line)
    assert status == 1 and "TG0601" in err
    assert f"    | {lines[at - 1].strip()}  <- gemm.py:{python}  T.copy(C_local" in out
    assert "-m tilegen run edited.cu --on gpu -D M=70" in out
    Path("log.txt").write_text(f"edited.cu({at}): warning\nother.cu:3: nothing\nedited.cu:1: the header\n")
    status, out, _ = tilegen("where", "edited.cu", "--log", "log.txt")
    told = [line for line in out.splitlines() if line.startswith("    | ")]
    assert status == 0 and len(told) == 2 and f"<- gemm.py:{python}" in told[0] and "<- header" in told[1]
    monkeypatch.setenv("PATH", "/nowhere")
    assert "TG0301" in tilegen("run", "edited.cu", "--sanitize")[2]
