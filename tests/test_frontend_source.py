"""Where a kernel's text comes from: files, notebook cells, the prompt; and columns in any script."""

import importlib.util
import linecache

import pytest
import tilegen.language as T
from tilegen.errors import TilegenError
from tilegen.frontend import parse
from tilegen.frontend.source import source_of

CELL = '''\
import tilegen.language as T

block = 16


@T.prim_func
def fill(A: T.Tensor(("N",), "float32")):
    with T.Kernel(T.ceildiv(N, block)) as bx:
        A[bx] = {value}
'''


def kernel_in(file, text, name="fill", known=True):
    if known:
        linecache.cache[file] = (len(text), None, text.splitlines(True), file)
    names = {}
    exec(compile(text, file, "exec"), names)
    return names[name]


@pytest.mark.parametrize("file", ["<ipython-input-3-5f2a>", "/tmp/ipykernel_11/77.py", "<python-input-0>"])
def test_notebook_cells_and_the_prompt(file):
    kernel = parse(kernel_in(file, CELL.format(value="1")))
    assert [k.name for k in kernel.knobs] == ["block"]
    assert kernel.body[0].loc.file == file and kernel.body[0].loc.line == 9
    with pytest.raises(TilegenError) as caught:
        parse(kernel_in(file, CELL.format(value="missing")))
    assert f"--> {file}:9:17" in str(caught.value) and "^^^^^^^" in str(caught.value)


def test_text_that_nobody_kept():
    with pytest.raises(TilegenError) as caught:
        parse(kernel_in("<stdin>", CELL.format(value="1"), known=False))
    assert caught.value.code == "TG0003" and "notebook cell" in caught.value.hint


def test_a_file_that_changed(tmp_path):
    path = tmp_path / "kernel.py"
    path.write_text(CELL.format(value="1"))
    spec = importlib.util.spec_from_file_location("changed", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert parse(module.fill).name == "fill"
    path.write_text("# a new first line\n" + CELL.format(value="1"))
    with pytest.raises(TilegenError) as caught:
        parse(module.fill)
    assert caught.value.code == "TG0003" and "changed after its import" in caught.value.hint
    path.write_text("def broken(:\n")
    with pytest.raises(TilegenError, match="does not parse any more"):
        parse(module.fill)


def test_what_is_no_function():
    for thing in (3, print, T.copy.operation, lambda A: A):
        with pytest.raises(TilegenError) as caught:
            parse(thing)
        assert caught.value.code == "TG0003"


def test_columns_count_characters():
    def kernel(größe: T.Tensor[("N",), "float32"]):
        with T.Kernel(1):
            größe[0] = 1; größe[1] = ünknown  # noqa: E702

    with pytest.raises(TilegenError) as caught:
        parse(kernel)
    loc = caught.value.loc
    assert loc.text()[loc.column:loc.end_column] == "ünknown"


def test_indented_decorated_and_repeated_functions():
    def wrap(function):
        return function

    class Holder:
        @staticmethod
        @wrap
        @wrap
        def kernel(A: T.Tensor[("N",), "float32"]):
            with T.Kernel(1):
                A[0] = 1

    first = Holder.kernel

    def kernel(A: T.Tensor[("N",), "float32"]):
        with T.Kernel(1):
            A[0] = 2

    assert parse(first).body[0].value.value == 1.0
    assert parse(kernel).body[0].value.value == 2.0
    assert [type(node).__name__ for node in source_of(kernel).around] == ["FunctionDef", "Module"]


def test_annotations_that_are_not_evaluated():
    text = "from __future__ import annotations\n" + CELL.format(value="1")
    assert parse(kernel_in("<future>", text)).params[0].buffer.dtype.name == "float32"
