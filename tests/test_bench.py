"""`tilegen bench`: intervals, rounds, peers found by their results, verdicts, and that a wrong kernel does not race."""

import json
import shutil
from pathlib import Path

import numpy
import pytest

from tilegen import kernel_files, timing
from tilegen.errors import TilegenError
from tilegen.racing import limits, peers, report
from tilegen.racing.entrants import gather
from tilegen.candidate import Request
from tilegen.racing.race import Interval, interval, race, speedup
from tilegen.runtime.contract import read_contract

ROOT = Path(__file__).resolve().parent.parent
SMALL = ("-D", "M=70", "-D", "N=50", "-D", "K=90")


# ---- Intervals and rounds ------------------------------------------------------------------------
@pytest.mark.parametrize("count, low, high", [(6, 1, 6), (8, 1, 8), (9, 2, 8), (15, 4, 12), (31, 10, 22), (100, 40, 61)])
def test_the_interval_of_a_median(count, low, high):
    """The ranks that tables of the binomial distribution give, from either end."""
    assert interval(range(1, count + 1)) == Interval((count + 1) / 2, low, high)


def test_an_interval_holds_the_median_as_often_as_it_says():
    generator = numpy.random.default_rng(0)
    held = 0
    for _ in range(2000):
        found = interval(list(generator.lognormal(size=31)))
        held += found.low <= 1 <= found.high
    assert held / 2000 > 0.94


def test_every_round_begins_with_another_one():
    order = []
    calls = {name: (lambda name=name: order.append(name)) for name in "abc"}

    def clock(call):
        call()
        return 1.0
    times = race(calls, clock, rounds=6)
    assert "".join(order) == "abc" + "abcbcacab" * 2
    assert times == {name: [1.0] * 6 for name in "abc"}
    assert len(race(calls, clock, rounds=100, budget=0.0)["a"]) == 6
    with pytest.raises(TilegenError, match="TG0506"):
        race(calls, clock, rounds=5)


def test_ratios_go_round_by_round():
    """A neighbour that slows both down alike changes no ratio."""
    noise = numpy.random.default_rng(0).uniform(1, 10, 31)
    assert speedup(list(1.0 * noise), list(2.0 * noise)) == Interval(2, 2, 2)


def test_clocks_measure_and_flush():
    caches = []
    clock = timing.host_clock(flush=True)
    assert 0.009 < clock(lambda: timing.time.sleep(0.01)) < 1
    assert timing.host_clock(flush=False)(lambda: caches.append(1)) < 0.1 and caches


def test_the_roof_is_the_lower_side():
    roof = limits.Limits(1e12, 1e9, "")
    assert roof.share(1e12, 1e6, 2.0) == (0.5, "arithmetic")
    assert roof.share(1e6, 1e9, 2.0) == (0.5, "memory")
    assert roof.share(None, 1e9, 2.0) == (0.5, "memory")
    assert limits.Limits(None, None, "").share(1e6, 1e9, 2.0) == (None, "")


@pytest.mark.parametrize("low, high, words", [
    (1.02, 1.10, "is faster than other: 1.050 times as fast"), (0.9, 1.2, "as fast as each other"),
    (0.4, 0.6, "is slower than other: 0.500 times as fast")])
def test_verdicts(low, high, words):
    time, middle = Interval(1, 1, 1), {1.02: 1.05, 0.9: 1.0, 0.4: 0.5}[low]
    first = report.Row("first", "", time, time, 0.82, "memory")
    other = report.Row("other", "", time, Interval(1 / middle, 1 / high, 1 / low), None, "")
    lines = report.verdict([first, other])
    assert words in lines[0] and lines[1] == "first reaches 82 % of what memory allows" and len(lines) == 2
    disturbed = report.verdict([report.Row("first", "", time, time, 1.2, "memory")])
    assert disturbed[0].startswith("first reaches 120 %") and "other programs" in disturbed[1]


# ---- Peers ---------------------------------------------------------------------------------------
@pytest.mark.parametrize("example, words", [
    ("01_add", "X + Y"), ("02_saxpy", "X * Y + Z"), ("03_transpose", "X^T"), ("04_softmax", "softmax of the rows of X"),
    ("05_layernorm", "layer norm of X"), ("06_gemm", "X @ Y"), ("08_batched_gemm", "X @ Y^T"),
    ("10_flash_attention", "attention of X, Y, Z"), ("12_cumsum", None)])
def test_an_operation_is_found_by_its_results(example, words):
    made = kernel_files.find(str(ROOT / "examples" / f"{example}.py")).specialize().specialised("cpu")
    found = peers.operation_of(made.kernel, read_contract(made.source), {})
    assert (found and found.words) == words


