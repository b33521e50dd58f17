"""The examples on a real GPU through CuPy, against the interpreter: pytest -m gpu tests/test_gpu.py"""

from __future__ import annotations

import warnings

import numpy
import pytest

from generated_files import FILES, ROOT, Generated
from generated_runs import RAGGED, arguments, sizes_of
from tilegen import check, kernel_files
from tilegen.errors import TilegenError
from tilegen.interpret import run as interpret
from tilegen.runtime.load import load

pytestmark = pytest.mark.gpu

CUDA = [file for file in FILES if file.target == "cuda"]
CASES = [(file, n) for file in CUDA for n in range(len(sizes_of(file)) + 1)]
COUNTS = ("heads", "kv_heads", "batch", "bounds")       # sizes that the others are not in proportion to


@pytest.fixture(autouse=True)
def in_the_project(monkeypatch):
    monkeypatch.chdir(ROOT)


def sizes_number(file: Generated, n: int) -> dict[str, int]:
    """The sizes that the emulator runs a file with, and after them a larger grid of whole tiles, as far as the file
    takes them."""
    known = sizes_of(file)
    if n < len(known):
        return known[n]
    larger = dict(known[0])
    for name in [name for name in larger if name not in COUNTS]:
        tried = larger | {name: 4 * larger[name]}
        larger = tried if all(file.contract.value(c, tried) for c in file.contract.requires) else larger
    return larger


def owned(owner: str, array):
    """The same data, owned by NumPy, CuPy or torch. CuPy has no types like bfloat16: these stay with NumPy."""
    if not isinstance(array, numpy.ndarray) or owner == "numpy" or array.dtype.kind == "V":
        return array
    if owner == "cupy":
        return pytest.importorskip("cupy").asarray(array)
    return pytest.importorskip("torch").from_numpy(array).cuda()


def host(array) -> numpy.ndarray:
    return array.get() if hasattr(array, "get") else array.cpu().numpy() if hasattr(array, "cpu") else array


def compare_with_interpreter(file: Generated, sizes: dict[str, int], launch, owner: str = "numpy") -> None:
    """Fails where `launch(**arguments)` leaves something else than the interpreter."""
    contract, kernel = file.contract, file.specialised().kernel
    want = arguments(contract, sizes)
    given = {name: owned(owner, value.copy() if isinstance(value, numpy.ndarray) else value)
             for name, value in want.items()}
    launch(**given)
    interpret(kernel, want, sizes=dict(sizes))
    values = {k.name: k.value for k in kernel.knobs} | sizes
    for p in contract.params:
        if p.is_array:
            allowed = check.tolerance(kernel, p.dtype, values) if p.writes else 0
            result = check.compare(p.name, host(given[p.name]), want[p.name], allowed)
            assert result.ok, result


def for_the_device(file: Generated):
    """The example as a call compiles it: for the architecture of the GPU, and where a call does not fit its copy
    engine, for the plain one."""
    fixed = {name: value for name, value in file.variation.items() if name != "arch"}
    kernel = kernel_files.find(f"examples/{file.example}.py").specialize(**fixed).on("cuda")

    def launch(**given):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            kernel(*given.values())
    return launch


@pytest.mark.parametrize("file, n", CASES, ids=str)
def test_the_committed_file(file, n):
    sizes, kernel = sizes_number(file, n), load(file.text)
    if all(file.contract.value(condition, sizes) for condition in file.contract.requires):
        return compare_with_interpreter(file, sizes, kernel)
    with pytest.raises(TilegenError, match="TG0409"):
        kernel(**arguments(file.contract, sizes))


@pytest.mark.parametrize("file, n", [(file, n) for file, n in CASES if "arch" not in file.variation], ids=str)
def test_for_the_device(file, n):
    compare_with_interpreter(file, sizes_number(file, n), for_the_device(file))


@pytest.mark.parametrize("owner", ["cupy", "torch"])
@pytest.mark.parametrize("file", [file for file in CUDA if not file.variant], ids=str)
def test_arrays_of_other_libraries(file, owner):
    compare_with_interpreter(file, sizes_number(file, RAGGED), for_the_device(file), owner)
