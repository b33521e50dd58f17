"""Kernels in the style of TileLang's public examples, written to its API, run with the imports changed alone.

Each file of tests/ports has `cases(generator)`, which yields a kernel, its inputs and what NumPy computes. A
kernel runs on the CPU, as CUDA in the emulator, and in the interpreter.
"""

import importlib.util
from pathlib import Path

import numpy
import pytest

PORTS = sorted(path.stem for path in (Path(__file__).parent / "ports").glob("*.py"))


def module(name):
    path = Path(__file__).parent / "ports" / f"{name}.py"
    spec = importlib.util.spec_from_file_location(f"port_{name}", path)
    found = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(found)
    return found


def close(found, expected):
    """Whether all is within what rounding explains: 1 % of an element, or 0.2 % of the largest one."""
    found, expected = numpy.asarray(found).astype("float64"), numpy.asarray(expected).astype("float64")
    return found.shape == expected.shape and \
        bool((numpy.abs(found - expected) <= 1e-2 * numpy.abs(expected) + 2e-3 * numpy.abs(expected).max()).all())


def test_there_are_at_least_ten():
    assert len(PORTS) >= 10


@pytest.mark.parametrize("place", ["cpu", "emulator", "interpreter"])
@pytest.mark.parametrize("name", PORTS)
def test_a_port_computes_what_numpy_does(name, place):
    for kernel, inputs, expected in module(name).cases(numpy.random.default_rng(0)):
        inputs = tuple(x.copy() for x in inputs)
        results = kernel.on(place)(*inputs)
        results = inputs[-1] if results is None else results
        several = isinstance(expected, tuple)
        for found, wanted in zip(results if several else (results,), expected if several else (expected,), strict=True):
            assert close(found, wanted), f"{name} on {place}"


@pytest.mark.parametrize("name", PORTS)
def test_only_the_imports_are_those_of_tilegen(name):
    """The body of a port names tilegen in its imports and its decorators, and nowhere else."""
    text = (Path(__file__).parent / "ports" / f"{name}.py").read_text()
    lines = [line for line in text.splitlines() if "tilegen" in line]
    assert all(line.startswith(("import tilegen", "@tilegen.jit")) for line in lines), lines
    assert "import tilegen.language as T" in lines
