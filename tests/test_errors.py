"""Users' mistakes: each file in tests/errors holds kernels whose offending line ends in
`# error: TG0104 text that the message contains`. The error has to name that code and that line.

A file may set VALUES = {"kernel": {...}} for the values that a kernel is parsed with.
"""

import ast
import importlib.util
import re
from pathlib import Path

import pytest

from tilegen.errors import CODES, TilegenError
from tilegen.frontend import parse
from tilegen.jit import CHECKS

FOLDER = Path(__file__).parent / "errors"
EXPECTED = re.compile(r"# error: (TG\d{4})\s*(.*)$")


def cases():
    """(file, function, line, code, text) for each kernel with an expected error."""
    found = []
    for path in sorted(FOLDER.glob("TG0[015]*.py")):
        text = path.read_text()
        for node in ast.parse(text).body:
            if isinstance(node, ast.FunctionDef):
                found += expectations(path, node, text.splitlines())
    return found


def expectations(path, node, lines):
    first = min([node.lineno, *(d.lineno for d in node.decorator_list)])
    for line in range(first, node.end_lineno + 1):
        match = EXPECTED.search(lines[line - 1])
        if match:
            yield pytest.param(path, node.name, line, match[1], match[2], id=f"{path.stem}-{node.name}")


def module_of(path):
    spec = importlib.util.spec_from_file_location(f"errors_{path.stem}", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def places(loc):
    """The place of an error, and those of the macro calls around it."""
    while loc is not None:
        yield loc.file, loc.line
        loc = loc.call_site


def checked(function, values):
    kernel = parse(function, values=values)
    for check in CHECKS:
        kernel = check(kernel)
    return kernel


@pytest.mark.parametrize("path, name, line, code, text", cases())
def test_error(path, name, line, code, text):
    module = module_of(path)
    values = getattr(module, "VALUES", {}).get(name)
    with pytest.raises(TilegenError) as caught:
        checked(getattr(module, name), values)
    error = caught.value
    assert error.code == code, str(error)
    assert (str(path), line) in list(places(error.loc)), str(error)
    assert text in f"{error.message} {error.hint}", str(error)
    assert error.hint or code in ("TG0004", "TG0101", "TG0106", "TG0110", "TG0111"), str(error)


def test_every_file_is_named_after_its_code():
    for path in FOLDER.glob("TG*.py"):
        code = path.stem[:6]
        assert code in CODES
        assert f"# error: {code}" in path.read_text(), path


def test_there_are_many():
    assert len(cases()) >= 60
