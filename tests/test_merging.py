"""Merging: hand edits are carried onto a new emission, and what neither side decides stands in the result twice."""

import re
from pathlib import Path

import pytest

from tilegen import kernel_files
from tilegen.errors import TilegenError
from tilegen.merging import advice, knobs, places, python, threeway
from tilegen.merging.merge import marker_line, merge
from tilegen.merging.regions import lines_of, region_at, regions
from tilegen.runtime.contract import read_contract

ROOT = Path(__file__).resolve().parent.parent
GENERATED = sorted(path for path in (ROOT / "generated").glob("*/*.*"))
GEMM = ROOT / "examples" / "06_gemm.py"


def emitted(values=(), text=None, target="cuda", arch="sm_80"):
    """What the gemm is emitted as; `text` is another Python for it."""
    kernel = kernel_files.find_in("gemm.py", "", text or GEMM.read_text())
    return kernel.specialize(**dict(values)).specialised(target, arch).source


@pytest.fixture(scope="module")
def base():
    return emitted()


def edit(text, *changes):
    for old, new in changes:
        assert text.count(old) >= 1, f"{old!r} is not in the text"
        text = text.replace(old, new, 1)
    return text


KNOB = ("constexpr int BN = 128;", "constexpr int BN = 64; ")
STATEMENT = ("C_local[r][c] += a[r][kk] * b[c];", "C_local[r][c] += 2.0f * a[r][kk] * b[c];")
LONGER = GEMM.read_text().replace("@tilegen.jit", "# a line\n# and another\n@tilegen.jit", 1)


# ---- Regions -------------------------------------------------------------------------------------
@pytest.mark.parametrize("path", GENERATED, ids=lambda p: f"{p.parent.name}-{p.stem}")
def test_regions_are_the_whole_file(path):
    text = path.read_text()
    found = regions(text)
    assert "\n".join(line for region in found for line in region.lines) == text
    sections = {region.section for region in found}
    assert {"header", "knobs", "frame", "contract", "stand-alone"} <= sections <= {
        "header", "knobs", "helpers", "shared memory", "layouts", "frame", "contract", "stand-alone"}
    contract = read_contract(text)
    for region in found:
        if region.origin:
            first, last = contract.line_map[str(region.origin.line)]
            assert first <= region.first <= last


def test_a_region_has_its_python(base):
    line = 1 + next(n for n, text in enumerate(lines_of(base)) if STATEMENT[0] in text)
    region = region_at(regions(base), line)
    assert region.name.startswith("gemm.py:") and region.name.endswith("  T.gemm(A_shared, B_shared, C_local)")
    assert region_at(regions(base), 1).section == "header"


# ---- Lines ---------------------------------------------------------------------------------------
@pytest.mark.parametrize("edited, new, kinds, result", [
    ("abc", "abc", ["same"], "abc"),
    ("aXc", "abc", ["same", "edited", "same"], "aXc"),
    ("abc", "aYc", ["same", "new", "same"], "aYc"),
    ("aXc", "aXc", ["same", "both", "same"], "aXc"),
    ("aXc", "aYc", ["same", "conflict", "same"], None),
    ("ac", "aYc", ["same", "conflict", "same"], None),
    ("Xabc", "abcY", ["edited", "same", "new"], "XabcY"),
    ("", "abc", ["edited"], ""),
    ("aPXQc", "aPYQc", ["same", "both", "conflict", "both", "same"], None),
])
def test_lines_merge(edited, new, kinds, result):
    found = list(threeway.chunks("abc", edited, new))
    assert [chunk.kind for chunk in found] == kinds
    assert "".join("".join(chunk.edited) for chunk in found) == edited
    assert "".join("".join(chunk.new) for chunk in found) == new
    if result is not None:
        assert "".join("".join(c.edited if c.kind == "edited" else c.new) for c in found) == result


# ---- Whole files ---------------------------------------------------------------------------------
@pytest.mark.parametrize("path", GENERATED[::5], ids=lambda p: f"{p.parent.name}-{p.stem}")
def test_without_edits_a_merge_is_the_new_text(path):
    """Also where nothing is alike."""
    new = path.read_text()
    for base in (new, GENERATED[0].read_text(), GENERATED[-1].read_text()):
        assert merge(base, base, new).text == new
        assert merge(base, new, new).text == new
        assert merge(base, new, new).conflicts == ()


def test_an_edit_stays_where_the_python_has_not_changed(base):
    edited = edit(base, KNOB, STATEMENT, ("__syncthreads();", "__syncthreads();  // mine"))
    result = merge(base, edited, base)
    assert result.text == edited and not result.conflicts
    assert result.changes == (knobs.Change("BN", "128", "64"),)


