"""The seed bank: programs that once were wrong or did not compile on a target, shrunk, on all targets."""

import linecache
import pathlib

import numpy
import pytest
from comparison import on_target
from tilegen.frontend import parse
from tilegen.interpret import run as interpret

FOUND = sorted((pathlib.Path(__file__).parent / "found").glob("*.py"))


def contents(kernel) -> dict[str, numpy.ndarray]:
    """Random inputs, poisoned outputs; small integers, so that sums are exact."""
    rng = numpy.random.default_rng(5)
    numbers = {knob.name: knob.value for knob in kernel.knobs}
    result = {}
    for p in kernel.params:
        shape = tuple(getattr(e, "value", None) or numbers[e.name] for e in p.buffer.shape)
        result[p.name] = rng.integers(-4, 5, shape).astype(p.buffer.dtype.numpy)
        if p.access == "write":
            result[p.name][...] = 77
    return result


@pytest.mark.parametrize("target", ["cpu", "cuda", "hip", "maca"])
@pytest.mark.parametrize("path", FOUND, ids=lambda p: p.stem)
def test_found(path, target):
    linecache.checkcache(str(path))
    names = {"__name__": "program"}
    exec(compile(path.read_text(), str(path), "exec"), names)
    kernel = parse(names["program"], target=target)
    expected, found = contents(kernel), contents(kernel)
    interpret(kernel, expected)
    on_target(kernel, found, target)
    for p in kernel.params:
        assert numpy.array_equal(expected[p.name], found[p.name]), p.name
