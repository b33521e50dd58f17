"""What README.md and docs/ show is true: commands run, outputs are those shown, excerpts are emitted, codes are known.

A block after `<!-- run -->` is run, in the order of its page and in one folder; after `<!-- run fails -->` its last
command has to fail. A text block right below shows lines of the output, or how they start; numbers may differ.
`<!-- emitted ... -->` stands before an excerpt of what that command prints, where `...` is for lines left out.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from test_layers import LAYERS

from tilegen import ir
from tilegen.errors import CODES
from tilegen.passes import PIPELINES

ROOT = Path(__file__).resolve().parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
RUN = re.compile(r"<!-- run(?P<fails> fails)? -->\n```(?P<language>sh|python)\n(?P<code>.*?)```\n"
                 r"(?:```text\n(?P<output>.*?)```)?", re.DOTALL)
EXCERPT = re.compile(r"<!-- emitted: (?P<command>.*?) -->\n\n```\w+\n(?P<text>.*?)```", re.DOTALL)
NUMBER = re.compile(r"-?\b\d+(?:\.\d+)?(?:e[-+]?\d+)?")


def runs(page):
    return list(RUN.finditer(page.read_text(encoding="utf-8")))


@pytest.fixture
def shell(tmp_path):
    """run(code, language) -> (exit status, output), in a folder like the repository's, without a GPU."""
    programs = tmp_path / "bin"
    programs.mkdir()
    for name, command in (("tilegen", "-m tilegen"), ("python", "")):
        (programs / name).write_text(f'#!/bin/sh\nexec "{sys.executable}" {command} "$@"\n')
        (programs / name).chmod(0o755)
    folder = tmp_path / "tilegen"
    folder.mkdir()
    for name in ("examples", "generated"):
        (folder / name).symlink_to(ROOT / name)
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PATH": f"{programs}:{os.environ['PATH']}",
                   "CUDA_VISIBLE_DEVICES": "-1"}
    place = tmp_path / "place"
    place.write_text(str(folder))

    def run(code, language):
        script = code if language == "sh" else f"cat > program.py <<'CODE'\n{code}CODE\npython program.py"
        whole = f"trap 'pwd > {place}' EXIT\nset -e\n{script}"
        done = subprocess.run(["bash", "-c", whole], check=False, cwd=place.read_text().strip(), env=environment,
                              text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        return done.returncode, done.stdout
    return run


def same(line):
    """A line of output with its numbers taken out."""
    return NUMBER.sub("#", line).strip()


@pytest.mark.parametrize("page", [page for page in PAGES if runs(page)], ids=lambda page: page.name)
def test_commands_do_what_the_page_shows(page, shell):
    for block in runs(page):
        status, output = shell(block["code"], block["language"])
        assert bool(status) == bool(block["fails"]), f"{block['code']}\n{output}"
        rest = iter(same(line) for line in output.splitlines())
        for line in (block["output"] or "").splitlines():
            shown = same(line)
            if shown != "...":
                assert any(found.startswith(shown) for found in rest), f"{line!r} is not in\n{output}"


def test_the_pages_have_commands():
    assert sum(len(runs(page)) for page in PAGES) >= 10


# ---- Excerpts ------------------------------------------------------------------------------------
EXCERPTS = [match for page in PAGES for match in EXCERPT.finditer(page.read_text(encoding="utf-8"))]


@pytest.mark.parametrize("excerpt", EXCERPTS, ids=lambda match: match["command"])
def test_excerpts_are_what_is_emitted(excerpt, shell):
    """Each part between `...` lines stands in the emitted text as it is, one after the other."""
    status, emitted = shell(excerpt["command"], "sh")
    assert status == 0, emitted
    at = 0
    for part in re.split(r"^\s*\.\.\.\n", excerpt["text"], flags=re.MULTILINE):
        found = emitted.find(part.strip("\n"), at)
        assert found >= 0, f"not emitted:\n{part}"
        at = found + len(part.strip("\n"))


def test_the_readme_shows_emitted_code():
    assert EXCERPTS
    python = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(encoding="utf-8"), re.DOTALL)[0]
    assert python.strip() in (ROOT / "examples" / "03_transpose.py").read_text(encoding="utf-8")


# ---- Links and codes -----------------------------------------------------------------------------
def anchor(heading):
    """The fragment that a heading gets on a web page."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)\s]+)\)", page.read_text(encoding="utf-8")):
        if target.startswith("http"):
            continue
        file, _, fragment = target.partition("#")
        path = (page.parent / file).resolve() if file else page
        assert path.exists(), f"{page.name} links to {target}"
        if fragment:
            headings = re.findall(r"^#+ (.*)$", path.read_text(encoding="utf-8"), re.MULTILINE)
            assert fragment in map(anchor, headings), f"{page.name} links to {target}"


@pytest.mark.parametrize("code", CODES)
def test_every_error_code_is_explained(code):
    page = (ROOT / "docs" / "troubleshooting.md").read_text(encoding="utf-8")
    assert len(re.findall(rf"^\*\*{code}\*\* ", page, re.MULTILINE)) == 1


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_no_page_names_an_unknown_code(page):
    assert set(re.findall(r"\bTG\d{4}\b", page.read_text(encoding="utf-8"))) <= set(CODES)


# ---- The design ----------------------------------------------------------------------------------
DESIGN = (ROOT / "docs" / "design.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("family", PIPELINES)
def test_the_design_lists_the_passes_in_order(family):
    names = [step.__name__ for step in PIPELINES[family]]
    rows = re.findall(r"^\| `(\w+)` \|", DESIGN, re.MULTILINE)
    first = next(n for n in range(len(rows)) if rows[n:n + 2] == names[:2])
    assert rows[first:first + len(names)] == names


def test_the_design_lists_the_layers_in_order():
    table = DESIGN.partition("## Layers")[2].partition("## ")[0]
    rows = re.findall(r"^\| (`.*?`) \|", table, re.MULTILINE)
    names = [name.removesuffix(".py").removesuffix("/") for row in rows for name in re.findall(r"`(.*?)`", row)]
    assert names == LAYERS


def test_the_design_lists_every_node():
    nodes = {name for name, value in vars(ir).items() if isinstance(value, type) and issubclass(value, ir.Node)}
    text = DESIGN.partition("## The Tile IR")[2].partition("## ")[0]
    assert nodes - {"Node", "Expr", "Stmt"} <= set(re.findall(r"\w+", text))
