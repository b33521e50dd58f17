"""Rows that are made of whole vectors because T.assume says so, and rows that are not."""

import numpy
import pytest
from generated_files import ROOT, Generated
from generated_runs import wrong
from tilegen import TilegenError, kernel_files

KERNELS = ("04_softmax", "05_layernorm", "16_rmsnorm", "19_row_sum")
SMALL = {"BN": 1024, "threads": 128}
KNOBS = {"04_softmax": SMALL, "05_layernorm": SMALL, "16_rmsnorm": SMALL | {"BK": 512}, "19_row_sum": SMALL}


@pytest.fixture(autouse=True)
def in_the_project(monkeypatch):
    monkeypatch.chdir(ROOT)


def specialised(name: str, target: str = "cuda", **knobs):
    return Generated(name, target).specialised(**KNOBS[name] | knobs)


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
@pytest.mark.parametrize("name", KERNELS)
def test_whole_rows_have_one_path(name, dtype):
    made = specialised(name, dtype=dtype)
    assert "load_if<X_VEC>" in made.source and "load_inside<X_VEC>" not in made.source
    assert not wrong(Generated(name, "cuda"), made.kernel, made.source, {"M": 3, "N": 1000})


@pytest.mark.parametrize("target", ["cuda", "hip"])
@pytest.mark.parametrize("name", KERNELS)
def test_ragged_rows_are_right(name, target):
    made = specialised(name, target, multiple=1)
    assert "load_inside<X_VEC>" in made.source and "load_if<" not in made.source
    for sizes in ({"M": 3, "N": 1001}, {"M": 1, "N": 1}, {"M": 2, "N": 1024}):
        assert not wrong(Generated(name, target), made.kernel, made.source, sizes)


def test_accesses_are_of_16_bytes():
    """By the type in memory, not by that of the fragment, which is float32."""
    for dtype, vector in (("float32", 4), ("float16", 8), ("bfloat16", 8)):
        assert f"X_VEC = {vector};" in specialised("19_row_sum", dtype=dtype).source


def test_the_contract_says_what_rows_and_tensors_are_multiples_of():
    contract = Generated("19_row_sum", "cuda").contract
    assert contract.requires == ("N <= BN", "N % multiple == 0")
    assert {p.name: p.align for p in contract.params} == {"X": 16, "total": 1}


def test_a_call_that_breaks_a_promise_is_refused():
    kernel = kernel_files.find("examples/19_row_sum.py").specialize(dtype="float32", BN=1024, threads=128)
    emulated = kernel.specialised("cuda", "sm_80").emulated
    with pytest.raises(TilegenError, match="TG0409"):
        emulated(numpy.zeros((3, 1001), "float32"))
    room = numpy.zeros(3 * 1000 + 8, "float32")
    start = next(i for i in range(1, 5) if room[i:].ctypes.data % 16)
    with pytest.raises(TilegenError, match="TG0406"):
        emulated(room[start:start + 3000].reshape(3, 1000))
