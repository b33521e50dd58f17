"""docs/language.md has every public name of the language with its signature, and its examples parse."""

import inspect
import linecache
import re
from pathlib import Path

import pytest

import tilegen
import tilegen.language as T

PAGE = (Path(__file__).resolve().parent.parent / "docs" / "language.md").read_text(encoding="utf-8")
# A name is documented by a heading or by the first cell of a row: `T.copy(src, dst)`, or several names of types.
ENTRY = re.compile(r"^(?:### |\| )((?:`T\.[^`]*` ?)+)", re.MULTILINE)
EXAMPLE = re.compile(r"<!-- parse -->\n```python\n(.*?)```", re.DOTALL)


def entries():
    """{name: signature as text} of everything that the page documents."""
    found = {}
    for group in ENTRY.findall(PAGE.partition("\n## All names\n")[0]):       # the table there has no signatures
        for text in re.findall(r"`T\.([^`]*)`", group):
            name, parenthesis, rest = text.partition("(")
            assert name not in found, f"T.{name} has two entries"
            found[name] = parenthesis + rest
    return found


def signature(function):
    """`(src, dst, *, coalesced_width=None)`, as the page writes it: without types, texts in double quotes."""
    parameters = [p.replace(annotation=p.empty) for p in inspect.signature(function).parameters.values()]
    text = str(inspect.Signature(parameters)).replace("'", '"')
    return re.sub(r'<GemmWarpPolicy\.(\w+): "\w+">', r"T.GemmWarpPolicy.\1", text)


@pytest.mark.parametrize("name", T.__all__)
def test_every_name_is_documented(name):
    assert name in entries()


def test_nothing_else_is_documented():
    assert set(entries()) == set(T.__all__)


@pytest.mark.parametrize("name", [name for name in T.__all__ if inspect.isfunction(getattr(T, name))])
def test_signatures(name):
    assert entries()[name] == signature(getattr(T, name))


def test_the_annotation_of_tensors():
    assert entries()["Tensor"] == signature(T.Tensor)
    assert entries()["StridedTensor"] == signature(T.StridedTensor)


@pytest.mark.parametrize("text", EXAMPLE.findall(PAGE))
def test_examples_parse(text):
    """The last function of an example is a kernel for every target, with sizes known at launch."""
    file = f"<example {hash(text)}>"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    names = {"T": T, "tilegen": tilegen}
    exec(compile(text, file, "exec"), names)
    kernel = list(names.values())[-1]
    kernel = kernel if isinstance(kernel, (tilegen.Kernel, tilegen.Factory)) else tilegen.jit(kernel)
    if isinstance(kernel, tilegen.Factory):
        kernel = kernel(**{name: T.dynamic(name) for name in kernel.missing(())})
    for target in ("cuda", "hip", "maca", "cpu"):
        assert kernel.emit(target)


def test_there_are_examples():
    assert len(EXAMPLE.findall(PAGE)) >= 6
