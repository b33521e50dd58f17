"""The notebooks of examples/notebooks run on the CPU and the emulator; the magics of `%load_ext tilegen`; pages."""

import importlib.util
import os
import re
from html.parser import HTMLParser
from pathlib import Path

import nbclient
import nbformat
import pytest

import tilegen
import tilegen.language as T
from tilegen import explain, kernel_files, notebook
from tilegen.build.lint import Resources
from tilegen.display.page import page
from tilegen.display.source_lines import highlighted, owners
from tilegen.errors import TilegenError

ROOT = Path(__file__).resolve().parent.parent
NOTEBOOKS = sorted((ROOT / "examples" / "notebooks").glob("*.ipynb"))


def run(cells, gpu=False):
    """The notebook of these cells after it has run; without a GPU if not `gpu`."""
    if isinstance(cells, (str, Path)):
        book = nbformat.read(cells, as_version=4)
    else:
        book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
    client = nbclient.NotebookClient(book, timeout=300, kernel_name="python3", allow_errors=False)
    hidden = {} if gpu else {"CUDA_VISIBLE_DEVICES": "-1"}
    path = [str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
    client.execute(env={**os.environ, "PYTHONPATH": os.pathsep.join(path), **hidden})
    return book


def outputs(cell, kind="text/plain"):
    """What a cell shows: text of streams, errors and results, or its results as HTML."""
    texts = [out.get("text") or out.get("data", {}).get(kind, "") or "\n".join(out.get("traceback", []))
             for out in cell.outputs]
    return "\n".join(texts)


# ---- The examples --------------------------------------------------------------------------------
@pytest.mark.parametrize("file", [pytest.param(f, id=f.stem, marks=[pytest.mark.torch] if "torch" in f.stem else [])
                                  for f in NOTEBOOKS])
def test_notebook(file):
    if "torch" in file.stem and importlib.util.find_spec("torch") is None:
        pytest.skip("torch is not installed: see .ci/run")
    check(run(file), file)


@pytest.mark.gpu
@pytest.mark.parametrize("file", NOTEBOOKS, ids=lambda f: f.stem)
def test_gpu_notebook(file):
    check(run(file, gpu=True), file)


def check(book, file):
    """Every cell did what it is for."""
    for cell in book.cells:
        if "raises-exception" in cell.metadata.get("tags", ()):
            assert [out.output_type for out in cell.outputs][-1:] == ["error"], cell.source
            assert "error[TG" in outputs(cell) and "Traceback" not in outputs(cell)
    shown = "".join(outputs(cell, "text/html") for cell in book.cells if cell.cell_type == "code")
    if "torch" not in file.stem:
        assert 'class="tilegen"' in shown and "tg-line" in shown
    assert re.search(r"<td>[\d.]+ us</td>", shown), "a race has times"


@pytest.mark.parametrize("file", NOTEBOOKS, ids=lambda f: f.stem)
def test_notebooks_are_committed_without_outputs(file):
    book = nbformat.read(file, as_version=4)
    nbformat.validate(book)
    assert not any(cell.get("outputs") for cell in book.cells)
    assert file.read_text() == nbformat.writes(book) + "\n", "as nbformat writes it"


# ---- Magics --------------------------------------------------------------------------------------
KERNEL = '''%load_ext tilegen
import numpy, tilegen, tilegen.language as T

@tilegen.jit
def scale(x: T.Tensor[("n",), "float32"], y: T.Tensor[("n",), "float32"], BN=64, factor=2.0):
    with T.Kernel(T.ceildiv(n, BN), threads=64) as bx:
        for i in T.Parallel(BN):
            y[bx * BN + i] = x[bx * BN + i] * factor'''
RAW = '''%%tilegen scale {options}
extern "C" __global__ void scale(const float* x, float* y, int n)
{{
    const int i = blockIdx.x * {width} + threadIdx.x;
    if (i < n) y[i] = x[i] * 2;
}}'''


def test_a_cell_bound_to_a_contract():
    book = run([KERNEL, RAW.format(options="--check", width="BN"), "x = numpy.arange(100, dtype='float32')\n"
                "assert (scale_cell(x) == 2 * x).all(); print(scale_cell.knobs)", "scale_cell"])
    assert outputs(book.cells[1]).strip().splitlines()[-1] == "scale_cell: scale on the emulator, right"
    assert "'BN': 64" in outputs(book.cells[2])
    assert 'class="tilegen"' in outputs(book.cells[3], "text/html")
    assert not any("<progress" in outputs(cell, "text/html") for cell in book.cells), "the bar is gone"


def failed(*cells):
    with pytest.raises(nbclient.exceptions.CellExecutionError) as caught:
        run([KERNEL, *cells])
    return str(caught.value)


def test_a_cell_that_is_wrong():
    assert "error[TG0703]" in failed(RAW.format(options="--check", width="BN").replace("* 2", "* 3"))


def test_a_cell_that_does_not_compile_names_its_own_line():
    text = failed(RAW.format(options="", width="BN").replace("x[i] * 2;", "x[i] * two;"))
    assert "TG0302" in text or "TG0602" in text
    assert ":5" in text and "two" in text, "the magic is line 1"


@pytest.mark.parametrize("cells, text", [
    (["%%tilegen nothing\nint x;"], "nothing is not a kernel"),
    (["%%tilegen scale --on mars\nint x;"], "invalid choice: 'mars'"),
    (["%%tilegen scale\nint x;"], "the cell has no function scale"),
    (["%tilegen_bench 1 +"], "cannot read"),
])
def test_mistakes_in_magics(cells, text):
    assert text in failed(*cells)


def test_a_race():
    book = run([KERNEL, "x = numpy.ones(1000, 'float32')\nrace = %tilegen_bench x * 2, scale(x) --on host\nrace"])
    html = outputs(book.cells[1], "text/html")
    assert html.count("<tr>") == 3 and "<code>x * 2</code>" in html and "1.00x" in html
    assert "scale(x)" in outputs(book.cells[1])


def test_a_terminal_shows_no_bar():
    progress = notebook.Progress(object(), 3)
    with progress:
        progress.step("one")
    assert progress._shown is None and progress.done == 1


# ---- Pages ---------------------------------------------------------------------------------------
class Tags(HTMLParser):
    """Checks that tags are closed in order; keeps text by the tag and class that it is in."""

    def __init__(self):
        super().__init__()
        self.open, self.lines, self.summaries, self.texts = [], [], [], []

    def handle_starttag(self, tag, attributes):
        self.open.append(tag)
        attributes = dict(attributes)
        if attributes.get("class") == "tg-line":
            self.lines.append([attributes["data-n"], attributes.get("data-l"), ""])

    def handle_endtag(self, tag):
        assert self.open and self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] == "summary":
            self.summaries.append(data)
        if "pre" in self.open and self.lines:
            self.lines[-1][2] += data
        self.texts.append(data)


