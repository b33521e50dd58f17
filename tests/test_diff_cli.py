"""`tilegen diff`, `tilegen merge` and `tilegen where` as programs: what they print and write, and their status."""

import json
import re
import shutil
from pathlib import Path

import pytest

from tilegen import kernel_files, pristine, targets
from tilegen.build import sass
from tilegen.errors import TilegenError
from tilegen.merging import resources
from tilegen.runtime.contract import read_contract

ROOT = Path(__file__).resolve().parent.parent
KNOB = ("constexpr int BN = 128;", "constexpr int BN = 64; ")
STATEMENT = ("+= a[r][kk] * b[c];", "+= 2.0f * a[r][kk] * b[c];")


@pytest.fixture
def folder(tmp_path, tilegen, monkeypatch):
    """gemm.py, and what it is emitted as: matmul.cu, which is for edits, and plain.cu, which has no kept text."""
    monkeypatch.chdir(tmp_path)
    shutil.copy(ROOT / "examples" / "06_gemm.py", "gemm.py")
    assert tilegen("emit", "gemm.py", "-t", "cuda", "-a", "sm_80", "-o", "matmul.cu") == (0, "", "")
    shutil.copy("matmul.cu", "plain.cu")
    return tmp_path


def edit(path, *changes):
    text = Path(path).read_text()
    for old, new in changes:
        assert old in text, f"{old!r} is not in {path}"
        text = text.replace(old, new, 1)
    Path(path).write_text(text)
    return text


# ---- The kept text -------------------------------------------------------------------------------
def test_what_was_emitted_is_kept_beside_the_file(folder, tilegen):
    assert pristine.read("matmul.cu") == Path("matmul.cu").read_text() and pristine.read("plain.cu") is None
    assert [f.name for f in (folder / ".tilegen").iterdir()] == ["matmul.cu"], "no temporary file stays"
    tilegen("emit", "gemm.py", "--level", "tile", "-o", "tile.py")
    tilegen("emit", "gemm.py", "-o", "/dev/null")
    assert [f.name for f in (folder / ".tilegen").iterdir()] == ["matmul.cu"], "only emitted files are kept"
    kernel_files.find("gemm.py").save("saved.cpp")
    assert pristine.read("saved.cpp") == Path("saved.cpp").read_text()