def test_a_function_of_the_file_is_a_peer(tmp_path):
    text = (ROOT / "examples" / "12_cumsum.py").read_text()
    file = tmp_path / "scan.py"
    name = kernel_files.find(str(ROOT / "examples" / "12_cumsum.py")).__name__
    file.write_text(text)
    with pytest.raises(TilegenError, match=rf"define numpy_{name}"):
        gather([str(file)], ["numpy"], Request({}, "cpu"))
    file.write_text(f"{text}\n\ndef numpy_{name}(x):\n    return numpy.cumsum(x, axis=-1, dtype='float32')\n")
    field = gather([str(file)], ["numpy"], Request({}, "cpu"))
    assert [entrant.name for entrant in field.entrants] == [str(file), "NumPy"]
    file.write_text(f"{text}\n\ndef numpy_{name}(x):\n    return 2 * x\n")
    with pytest.raises(TilegenError, match="NumPy does not race: its results"):
        gather([str(file)], ["numpy"], Request({}, "cpu"))


# ---- The command ---------------------------------------------------------------------------------
@pytest.fixture
def folder(tmp_path, tilegen, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(limits, "_BUDGET", 0.05)
    shutil.copy(ROOT / "examples" / "06_gemm.py", "gemm.py")
    assert tilegen("emit", "gemm.py", "-t", "cpu", "-o", "matmul.cpp") == (0, "", "")
    text = Path("matmul.cpp").read_text()
    Path("edited.cpp").write_text(text.replace("constexpr int BM = 480;", "constexpr int BM = 240;"))
    assert Path("edited.cpp").read_text() != text
    return tmp_path


def test_an_edited_file_races_its_kernel_and_numpy(folder, tilegen):
    status, out, _ = tilegen("bench", "edited.cpp", "gemm.py", "--peers", "numpy", "--rounds", 6, *SMALL)
    lines = out.splitlines()
    assert status == 0 and lines[0] == "matmul on the cpu  M=70  K=90  N=50"
    assert lines[1] == "6 rounds, in turn, cold caches; compared with the interpreter at M=70 K=90 N=50"
    assert [line.split()[0] for line in lines[5:8]] == ["edited.cpp", "gemm.py", "NumPy"]
    assert lines[7].rstrip().endswith("A @ B") and lines[9].startswith("edited.cpp ") and "95 %" in lines[9]


def test_the_result_as_json(folder, tilegen):
    status, out, _ = tilegen("bench", "edited.cpp", "--peers", "numpy", "--rounds", 6, "--warm", "--json", *SMALL)
    rows = json.loads(out)
    assert status == 0 and [row["name"] for row in rows] == ["edited.cpp", "NumPy"]
    assert rows[0]["ratio"] == 1 and rows[0]["work"] == "matmul M=70 K=90 N=50"
    for row in rows:
        assert 0 < row["low_us"] <= row["median_us"] <= row["high_us"] and 0 < row["ratio_low"] <= row["ratio_high"]
        assert row["gflops"] == pytest.approx(2 * 70 * 50 * 90 / row["median_us"] / 1e3)
        assert row["gbs"] == pytest.approx(4 * (70 * 90 + 90 * 50 + 70 * 50) / row["median_us"] / 1e3)
        assert row["roof"] > 0 and row["bound"] in ("arithmetic", "memory")


def test_a_wrong_kernel_does_not_race(folder, tilegen):
    text = Path("edited.cpp").read_text()
    Path("edited.cpp").write_text(text.replace("_mm256_fmadd_ps(", "_mm256_fmsub_ps("))
    assert Path("edited.cpp").read_text() != text
    status, out, err = tilegen("bench", "gemm.py", "edited.cpp", "--rounds", 6, *SMALL)
    assert status == 1 and not out and "TG0703" in err and "edited.cpp does not race, since it is wrong: C" in err


@pytest.mark.parametrize("arguments, words", [
    (("matmul.cu",), "would run in the emulator"),
    (("matmul.cpp", "--peers", "cublas"), "cuBLAS does not run on the cpu"),
    (("matmul.cpp", "--peers", "mkl"), "mkl is no peer"),
    (("gemm.py", "add.py", "-t", "cpu"), "take other arguments"),
    (("alone.cpp",), "a race needs to know what is right"),
])
def test_mistakes(folder, tilegen, arguments, words):
    tilegen("emit", "gemm.py", "-t", "cuda", "-o", "matmul.cu")
    shutil.copy(ROOT / "examples" / "01_add.py", "add.py")
    Path("alone.cpp").write_text(Path("matmul.cpp").read_text().replace('"source": "gemm.py', '"source": "gone.py'))
    status, _, err = tilegen("bench", *arguments, "--rounds", 6)
    assert status == 1 and "TG0506" in err and words in err


@pytest.mark.gpu
def test_on_a_gpu(folder, tilegen):
    tilegen("emit", "gemm.py", "-t", "cuda", "-o", "matmul.cu")
    status, out, _ = tilegen("bench", "matmul.cu", "gemm.py", "--peers", "cublas", "--rounds", 6, "--json",
                             "-D", "M=512", "-D", "N=512", "-D", "K=512")
    assert status == 0 and [row["name"] for row in json.loads(out)] == ["matmul.cu", "gemm.py", "cuBLAS"]