def parsed(html):
    tags = Tags()
    tags.feed(html)
    assert not tags.open
    return tags


def test_a_page_has_both_texts_and_their_lines():
    kernel = kernel_files.find(str(ROOT / "examples" / "06_gemm.py"))
    made = kernel.specialised("cuda", "sm_80")
    html = page(made.source, kernel._python(), explain.decisions(made.planned), Resources(168, 0, 0, 0, 0))
    tags = parsed(html)
    python = [line for line in tags.lines if line[2].strip() in
              [text.strip() for text in (ROOT / "examples" / "06_gemm.py").read_text().splitlines()]]
    gemm = next(line for line in python if line[2].strip() == "T.gemm(A_shared, B_shared, C_local)")
    assert gemm[0] == gemm[1] == "21"
    emitted = made.source.splitlines()
    last = tags.lines[-len(emitted):]
    assert [line[2] for line in last] == [text or " " for text in emitted], "escaped and coloured, the text is the text"
    partners = [int(line[0]) for line in last if line[1] == "21"]
    first, stop = re.search(r'"21": \[(\d+),\s*(?://\s*)?(\d+)\]', made.source).groups()
    assert partners == list(range(int(first), int(stop) + 1))
    assert '#tilegen-' in html and ':has([data-l="21"]:hover) [data-l="21"]' in html
    assert tags.summaries == ["12 knobs", f"{len(explain.decisions(made.planned))} decisions", "168 registers"]
    assert "http" not in re.sub(r"https?://\S*\.py", "", html), "nothing is fetched"


def test_what_has_no_contract_is_shown_as_it_is():
    tags = parsed(page('int x = 1 < 2 && 3 > 2;  // <script>alert("x")</script>\n'))
    assert tags.lines == [["1", None, 'int x = 1 < 2 && 3 > 2;  // <script>alert("x")</script>']]


def test_names_and_reasons_are_escaped():
    kernel = kernel_files.find(str(ROOT / "examples" / "01_add.py"))
    made = kernel.specialised("cuda", "sm_80")
    html = page(made.source, None, [explain.Decision("a<b>", "</td><script>1</script>", "x&y")])
    assert "<script>1" not in html and "a&lt;b&gt;" in html and parsed(html)


def test_the_innermost_range_owns_a_line():
    assert owners({"3": (1, 9), "5": (4, 6), "6": (5, 5)}) == {
        **dict.fromkeys((1, 2, 3, 7, 8, 9), 3), 4: 5, 6: 5, 5: 6}


def test_colours_keep_every_line():
    text = 'a = """\n\nmany\n"""  # <b>\n\nb = 2'
    assert len(highlighted(text, "python")) == 6


def test_a_kernel_shows_what_is_known_without_compiling():
    @tilegen.jit(target="cpu")
    def twice(x: T.Tensor[("n",), "float32"], y: T.Tensor[("n",), "float32"]):
        with T.Kernel(T.ceildiv(n, 64), threads=64) as bx:
            for i in T.Parallel(64):
                y[bx * 64 + i] = x[bx * 64 + i] * 2
    html = twice._repr_html_()
    assert "def</span>" in html and "registers" not in html
    assert "loaded" not in twice.here().__dict__


def test_the_contract_of_a_cell():
    kernel = kernel_files.find(str(ROOT / "examples" / "06_gemm.py"))
    emitted = kernel.emit("cuda", "sm_80")
    assert notebook.of_cell(emitted, emitted) == emitted
    cell = 'constexpr int BM = 16;\nextern "C" __global__ void matmul(const float* A) {}'
    bound = notebook.of_cell(cell, emitted)
    loaded = tilegen.load(bound)
    assert bound.splitlines()[1:3] == cell.splitlines(), "lines keep their numbers, after the line of the magic"
    assert loaded.knobs["BM"] == 16 and loaded.knobs["BN"] == 128 and not loaded.contract.line_map
    with pytest.raises(TilegenError, match="the cell has no function matmul") as caught:
        notebook.of_cell("int x;", emitted)
    assert "matmul(const float* __restrict__ A" in caught.value.hint
