"""The examples on a real GPU through CuPy, against the interpreter: pytest -m gpu tests/test_gpu.py"""

from __future__ import annotations

import pathlib

import numpy
import pytest

import tilegen
from tilegen import arith, check, kernel_files
from tilegen.interpret import run as interpret

pytestmark = pytest.mark.gpu

EXAMPLES = sorted((pathlib.Path(__file__).parent.parent / "examples").glob("[0-9]*.py"))
SHAPES = {"whole": (256, 512, 128), "ragged": (201, 333, 77), "one": (1, 1, 1), "none": (0, 5, 3), "no depth": (5, 3, 0)}


def kernel_of(path: pathlib.Path) -> tilegen.Kernel:
    """The kernel of an example; a factory makes it with its own defaults."""
    found = kernel_files.find(str(path))
    return found() if isinstance(found, tilegen.Factory) else found


def arguments(kernel, sizes: dict[str, int], seed: int) -> dict:
    """Random inputs, poisoned outputs, by name."""
    rng = numpy.random.default_rng(seed)
    env = {k.name: k.value for k in kernel.knobs} | sizes
    result: dict = {}
    for p in kernel.params:
        if p.buffer is None:
            result[p.name] = 1.5 if p.var.dtype.is_float else 7
            continue
        shape = tuple(arith.evaluate(e, env) for e in p.buffer.shape)
        values = rng.random(shape) - 0.5 if p.access != "write" else numpy.full(shape, numpy.nan)
        result[p.name] = values.astype(p.buffer.dtype.numpy)
    return result


def owned(owner: str, array):
    """The same data, owned by NumPy, CuPy or torch."""
    if not isinstance(array, numpy.ndarray) or owner == "numpy":
        return array
    if owner == "cupy":
        return pytest.importorskip("cupy").asarray(array)
    return pytest.importorskip("torch").from_numpy(array).cuda()


def host(array) -> numpy.ndarray:
    return array.get() if hasattr(array, "get") else array.cpu().numpy() if hasattr(array, "cpu") else array


@pytest.mark.parametrize("owner", ["numpy", "cupy", "torch"])
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("path", EXAMPLES, ids=lambda p: p.stem)
def test_example(path, shape, owner):
    kernel = kernel_of(path)
    parsed = kernel.specialised("cuda", None, {}).kernel
    sizes = {s.name: n for s, n in zip(parsed.sizes, (3, *SHAPES[shape]) if parsed.sizes[0].name in ("batch", "heads")
                                       else SHAPES[shape])}
    if path.stem.endswith("attention") and (sizes["keys"] == 0 or sizes["queries"] == 0):
        sizes["keys"] = 4
    want = arguments(parsed, sizes, seed=1)
    given = {name: owned(owner, value.copy() if isinstance(value, numpy.ndarray) else value)
             for name, value in want.items()}
    interpret(parsed, want, sizes)
    kernel.on("cuda")(*given.values())
    for p in parsed.params:
        if p.buffer is not None and p.access != "read":
            rtol = check.tolerance(parsed, p.buffer.dtype, sizes)
            result = check.compare(p.name, host(given[p.name]), want[p.name], rtol)
            assert result.ok, result