def test_an_edit_moves_onto_new_text(base):
    """Python lines move, a knob and the number of threads change in Python; knob and statement stay as edited."""
    new = emitted({"BM": 64}, LONGER.replace("threads=256", "threads=128"))
    result = merge(base, edit(base, KNOB, STATEMENT), new)
    assert not result.conflicts
    assert [line for line in lines_of(result.text) if line.startswith("//")][1].startswith("// from gemm.py:12")
    contract = read_contract(result.text)
    wanted = read_contract(new)
    assert contract.knob_values == {**wanted.knob_values, "BN": 64}
    assert (contract.ir, contract.source, contract.line_map) == (wanted.ir, wanted.source, wanted.line_map)
    assert edit(result.text, STATEMENT[::-1], ("BN = 64; ", "BN = 128;")) == new


def test_an_edited_line_gets_the_python_line_of_today(base):
    line = next(line for line in lines_of(base) if "// gemm.py" in line and "T.clear(" in line and "{}" in line)
    edited = edit(base, (line, line.replace("= {};", "= {0};")))
    result = merge(base, edited, emitted(text=LONGER))
    number = int(re.search(r"gemm.py:(\d+)", line)[1])
    assert line.replace("= {};", "= {0};").replace(f"py:{number}", f"py:{number + 2}") in lines_of(result.text)


def test_both_sides_of_a_conflict_stay(base):
    edited = edit(base, ("constexpr int BM = 128;", "constexpr int BM = 256;"), KNOB, STATEMENT)
    new = edit(emitted({"BM": 64}, LONGER), ("+= a[r][kk] * b[c];", "+= b[c] * a[r][kk];"))
    result = merge(base, edited, new)
    lines = lines_of(result.text)
    assert [c.line for c in result.conflicts] == [n for n, line in enumerate(lines, 1) if line.startswith("<<<<<<<")]
    knob, statement = result.conflicts
    assert knob.edited == knob.new == "knobs"
    names = statement.edited, statement.new
    old_line, new_line = (int(re.match(r"gemm.py:(\d+)  T.gemm", name)[1]) for name in names)
    assert new_line == old_line + 2
    start = statement.line - 1
    assert [line.strip() for line in lines[start:start + 7]] == [
        f"<<<<<<< edited: {statement.edited}", STATEMENT[1], "||||||| as it was emitted", STATEMENT[0], "=======",
        "C_local[r][c] += b[c] * a[r][kk];", f">>>>>>> new: {statement.new}"]
    block = lines[knob.line - 1:knob.line + 6]
    assert [line.split(";")[0] for line in block[1:6:2]] == [f"constexpr int BM = {n}" for n in (256, 128, 64)]
    assert "constexpr int BN = 64;" in result.text, "the other knob is no part of the conflict"


def test_markers_of_an_earlier_merge_are_refused(base):
    conflict = merge(base, edit(base, STATEMENT), edit(base, ("+= a[r][kk] * b[c];", "+= 0;"))).text
    assert marker_line(conflict) and not marker_line(base)
    with pytest.raises(TilegenError) as raised:
        merge(base, conflict, base, "m.cu")
    assert raised.value.code == "TG0705" and raised.value.loc.line == marker_line(conflict)


def test_an_edit_under_a_statement_that_is_gone_is_a_conflict(base):
    """T.clear has become T.fill(.., 1); the edit of its line stays to be seen."""
    new = emitted(text=GEMM.read_text().replace("T.clear(C_local)", "T.fill(C_local, 1.0)"))
    line = next(line for line in lines_of(base) if "T.clear(" in line and "{}" in line)
    edited = edit(base, (line, line.replace("= {};", "= {0};")))
    result = merge(base, edited, new)
    conflict, = result.conflicts
    assert "T.clear" in conflict.edited
    assert line.replace("= {};", "= {0};") in result.text and "T.fill(C_local, 1.0)" in result.text


def test_a_removed_origin_comment_is_an_edit(base):
    comment = next(line for line in lines_of(base) if re.match(r"\s+// gemm.py:\d+  T.copy\(B", line))
    edited = edit(base, (comment + "\n", ""))
    result = merge(base, edited, base).text
    assert result.partition("// tilegen-launch:")[0] == edited.partition("// tilegen-launch:")[0]
    assert len(read_contract(result).line_map) == len(read_contract(base).line_map) - 1
    assert merge(base, edited, emitted(text=LONGER)).conflicts == ()


def test_an_edited_contract_is_kept_by_field(base):
    new = emitted(text=LONGER)
    edited = edit(base, ('"grid": ["ceildiv(N, BN)", "ceildiv(M, BM)", "1"]', '"grid": ["ceildiv(N, BN)", "7", "1"]'))
    contract = read_contract(merge(base, edited, new).text)
    assert contract.launches[0].grid == ("ceildiv(N, BN)", "7", "1")
    assert contract.ir == read_contract(new).ir
    disputed = merge(base, edited, new.replace('"ceildiv(M, BM)", "1"]', '"8", "1"]'))
    conflict, = disputed.conflicts
    noted = merge(base, edit(base, ("]}}\n", "]}}  // mine\n")), new).text
    assert noted == edit(new, ("]}}\n", "]}}  // mine\n")), "what stands behind the contract is kept"
    unread = merge(base, edited, new.replace('"knobs": [', '"knobs": [,')).text
    assert '"7"' in unread and '"knobs": [,' in unread, "a contract that is no JSON is merged as text"
    assert conflict.edited == "contract (grid)" and '"7"' in disputed.text and '"8"' in disputed.text


