"""Ten kinds of hand edit, in a CUDA file (emulated) and in a C++ file: each runs, runs and is found wrong, or is an
error that names the place."""

import re
import shutil
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
SMALL = ("-D", "M=150", "-D", "N=70", "-D", "K=90")
FILES = {"cuda": "matmul.cu", "cpu": "matmul.cpp"}
LOADS = "for (int k = 0; k < BK; k += DEPTH_VEC) {"
ROWS, COLUMNS = "for (int r = 0; r < C_ROWS; ++r)", "for (int i = 0; i < C_COLS; ++i) {"
TILE_ROWS, TILE_COLUMNS = "for (int row = 0; row < rows; row += MR)", "for (int col = 0; col < columns; col += NR)"


@dataclass(frozen=True)
class Edit:
    """What is replaced in the file of each target (patterns), and what `tilegen run` says: a code, or '' for right.
    `place` is a line of the kernel that the message has to name, where the edit is in one."""

    name: str
    cuda: tuple[tuple[str, str], ...]
    cpu: tuple[tuple[str, str], ...]
    code: str = ""
    words: str = ""
    cpu_code: str | None = None
    place: str = ""


EDITS = [
    Edit("a knob", ((r"int BN = 128;", "int BN = 64;"),), ((r"int BM = 480;", "int BM = 96;"),)),
    Edit("an illegal knob", ((r"int BN = 128;", "int BN = 96;"),), ((r"int BM = 480;", "int BM = 100;"),), "TG0602",
         "static assertion failed", "TG0302"),
    Edit("padding", ((r"int A_PAD = 4;", "int A_PAD = 8;"),),
         ((r"alignas\(64\) float B_shared", "alignas(128) float B_shared"),)),
    Edit("an extra unroll", ((re.escape(LOADS), f"#pragma unroll 2\n        {LOADS}"),),
         ((r"for \(int k = 0; k < depth; \+\+k\) \{\n        float32x8",
           "#pragma GCC unroll 2\n    for (int k = 0; k < depth; ++k) {\n        float32x8"),)),
    Edit("a fused line of the epilogue", ((r"(const int col = C_col\(c\), n = bx \* BN \+ col;)",
                                           r"\1\n            for (int i = 0; i < C_VEC; ++i) C_local[r][c + i] *= 0.5f;"),),
         ((r"load_float32\(&tile_element\(t.C_local, row, col\)\)",
           "0.5f * load_float32(&tile_element(t.C_local, row, col))"),), "TG0703", "C differs from the interpreter's"),
    Edit("swapped loops", ((re.escape(ROWS) + r"(\s+#pragma unroll\s+)" + re.escape(COLUMNS), "for (int i = 0; i < C_COLS; "
                            r"++i)\1for (int r = 0; r < C_ROWS; ++r) {"),),
         ((re.escape(TILE_ROWS) + r"(\s+)" + re.escape(TILE_COLUMNS), rf"{TILE_COLUMNS}\1{TILE_ROWS}"),)),
    Edit("an added printf", ((r"(const int steps = [^;]*;)", r'\1\n    if (threadIdx.x == 0) printf("steps %d\\n", steps);'),),
         ((r"#include <cstring>", "#include <cstdio>\n#include <cstring>"),
          (r"(const int depth = [^;]*;)", r'\1\n        std::printf("depth %d\\n", depth);'))),
    Edit("a renamed helper", ((r"\bload_vector\b", "read_vector"),), ((r"\bpack_rows\b", "gather_rows"),)),
    Edit("a helper renamed in one place", ((r"(> __device__ void )load_vector\(", r"\1read_vector("),),
         ((r"(static void )pack_rows\(", r"\1gather_rows("),), "TG0602", "load_vector", "TG0302"),
    Edit("a changed dtype of the accumulator", ((r"float C_local\[C_ROWS\]", "double C_local[C_ROWS]"),),
         ((r"float C_local\[BM / MR\]", "double C_local[BM / MR]"),), "", "", "TG0302", "T.clear(C_local"),
    Edit("a deleted contract", ((r"(?m)^// tilegen-launch:(.*\n//  )*.*\n", ""),),
         ((r"(?m)^// tilegen-launch:(.*\n//  )*.*\n", ""),), "TG0701", "tilegen merge"),
]


