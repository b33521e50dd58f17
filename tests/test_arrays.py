"""One view over the arrays of several libraries, and the checks before a launch."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import ml_dtypes
import numpy
import pytest
from stand_ins import CudaInterface, CupyModule, Dlpack, Tensor, torch_module

from tilegen.dtypes import bfloat16, bool_, float8_e4m3, float8_e5m2, float16, float32, int32
from tilegen.errors import TilegenError
from tilegen.runtime.arrays import HOST, Device, as_numpy, empty_like_library, require_cupy, view
from tilegen.runtime.binding import bind
from tilegen.runtime.contract import read_contract

CONTRACT = """
constexpr int BM = 4;
// tilegen-launch: {"entry": "f", "target": "cpu", "knobs": ["BM"], "grid": ["ceildiv(M, BM)"], "block": "1",
//   "params": [{"name": "A", "dtype": "float32", "shape": ["M", "K"], "access": "read", "align": 16},
//              {"name": "B", "dtype": "float32", "shape": ["K", "2 * N"], "access": "read"},
//              {"name": "n", "dtype": "int8"},
//              {"name": "C", "dtype": "float32", "shape": ["M", "N"], "access": "write"},
//              {"name": "D", "dtype": "float32", "shape": ["4"], "access": "readwrite"}],
//   "sizes": ["M", "N", "K"], "requires": ["K % 2 == 0"]}
"""


def make(shape: tuple, dtype: str = "float32") -> numpy.ndarray:
    """A NumPy array that starts on a multiple of 64 bytes."""
    size = int(numpy.prod(shape)) * numpy.dtype(dtype).itemsize
    raw = numpy.zeros(size + 64, "uint8")
    start = -raw.ctypes.data % 64
    return raw[start:start + size].view(dtype).reshape(shape)


def arguments(**changes: object) -> dict:
    given = {"A": make((6, 8)), "B": make((8, 10)), "n": 3, "C": make((6, 5)), "D": make((4,))}
    return given | changes


def call(**changes: object):
    return bind(read_contract(CONTRACT), (), arguments(**changes))


def refused(code: str, **changes: object) -> str:
    with pytest.raises(TilegenError) as caught:
        call(**changes)
    assert caught.value.code == code, caught.value
    return str(caught.value)


@pytest.mark.parametrize("dtype, expected", [
    ("float32", float32), ("float16", float16), ("int32", int32), ("bool", bool_),
    (ml_dtypes.bfloat16, bfloat16), (ml_dtypes.float8_e4m3fn, float8_e4m3),
    (ml_dtypes.float8_e5m2, float8_e5m2)])
def test_numpy(dtype: object, expected: object) -> None:
    array = numpy.zeros((2, 3), dtype)
    found = view(array, "A")
    assert (found.dtype, found.shape, found.pointer) == (expected, (2, 3), array.ctypes.data)
    assert found.is_contiguous and not found.readonly and found.device == HOST and found.owner is array
    assert found.nbytes == array.nbytes and as_numpy(found) is array


def test_numpy_strides_and_read_only() -> None:
    array = numpy.zeros((4, 6), "float32")
    assert view(array.T, "A").strides == (1, 6) and not view(array.T, "A").is_contiguous
    assert not view(array[:, ::2], "A").is_contiguous and view(array[1:2, :3], "A").is_contiguous
    assert view(array[:0].T, "A").is_contiguous
    array.flags.writeable = False
    assert view(array, "A").readonly
    packed = numpy.zeros(3, [("a", "i1"), ("b", "f4")])["b"]
    assert not view(packed, "A").is_contiguous


def test_torch() -> None:
    array = numpy.arange(6, dtype="float32").reshape(2, 3)
    found = view(Tensor(array), "A")
    assert (found.library, found.dtype, found.device) == ("torch", float32, HOST)
    assert found.pointer == array.ctypes.data
    assert (as_numpy(found) == array).all() and as_numpy(found).ctypes.data == array.ctypes.data
    assert view(Tensor(array, "cuda", 1), "A").device == Device("gpu", 1)
    assert view(Tensor(array.T), "A").strides == (1, 3)
    with pytest.raises(TilegenError, match="TG0405.*'mps'"):
        view(Tensor(array, "mps"), "A")
    sparse = Tensor(array)
    sparse.layout = "torch.sparse_coo"
    with pytest.raises(TilegenError, match="TG0404"):
        view(sparse, "A")


@pytest.mark.parametrize("dtype", ["float32", "float64", "int8", "uint16", "bool"])
def test_dlpack(dtype: str) -> None:
    array = numpy.ones((3, 4), dtype)
    found = view(Dlpack(array), "A")
    assert (found.library, found.dtype.name, found.shape) == ("dlpack", dtype, (3, 4))
    assert found.pointer == array.ctypes.data
    assert found.is_contiguous and (as_numpy(found) == array).all() and found.device == HOST


def test_dlpack_strides_and_read_only() -> None:
    array = numpy.ones((3, 4), "float32")
    assert view(Dlpack(array.T), "A").strides == (1, 4)
    array.flags.writeable = False
    assert view(Dlpack(array), "A").readonly


def test_dlpack_keeps_the_memory_alive() -> None:
    found = view(Dlpack(numpy.full((1000,), 3, "float32")), "A")
    found.owner = None
    assert (as_numpy(found) == 3).all()


def test_the_interface_protocols() -> None:
    array = numpy.ones((2, 2), "float32")

    class Interface:
        __array_interface__ = array.__array_interface__

    assert view(Interface(), "A").pointer == array.ctypes.data and view(Interface(), "A").device == HOST
    found = view(CudaInterface(array, stream=5, readonly=True), "A")
    assert (found.device, found.stream, found.readonly) == (Device("gpu", 0), 5, True)
    assert found.pointer == array.ctypes.data


@pytest.mark.parametrize("value, words", [([1.0], "a list"), (None, "None"), (3.0, "a float"), ("x", "a str"),
                                          (numpy.float32, "a type")])
def test_what_is_no_array(value: object, words: str) -> None:
    with pytest.raises(TilegenError) as caught:
        view(value, "A")
    assert caught.value.code == "TG0407" and f"argument A is {words}" in caught.value.message


def test_outputs_are_of_the_callers_library(monkeypatch: pytest.MonkeyPatch) -> None:
    assert type(empty_like_library(view(make((2,)), "A"), (3, 4), bfloat16)) is numpy.ndarray
    monkeypatch.setitem(sys.modules, "torch", torch_module())
    made = empty_like_library(view(Tensor(make((2,)), "cuda", 1), "A"), (3, 4), float16)
    assert (made.shape, made.dtype, made.device.index) == ((3, 4), "torch.float16", 1)


def test_a_cupy_that_cannot_be_imported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cupy", None)
    with pytest.raises(TilegenError, match="TG0304") as caught:
        require_cupy("this")
    assert "tilegen[cuda12]" in caught.value.hint
    module = CupyModule()
    monkeypatch.setitem(sys.modules, "cupy", module)
    assert require_cupy("this") is module


def test_a_call_that_fits() -> None:
    bound = call()
    assert [getattr(a, "value", None) for a in bound.arguments[-3:]] == [6, 5, 8]
    assert [a.pointer for a in bound.arguments[:2]] == [bound.arrays[n].owner.ctypes.data for n in "AB"]
    assert bound.geometries[0].grid == (2, 1, 1) and bound.result is None


@pytest.mark.parametrize("code, changes, words", [
    ("TG0403", {"B": make((7, 10))}, "argument B: dimension 0 is 7, but K is 8 from argument A"),
    ("TG0403", {"B": make((8, 12))}, "2 * N is 10 (N is 5 from argument C)"),
    ("TG0403", {"D": make((3,))}, "argument D: dimension 0 is 3, but the kernel is made for 4"),
    ("TG0403", {"A": make((6, 8, 1))}, "argument A has 3 dimensions (6, 8, 1), expected 2: (M, K)"),
    ("TG0402", {"A": make((6, 8), "float64")}, "argument A is float64, expected float32"),
    ("TG0402", {"A": make((6, 8), ">f4")}, "not in native byte order"),
    ("TG0402", {"A": make((6, 8), "complex64")}, "argument A is complex64"),
    ("TG0404", {"A": make((8, 6)).T}, "numpy.ascontiguousarray(A)"),
    ("TG0404", {"C": make((6, 10))[:, ::2]}, "copy it back"),
    ("TG0406", {"A": make((49,))[1:].reshape(6, 8)}, "A starts at an address that is not a multiple of 16"),
    ("TG0406", {"B": make((330,), "uint8")[2:322].view("f").reshape(8, 10)}, "not a multiple of 4 bytes"),
    ("TG0407", {"A": [[1.0]]}, "argument A is a list"),
    ("TG0409", {"A": make((6, 7)), "B": make((7, 10))}, "f requires K % 2 == 0, but K is 7"),
    ("TG0412", {"A": numpy.broadcast_to(numpy.float32(0), (2**17, 2**15))}, "4294967296 elements"),
    ("TG0402", {"n": 2.5}, "argument n is 2.5, expected a scalar of int8"),
    ("TG0402", {"n": 200}, "argument n is 200, outside the range of int8"),
    ("TG0402", {"n": numpy.zeros(3)}, "expected a scalar of int8"),
])
def test_calls_that_do_not_fit(code: str, changes: dict, words: str) -> None:
    assert words in refused(code, **changes)


def test_read_only_outputs() -> None:
    frozen = make((6, 5))
    frozen.flags.writeable = False
    assert "argument C is read only" in refused("TG0410", C=frozen)
    frozen = make((4,))
    frozen.flags.writeable = False
    assert "argument D is read only" in refused("TG0410", D=frozen)
    readable = make((6, 8))
    readable.flags.writeable = False
    assert call(A=readable).arrays["A"].readonly


def test_outputs_share_no_memory_with_inputs() -> None:
    memory = make((100,))
    assert "C is written and shares memory with argument A" in refused(
        "TG0413", A=memory[:48].reshape(6, 8), C=memory[44:74].reshape(6, 5))
    call(A=memory[:48].reshape(6, 8), C=memory[48:78].reshape(6, 5))
    both = make((8, 10))
    contract = read_contract(CONTRACT.replace('["K", "2 * N"]', '["M", "K"]'))
    bind(contract, (), arguments(A=both, B=both, C=make((8, 5))))          # two inputs may be one array


def test_scalars_of_numpy_and_empty_arrays() -> None:
    assert call(n=numpy.int64(-128)).arguments[2].value == -128
    bound = call(A=make((0, 8)), C=make((0, 5)))
    assert bound.is_empty
    assert not call(A=make((6, 0)), B=make((0, 10))).is_empty


def test_sizes_that_no_array_shows() -> None:
    hidden = CONTRACT.replace('["K", "2 * N"]', '["K", "4"]').replace('["M", "N"]', '["M", "2 * N"]')
    contract = read_contract(hidden)
    given = arguments(B=make((8, 4)))
    del given["C"]
    with pytest.raises(TilegenError, match="TG0401.*size N cannot be told") as caught:
        bind(contract, (), given)
    assert "N=..." in caught.value.hint
    assert bind(contract, (), given | {"N": 3}).result.shape == (6, 6)
    with pytest.raises(TilegenError, match="TG0403.*size N is -1"):
        bind(contract, (), given | {"N": -1})


def test_nothing_is_imported_for_numpy_arrays() -> None:
    code = ("import sys, numpy; from tilegen.runtime import load; from tilegen.runtime.arrays import view\n"
            "view(numpy.zeros(3), 'A')\n"
            "assert not {'torch', 'cupy', 'pyhip', 'jinja2', 'click', 'rich'} & set(sys.modules)")
    root = Path(__file__).parent.parent
    assert subprocess.run([sys.executable, "-c", code], cwd=root, capture_output=True, text=True).stderr == ""