def test_a_deleted_contract_comes_back(base):
    contract = next(region for region in regions(base) if region.section == "contract")
    edited = edit(base, ("\n".join(contract.lines) + "\n", ""), STATEMENT)
    result = merge(base, edited, base)
    assert result.contract_was_missing and not result.conflicts
    assert result.text == edit(base, STATEMENT)


def test_random_edits_are_never_lost(base):
    """Each line that somebody wrote is in the result, as text or in a conflict."""
    new = emitted({"BM": 64, "BK": 16}, LONGER)
    lines = lines_of(base)
    contract = next(n for n, line in enumerate(lines) if line.startswith("// tilegen-launch"))
    for first in [*range(10, len(lines), 37), *range(contract - 1, contract + 12)]:
        edited = "\n".join([*lines[:first], f"// edit {first}", *lines[first + first % 3:]])
        assert f"// edit {first}" in lines_of(merge(base, edited, new).text)


# ---- Python --------------------------------------------------------------------------------------
def test_the_python_argument_of_a_knob(base):
    source = python.read(GEMM, "matmul")
    line = 1 + next(n for n, text in enumerate(source.lines) if "BM=T.by_target" in text)

    def words(name, after, text=base, at=source):
        return advice.for_constant(knobs.Change(name, "1", after), text, at)
    assert words("BN", "64") == f"-D BN=64, or BN=64 in the signature (06_gemm.py:{line})"
    assert words("THREADS", "128").startswith("threads=128 in T.Kernel (gemm.py:")
    assert words("A_PAD", "4") == "a T.alloc_shared whose rows have 4 more columns"
    assert words("DEPTH_VEC", "2") == "no argument: the planner decides it"
    assert words("M", "64", emitted({"M": 128})) == "-D M=64"
    assert words("BN", None) == ""


UNROLLED = '''
import tilegen
import tilegen.language as T

@tilegen.jit
def twice(A: T.Tensor[(64,), "float32"], B: T.Tensor[(64,), "float32"]):
    with T.Kernel(1, threads=64) as bx:
        for i in T.unroll(4, unroll_factor=2):
            for j in T.Parallel(16):
                B[i * 16 + j] = A[i * 16 + j]
'''


def test_the_python_argument_of_an_unroll_factor(base):
    text = emitted(text=UNROLLED)
    (region, was, now), = advice.unrolled(text, edit(text, ("#pragma unroll 2", "#pragma unroll 4")))
    assert (was, now) == ("#pragma unroll 2", "#pragma unroll 4") and "T.unroll" in region.name
    assert advice.for_unroll(region, now) == "unroll_factor=4 in T.unroll"
    head, comment, tail = base.partition("T.gemm(A_shared, B_shared, C_local)\n")
    (region, _, now), = advice.unrolled(base, head + comment + edit(tail, ("#pragma unroll\n", "#pragma unroll 4\n")))
    assert advice.for_unroll(region, now) == "no argument: these loops are the planner's"


def test_lines_of_both_files_lead_to_each_other(base):
    """Every line under an origin leads to its Python line, which leads back to a span around it."""
    contract, source = read_contract(base, "m.cu"), python.read(GEMM, "matmul")
    for region in regions(base):
        if region.origin is None:
            continue
        _, place = places.python_place(base, region.first, contract, source)
        assert place == region.origin and source.text(place.line).startswith(place.text[:20])
        found = places.emitted_lines(base, "gemm.py", place.line)
        assert any(e.first == region.first and region.last >= e.last >= e.first for e in found)
    number = 1 + next(n for n, line in enumerate(lines_of(base)) if line.startswith("constexpr int BN"))
    _, place = places.python_place(base, number, contract, source)
    assert "BN=" in source.text(place.line)


def test_a_statement_is_found_by_its_words():
    lines = ["import tilegen", "", "T.copy(A,", "       B)", "T.clear(C)", "T.clear(C)",
             "T.gemm(A_shared, B_shared, C)"]
    source = python.Source("gemm.py", tuple(lines))
    assert source.line_of(9, "T.copy(A, B)") == 3
    assert source.line_of(9, "T.gemm(A_shared, B ...") == 7
    assert source.line_of(9, "T.gemm(A_shared, B") == 0
    assert source.line_of(6, "T.clear(C)") == 6 and source.line_of(9, "T.clear(C)") == 0, "two could be it"
