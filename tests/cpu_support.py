"""Emits kernels for the CPU, runs the emitted text natively, and compares with the interpreter."""

from __future__ import annotations

import ctypes
import hashlib
import re
import subprocess
from pathlib import Path

import numpy
from tilegen import arith, ir
from tilegen.build import cxx
from tilegen.emit import device_functions
from tilegen.emit.file import emit_file
from tilegen.frontend import parse
from tilegen.interpret import run as interpret
from tilegen.passes import run as run_passes
from tilegen.plan import NestPlan, OpPlan
from tilegen.runtime.load import load
from tilegen.targets import find

CPU = find("cpu")


def planned(function, **values) -> tuple[ir.Kernel, ir.Kernel]:
    """(the kernel as parsed, the kernel with all plans)"""
    kernel = parse(function, target="cpu", values=values)
    return kernel, run_passes(kernel, CPU)


def emitted(function, **values) -> str:
    kernel, plans = planned(function, **values)
    return emit_file(plans, CPU, kernel)


def block_text(text: str) -> str:
    """The function that runs one block, without comments."""
    body = text[text.index("_block(") : text.index('extern "C"')]
    return re.sub(r" *//[^\n]*", "", body)


def reasons(function, **values) -> list[str]:
    """The reasons of all plans, in the order of statements."""
    _, plans = planned(function, **values)
    found = [getattr(n, "plan", None) for n in ir.walk(plans.body)]
    return [p.reason for p in found if isinstance(p, (NestPlan, OpPlan)) and p.reason]


def contents(kernel: ir.Kernel, sizes: dict[str, int], seed: int = 0) -> dict[str, numpy.ndarray]:
    """Random inputs; outputs hold 77, which shows what was not written."""
    generator = numpy.random.default_rng(seed)
    known = dict(sizes) | {k.name: k.value for k in kernel.knobs}
    result = {}
    for p in kernel.params:
        shape = tuple(int(arith.evaluate(extent, known)) for extent in p.buffer.shape)
        dtype = p.buffer.dtype
        values = generator.standard_normal(shape) if dtype.is_float else generator.integers(0, 9, shape)
        result[p.name] = (numpy.full(shape, 77) if p.access == "write" else values).astype(dtype.numpy)
    return result


def agrees(function, sizes: dict[str, int], error: float = 1e-5, **values) -> None:
    """Runs the emitted text and the interpreter on the same arrays. `error` is relative to 1 + |x|."""
    kernel, plans = planned(function, **values)
    compiled = load(emit_file(plans, CPU, kernel))
    found, expected = contents(kernel, sizes), contents(kernel, sizes)
    interpret(kernel, expected, sizes)
    compiled(*[found[p.name] for p in kernel.params])
    for name, want in expected.items():
        a, b = found[name].astype("float64"), want.astype("float64")
        same = (a == b) | (numpy.abs(a - b) <= error * (1 + numpy.abs(b))) | (numpy.isnan(a) & numpy.isnan(b))
        assert same.all(), f"{name}{numpy.argwhere(~same)[0]}: {a[~same][0]}, and has to be {b[~same][0]}"


def library(text: str, folder: Path) -> ctypes.CDLL:
    """Compiles text with all warnings as errors."""
    name = hashlib.sha256(text.encode()).hexdigest()[:12]
    source, artifact = folder / f"{name}.cpp", folder / f"{name}.so"
    source.write_text(text)
    compiler = cxx.find(strict=True)
    done = subprocess.run([*compiler.command, *compiler.flags("avx2"), "-Wextra", "-o", str(artifact), str(source)],
                          capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return ctypes.CDLL(str(artifact))


def with_helpers(body: str) -> str:
    """`body` below the helpers that it names."""
    _, plain = device_functions.needed(CPU, body)
    includes = ("immintrin.h", "algorithm", "cmath", "cstring", "limits", "type_traits")
    return "\n".join([*(f"#include <{i}>" for i in includes), *plain, body])


def pointer(array: numpy.ndarray) -> ctypes.c_void_p:
    return ctypes.c_void_p(array.ctypes.data)