def test_a_folder_that_cannot_be_made_is_a_warning(tmp_path, tilegen, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path(".tilegen").write_text("a file")
    with pytest.warns(UserWarning, match="cannot write .tilegen/add.cu"):
        status, _, _ = tilegen("emit", ROOT / "examples" / "01_add.py", "-o", "add.cu")
    assert status == 0 and Path("add.cu").is_file()


# ---- diff ----------------------------------------------------------------------------------------
def test_a_file_does_not_differ_from_itself(folder, tilegen):
    assert tilegen("diff", "matmul.cu", "plain.cu") == (0, "", "")
    assert json.loads(tilegen("diff", "matmul.cu", "plain.cu", "--json")[1]) == {"same": True}


def test_diff_shows_knobs_launch_and_regions(folder, tilegen):
    edit("matmul.cu", KNOB, STATEMENT)
    status, out, _ = tilegen("diff", "plain.cu", "matmul.cu", "--json", "-D", "M=1000", "-D", "N=1000", "--no-resources")
    data = json.loads(out)
    knob, = data["knobs"]
    line = 1 + next(n for n, t in enumerate(Path("gemm.py").read_text().splitlines()) if "BN=T.by_target" in t)
    assert status == 1 and not data["same"] and data["resources"] is None
    assert knob == {"name": "BN", "old": "128", "new": "64",
                    "python": f"-D BN=64, or BN=64 in the signature (gemm.py:{line})"}
    rows = {row["name"]: (row["old"], row["new"]) for row in data["launch"]}
    assert rows["grid"][0].endswith("= 8, 8, 1") and rows["grid"][1].endswith("= 16, 8, 1")
    old, new = (int(text.rpartition("= ")[2]) for text in rows["shared"])
    assert set(rows) == {"grid", "shared"} and old > new
    knobs, gemm = data["regions"]
    assert knobs["name"] == "knobs"
    assert re.fullmatch(r"gemm\.py:\d+  T\.gemm\(A_shared, B_shared, C_local\)", gemm["name"])
    lines = Path("matmul.cu").read_text().split("\n")
    header = re.fullmatch(r"@@ -(\d+),(\d+) \+(\d+),(\d+) @@", gemm["diff"][0])
    first, count = int(header[3]), int(header[4])
    assert [t[1:] for t in gemm["diff"][1:] if t[0] != "-"] == lines[first - 1:first - 1 + count]
    changed = [line for line in gemm["diff"] if line[0] in "-+"]
    assert changed == ["-" + lines[first + 1].replace(*STATEMENT[::-1]), "+" + lines[first + 1]]


def test_diff_as_text(folder, tilegen):
    edit("matmul.cu", KNOB, STATEMENT)
    status, out, err = tilegen("diff", "plain.cu", "matmul.cu", "--no-resources")
    assert status == 1 and not err and "\x1b" not in out
    assert re.search(r"^BN +128 +64 +-D BN=64, or BN=64 in the signature \(gemm.py:\d+\)$", out, re.MULTILINE)
    assert re.search(r"^-constexpr int BN = 128;.*\n\+constexpr int BN = 64; ", out, re.MULTILINE)
    minus = [line for line in out.splitlines() if re.match(r"-\s", line)]
    assert len(minus) == 1 and STATEMENT[0] in minus[0]


def test_moved_python_lines_are_no_differences_of_the_text(folder, tilegen):
    edit("gemm.py", ("@tilegen.jit", "# one more line\n@tilegen.jit"))
    tilegen("emit", "gemm.py", "-t", "cuda", "-a", "sm_80", "-o", "moved.cu")
    status, out, _ = tilegen("diff", "matmul.cu", "moved.cu", "--no-resources")
    assert (status, out) == (1, "only numbers of Python lines and the contract's description of the kernel differ\n")


LISTING = """
matmul:
        /*0000*/                   IMAD.MOV.U32 R1, RZ, RZ, c[0x0][0x28] ;              /* 0x00000a00ff017624 */
        /*0060*/              @!P1 BRA 0x1aa0 ;                                         /* 0x00001a3000009947 */
        /*0070*/             @!UP0 UIADD3 UR4, UR4, 0x1, URZ ;
        /*fff0*/                   LDG.E.128.CONSTANT R4, [R2.64+0x10] ;
       /*10000*/                   LDG.E R4, [R2.64] ;
"""


def test_instructions_are_counted_without_modifiers():
    assert sass.counted(LISTING) == {"IMAD": 1, "BRA": 1, "UIADD3": 1, "LDG": 2}


@pytest.mark.parametrize("registers, threads, shared, arch, words", [
    (127, 256, 69632, "sm_80", "2 of 256 threads (25 %), by registers"),
    (32, 1024, 0, "sm_80", "2 of 1024 threads (100 %), by threads"),
    (32, 128, 100 * 1024, "sm_90", "2 of 128 threads (12 %), by shared memory"),
    (16, 32, 0, "sm_90", "32 of 32 threads (50 %), by blocks"),
])
def test_blocks_on_an_sm(registers, threads, shared, arch, words):
    """As the occupancy calculator of NVIDIA's toolkit counts them."""
    assert resources._blocks(registers, threads, shared, targets.find("cuda", arch)) == words


def test_diff_compares_what_the_compiler_counts(folder, tilegen, monkeypatch):
    monkeypatch.setattr(resources.sass, "mix", lambda path: {"FFMA": 128} if "BN = 128" in Path(path).with_suffix(
        ".cu").read_text() else {"FFMA": 64, "LDS": 2})
    edit("matmul.cu", KNOB, ("MIN_BLOCKS = 2;", "MIN_BLOCKS = 3;"))       # at most 80 registers a thread
    rows = json.loads(tilegen("diff", "plain.cu", "matmul.cu", "--json")[1])["resources"]
    found = {row["name"]: (row["old"], row["new"]) for row in rows}
    assert int(found["registers"][0]) > int(found["registers"][1]) > 0
    assert found["blocks on an SM"][0].startswith("2 of 256 threads") and found["blocks on an SM"][1].startswith("3 of")
    assert "stack" not in found
    assert (found["instructions"], found["  FFMA"], found["  LDS"]) == (("128", "66"), ("128", "64"), ("0", "2"))


def test_diff_goes_on_where_nothing_disassembles(folder, tilegen, monkeypatch):
    def missing(path):
        raise TilegenError("TG0301", "neither nvdisasm nor cuobjdump was found")
    monkeypatch.setattr(resources.sass, "mix", missing)
    edit("matmul.cu", KNOB)
    status, out, err = tilegen("diff", "plain.cu", "matmul.cu")
    assert status == 1 and "registers" in out and "instructions are not counted: neither" in err


def test_diff_of_files_without_a_contract(folder, tilegen):
    Path("a.cu").write_text("int a;\n")
    Path("b.cu").write_text("int b;\n")
    status, out, err = tilegen("diff", "a.cu", "b.cu")
    assert status == 1 and "-int a;\n+int b;\n" in out and "no launch contract" in err


# ---- merge ---------------------------------------------------------------------------------------
def moved(folder):
    """The Python moves on: other lines, another BM."""
    edit("gemm.py", ("@tilegen.jit", "# one more line\n@tilegen.jit"), ("BM=T.by_target(128", "BM=T.by_target(64"))


def test_merge_keeps_edits_when_the_python_changes(folder, tilegen):
    edited = edit("matmul.cu", KNOB, STATEMENT)
    moved(folder)
    status, out, err = tilegen("merge", "matmul.cu", "--kernel", "gemm.py")
    assert status == 0 and "BN = 64 (emitted: 128): in Python, -D BN=64, or BN=64 in the signature (gemm.py:" in err
    new = tilegen("emit", "gemm.py", "-t", "cuda", "-a", "sm_80")[1]
    assert read_contract(out).knob_values == {**read_contract(new).knob_values, "BM": 64, "BN": 64}
    assert STATEMENT[1] in out and out.replace(STATEMENT[1], STATEMENT[0]).replace("BN = 64; ", "BN = 128;") == new
    assert Path("matmul.cu").read_text() == edited, "nothing is written without -o"


def test_merge_into_the_edited_file(folder, tilegen):
    edited = edit("matmul.cu", STATEMENT)
    moved(folder)
    assert tilegen("merge", "matmul.cu", "-o", "matmul.cu")[:2] == (0, "")
    new = tilegen("emit", "gemm.py", "-t", "cuda", "-a", "sm_80")[1]
    assert Path("matmul.cu").read_text() == new.replace(STATEMENT[0], STATEMENT[1])
    assert pristine.read("matmul.cu") == new, "the next merge starts from here"
    assert Path(".tilegen/matmul.cu.before").read_text() == edited, "nothing is lost"
    assert tilegen("merge", "matmul.cu")[1] == Path("matmul.cu").read_text()


def test_merge_brings_a_deleted_contract_back(folder, tilegen):
    text = edit("matmul.cu", STATEMENT)
    first = text.index("// tilegen-launch:")
    Path("matmul.cu").write_text(text[:first] + text[text.index("// ---- Stand-alone"):])
    status, _, err = tilegen("run", "matmul.cu", "--on", "emulator")
    assert status == 1 and "TG0701" in err and "tilegen merge" in err
    status, _, err = tilegen("merge", "matmul.cu", "--kernel", "gemm.py", "-o", "matmul.cu")
    assert status == 0 and "the merged file has the new one" in err
    assert Path("matmul.cu").read_text().replace("\n\n", "\n") == text.replace("\n\n", "\n")


def test_merge_emits_the_base_again_where_it_was_not_kept(folder, tilegen):
    edit("plain.cu", STATEMENT)
    status, out, _ = tilegen("merge", "plain.cu", "-D", "BM=64")
    assert status == 0 and STATEMENT[1] in out and "constexpr int BM = 64;" in out
    moved(folder)
    status, out, err = tilegen("merge", "plain.cu")
    assert status == 1 and not out and "TG0704" in err and "tilegen merge EMITTED EDITED NEW" in err


def test_a_kept_text_of_another_kernel_is_not_the_base(folder, tilegen):
    edit("matmul.cu", STATEMENT)
    tilegen("emit", ROOT / "examples" / "01_add.py", "-t", "cuda", "-o", "add.cu")
    shutil.copy("add.cu", ".tilegen/matmul.cu")
    status, out, _ = tilegen("merge", "matmul.cu")
    assert (status, out) == (0, Path("matmul.cu").read_text())


def test_a_conflict_has_markers_and_status_1(folder, tilegen):
    edited = edit("matmul.cu", ("constexpr int BM = 128;", "constexpr int BM = 256;"))
    moved(folder)
    status, out, err = tilegen("merge", "matmul.cu")
    assert status == 1 and Path("matmul.cu").read_text() == edited
    marks = [line for line in out.split("\n") if re.match(r"[<|=>]{7}", line)]
    assert marks == ["<<<<<<< edited: knobs", "||||||| as it was emitted", "=======", ">>>>>>> new: knobs"]
    assert f"conflict at line:{out.split(chr(10)).index(marks[0]) + 1}: knobs" in err
    assert tilegen("merge", "matmul.cu", "-o", "merged.cu")[:2] == (1, "")
    assert Path("merged.cu").read_text() == out
    status, _, err = tilegen("merge", "merged.cu")
    assert status == 1 and "TG0705" in err


def test_merge_of_three_files(folder, tilegen):
    edit("plain.cu", STATEMENT)
    moved(folder)
    tilegen("emit", "gemm.py", "-t", "cuda", "-a", "sm_80", "-o", "new.cu")
    status, out, _ = tilegen("merge", "matmul.cu", "plain.cu", "new.cu")
    assert (status, out) == (0, Path("new.cu").read_text().replace(STATEMENT[0], STATEMENT[1]))


@pytest.mark.parametrize("arguments, code", [
    (["merge", "matmul.cu", "plain.cu"], "TG0506"),
    (["merge", "matmul.cu", "plain.cu", "plain.cu", "-D", "BM=64"], "TG0506"),
    (["merge", "none.cu"], "TG0504"),
    (["merge", "gemm.py"], "TG0701"),
    (["merge", "matmul.cu", "--kernel", "gemm.py:other"], "TG0505"),
    (["where", "matmul.cu"], "TG0506"),
    (["where", "matmul.cu:0"], "TG0506"),
    (["where", "matmul.cu:100000"], "TG0506"),
    (["where", "gemm.py:20"], "TG0506"),
    (["where", "matmul.cu:20", "plain.cu"], "TG0506"),
    (["diff", "none.cu", "matmul.cu"], "TG0504"),
])
def test_wrong_uses(folder, tilegen, arguments, code):
    status, out, err = tilegen(*arguments)
    assert status == 1 and not out and err.startswith(f"error[{code}]")


def test_merge_without_its_python(folder, tilegen):
    Path("gemm.py").unlink()
    status, _, err = tilegen("merge", "matmul.cu")
    assert status == 1 and "TG0505" in err and "--kernel" in err


# ---- where ---------------------------------------------------------------------------------------
def place_of(text):
    return 1 + next(n for n, line in enumerate(Path("matmul.cu").read_text().split("\n")) if text in line)


def test_where_names_the_python_line(folder, tilegen):
    line = place_of(STATEMENT[0])
    status, out, _ = tilegen("where", f"matmul.cu:{line}")
    emitted, python = out.splitlines()
    assert status == 0 and emitted == f"matmul.cu:{line}  C_local[r][c] {STATEMENT[0]}"
    number = int(re.fullmatch(r"  gemm.py:(\d+)  T.gemm\(A_shared, B_shared, C_local\)", python)[1])
    assert "T.gemm" in Path("gemm.py").read_text().splitlines()[number - 1]
    data = json.loads(tilegen("where", f"matmul.cu:{line}", "--json")[1])
    assert data["python"] == {"file": "gemm.py", "line": number, "last": number, "now": number,
                              "text": "T.gemm(A_shared, B_shared, C_local)"}
    status, out, _ = tilegen("where", f"gemm.py:{number}", "matmul.cu", "--json")
    spans = [(span["first"], span["last"], span["section"]) for span in json.loads(out)["lines"]]
    assert status == 0 and [section for *_, section in spans] == ["kernel", "stand-alone"]
    assert spans[0][0] < line <= spans[0][1]


def test_where_after_edits_on_both_sides(folder, tilegen):
    edit("matmul.cu", ("    const int steps", "    // mine\n    // and mine\n    const int steps"))
    edit("gemm.py", ("@tilegen.jit", "# one more line\n@tilegen.jit"))
    line = place_of(STATEMENT[0])
    python = tilegen("where", f"matmul.cu:{line}")[1].splitlines()[1]
    was, now = map(int, re.fullmatch(r"  gemm.py:(\d+)  T.gemm\(.*\)  \(now in line (\d+)\)", python).groups())
    assert now == was + 1
    spans = json.loads(tilegen("where", f"gemm.py:{now}", "matmul.cu", "--json")[1])["lines"]
    assert spans[0]["first"] < line <= spans[0]["last"]


def test_where_of_knobs_and_helpers(folder, tilegen):
    knob = tilegen("where", f"matmul.cu:{place_of('constexpr int BN')}")[1].splitlines()
    assert knob[1].endswith("knobs") and "BN=T.by_target" in knob[2]
    helper = tilegen("where", f"matmul.cu:{place_of('---- Device helpers')}")[1].splitlines()
    assert helper[1].endswith("helpers") and "def matmul" in helper[2]


def test_where_a_python_line_has_no_lines(folder, tilegen):
    status, out, _ = tilegen("where", "gemm.py:1", "matmul.cu")
    assert status == 1 and "no lines of its own" in out
