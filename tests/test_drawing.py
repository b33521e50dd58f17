"""Pictures of layouts: as text for a terminal, as SVG for everything else."""

import json
import re
from pathlib import Path
from xml.etree import ElementTree

import pytest
from click.testing import CliRunner
from layout_annotated import CASES
from tilegen import drawing
from tilegen.cli.show import explain
from tilegen.kernel_files import find

EXAMPLES = Path(__file__).resolve().parent.parent / "examples"
SPACE = "{http://www.w3.org/2000/svg}"


def planned(name, target="cuda"):
    return next(c for c in CASES if c.name == name).specialised(target).planned


def picture(name, buffer, target="cuda"):
    return next(p for p in drawing.pictures(planned(name, target)) if p.name == buffer)


def shown(output, name):
    """The lines about a buffer, and the cells of its rows."""
    lines = output.split(f"{name}: ", 1)[1].split("\n\n")[0].splitlines()
    rows = [line.split() for line in lines if re.match(r" +\d+ +\d+[./]\d+", line)]
    return lines, [[cell for cell in row[1:] if cell != "..."] for row in rows]


def test_the_text_has_thread_and_register_of_every_element():
    result = CliRunner().invoke(explain, [str(EXAMPLES / "10_flash_attention.py"), "--layouts"])
    assert result.exit_code == 0, result.output
    lines, rows = shown(result.output, "S_local")
    assert lines[0] == "fragment 128 x 64 float32" and "the accumulator of mma_m16n8k16_f16" in " ".join(lines)
    assert rows[0][:10] == "0.0 0.1 1.0 1.1 2.0 2.1 3.0 3.1 0.2 0.3".split()
    assert len(rows) == 16 and all(len(row) == 16 for row in rows) and rows[9][0] == "36.0"
    lines, _ = shown(result.output, "row_max")
    assert "every element is in 4 threads, of which the first is shown" in " ".join(" ".join(lines).split())
    assert {"Q_shared", "K_shared", "V_shared", "P_local", "O_local"} <= set(re.findall(r"^(\w+):", result.output, re.M))


def test_a_fragment_is_drawn_as_its_table_says():
    cells = picture("fragment_by_columns", "x").rows
    for i in range(32):
        for j in range(32):
            thread = int(cells[i][j].text.split(".")[0])
            assert thread == j // 4 % 2 * 32 + i == cells[i][j].tone


@pytest.mark.parametrize("buffer, place", [
    ("a", lambda i, j: i * 32 + (j // 8 ^ i // 2 % 4) * 8 + j % 8), ("b", lambda i, j: i * 64 + (j ^ i % 8 * 8))])
def test_a_shared_tile_is_drawn_by_pieces_and_banks(buffer, place):
    drawn = picture("swizzled_operands", buffer)
    assert drawn.each == 8 and "16 bytes" in drawn.legend
    for i, row in enumerate(drawn.rows):
        for piece, cell in enumerate(row):
            byte = 2 * place(i, 8 * piece)
            assert cell.text == f"{byte // 16 % 8}/{byte // 4 % 32}" and f"byte {byte}," in cell.tip


def test_what_is_not_in_pieces_is_drawn_by_elements():
    drawn = picture("columns_first", "a")
    assert drawn.each == 1 and drawn.rows[3][5].text == f"{(5 * 32 + 3) // 4 % 8}/{(5 * 32 + 3) % 32}"


def test_a_tile_of_the_cpu_is_drawn_in_its_panels():
    drawn = picture("swizzled_operands", "a", "cpu")
    assert "in panels of MR" in drawn.legend
    places = [int(cell.text) for row in drawn.rows for cell in row]
    assert len(set(places)) == len(places) and int(drawn.rows[1][0].text) == 1


def test_every_svg_is_well_formed_and_has_a_tip_on_every_cell():
    kernel = find(str(EXAMPLES / "10_flash_attention.py"))
    pictures = kernel.layouts("cuda")
    assert {"Q_shared", "S_local", "row_max"} <= set(pictures)
    for name, text in pictures.items():
        root = ElementTree.fromstring(text)
        assert root.tag == f"{SPACE}svg" and "http" not in text.replace("http://www.w3.org/2000/svg", "")
        groups = root.findall(f"{SPACE}g")
        assert groups and all(g.find(f"{SPACE}title").text.startswith(f"{name}[") for g in groups)
        assert len(text) < 400_000
    cells = [g.find(f"{SPACE}text").text for g in ElementTree.fromstring(pictures["S_local"]).findall(f"{SPACE}g")]
    assert cells[:4] == ["0.0", "0.1", "1.0", "1.1"] and len(cells) == 32 * 32
    assert "The first 32 x 32 cells are shown." in pictures["S_local"]


def test_threads_of_different_warps_have_different_colours():
    text = drawing.svg(picture("fragment_by_columns", "x"))
    fills = re.findall(r'fill="(hsl[^"]+)"/><text[^>]*>(\d+)\.', text)
    by_thread = {thread: fill for fill, thread in fills}
    assert len(set(by_thread.values())) == len(by_thread) == 64


def test_the_pictures_as_json():
    result = CliRunner().invoke(explain, [str(EXAMPLES / "03_transpose.py"), "--layouts", "--json"])
    assert json.loads(result.output)["tile"].startswith("<svg ")