@pytest.fixture(scope="module")
def emitted(tmp_path_factory):
    """gemm.py and its files, as text by target."""
    from tilegen import kernel_files
    folder = tmp_path_factory.mktemp("edits")
    shutil.copy(ROOT / "examples" / "06_gemm.py", folder / "gemm.py")
    kernel = kernel_files.find(str(folder / "gemm.py"))
    return folder, {target: kernel.emit(target) for target in FILES}


def edited(text, changes):
    for pattern, new in changes:
        text, count = re.subn(pattern, new, text)
        assert count, f"{pattern} is not in the file"
    return text


@pytest.mark.parametrize("target", list(FILES))
@pytest.mark.parametrize("edit", EDITS, ids=[edit.name.replace(" ", "_") for edit in EDITS])
def test_each_edit_does_the_right_thing(emitted, tilegen, monkeypatch, edit, target):
    folder, texts = emitted
    monkeypatch.chdir(folder)
    Path(FILES[target]).write_text(edited(texts[target], getattr(edit, target)))
    place = {"cuda": "emulator", "cpu": "cpu"}[target]
    status, out, err = tilegen("run", FILES[target], "--on", place, *SMALL)
    code = edit.cpu_code if target == "cpu" and edit.cpu_code is not None else edit.code
    if not code:
        assert status == 0 and "C      right" in out, err
        return
    assert status == 1 and f"error[{code}]" in err
    assert edit.words.replace("load_vector", {"cuda": "load_vector", "cpu": "pack_rows"}[target]) in err
    if code in ("TG0302", "TG0602"):
        assert FILES[target] in err, "the emitted file is named"
    if edit.place:
        lines = Path("gemm.py").read_text().splitlines()
        assert f"gemm.py:{1 + next(n for n, line in enumerate(lines) if edit.place in line)}" in err


@pytest.mark.parametrize("target, guard, new", [
    ("cuda", r"m < M \? N - n : 0", "N - n"), ("cpu", r"(\(t\.C_local, row, col\)\)), columns - col\)", r"\1, LANES)")])
def test_a_removed_guard_is_found(emitted, tilegen, monkeypatch, target, guard, new):
    """Nothing need differ in the results: the file writes outside of its tensors, and `check` says where."""
    folder, texts = emitted
    monkeypatch.chdir(folder)
    Path(FILES[target]).write_text(edited(texts[target], [(guard, new)]))
    status, out, err = tilegen("check", FILES[target], "--shape", "M=150,N=70,K=30", *(
        ("--sanitize",) if target == "cpu" else ("--order", "forward")))
    line = 1 + next(n for n, text in enumerate(Path("gemm.py").read_text().splitlines()) if "T.copy(C_local" in text)
    assert status == 1 and "error[TG0601]" in err and "FAULT" in out
    assert re.search(r"out.of.bounds|outside", out) and f"gemm.py:{line}  T.copy(C_local" in out


def test_a_printf_prints(emitted, monkeypatch, capfd):
    folder, texts = emitted
    monkeypatch.chdir(folder)
    added = next(edit for edit in EDITS if edit.name == "an added printf")
    from tilegen import cli
    for target, words in (("cuda", "steps 3"), ("cpu", "depth 90")):
        Path(FILES[target]).write_text(edited(texts[target], getattr(added, target)))
        capfd.readouterr()
        assert cli.main(["run", FILES[target], *SMALL]) == 0
        assert words in capfd.readouterr().out


def test_a_fused_line_is_right_once_the_python_has_it(emitted, tilegen, monkeypatch):
    """The way back: what was tried in the file goes into the Python, and the file agrees with it."""
    folder, texts = emitted
    monkeypatch.chdir(folder)
    fused = next(edit for edit in EDITS if edit.code == "TG0703")
    python = Path("gemm.py").read_text().replace(
        "        T.copy(C_local, C", "        for i, j in T.Parallel(BM, BN):\n            C_local[i, j] *= 0.5\n"
        "        T.copy(C_local, C")
    Path("scaled.py").write_text(python)
    for target in FILES:
        Path(FILES[target]).write_text(edited(texts[target], getattr(fused, target)))
        status, out, err = tilegen("run", FILES[target], "--against", "scaled.py", *SMALL)
        assert status == 0 and "C      right" in out and "scaled.py has changed since" in out, err
