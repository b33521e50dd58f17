"""Compiles the plain loops of self-tests, many in one go, and calls them on NumPy arrays."""

from __future__ import annotations

import ctypes
import subprocess
from collections.abc import Callable
from pathlib import Path

from tilegen import ir, targets
from tilegen.build import cxx
from tilegen.emit import selftest
from tilegen.emit.expressions import Printer
from tilegen.emit.host_expressions import element_type
from tilegen.emit.host_names import distinct
from tilegen.emit.text import wrap

CPU = targets.find("cpu")
FLAGS = ("-std=c++17", "-Wall", "-Werror", "-Wno-unused-function", "-Wno-unknown-pragmas")
Call = Callable[[dict], None]


def section(kernel: ir.Kernel, target: str = "cpu", **options) -> str:
    """The self-test of a kernel, as the file has it."""
    found = targets.find(target)
    return wrap(selftest.render(kernel, found, **options))


def knobs(kernel: ir.Kernel) -> str:
    """The constants that the file would have."""
    kinds = {bool: "bool", int: "int", float: "float"}
    values = ((k, str(k.value).lower() if isinstance(k.value, bool) else repr(k.value)) for k in kernel.knobs)
    return "\n".join(f"constexpr {kinds[type(k.value)]} {k.name} = {value};" for k, value in values)


def references(kernels: list[ir.Kernel], folder: Path) -> list[Call]:
    """For each kernel a function that runs its plain loops on {parameter: array or number}, in place."""
    sections = [section(k) for k in kernels]
    lines = "\n".join(sections).split("\n")
    parts = sorted({line for line in lines if line.startswith("#include")})
    for number, (kernel, text) in enumerate(zip(kernels, sections)):
        code = text[:text.index("\nint main(")]
        code = "\n".join(line for line in code.split("\n") if not line.startswith("#"))
        parts += [f"namespace program_{number} {{", knobs(kernel), code, _entry(kernel, number), "}"]
    (folder / "references.cpp").write_text("\n".join(parts))
    command = [*cxx.find().command, "-O1", *FLAGS, "-shared", "-fPIC", "-o", "references.so",
               "references.cpp"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[:4000]
    library = ctypes.CDLL(str(folder / "references.so"))
    return [_caller(kernel, getattr(library, f"run_{number}")) for number, kernel in enumerate(kernels)]


def _entry(kernel: ir.Kernel, number: int) -> str:
    """`run_0(tensors, scalars, sizes)`, which copies the arrays into tensors and back."""
    kernel = distinct(kernel)
    e = Printer(CPU)
    lines = [f"const int {size.name} = sizes[{n}];" for n, size in enumerate(kernel.sizes)]
    tensors = [p for p in kernel.params if p.buffer is not None]
    scalars = [p for p in kernel.params if p.buffer is None]
    for n, p in enumerate(tensors):
        shape = ", ".join(e(extent) for extent in p.buffer.shape)
        lines += [f"Tensor<{element_type(p.buffer.dtype)}> {p.name}({{{shape}}});",
                  f"std::memcpy((void*){p.name}.data.data(), tensors[{n}], {_bytes(p)});"]
    values = [f"scalars[{scalars.index(p)}]" if p.buffer is None else p.name for p in kernel.params]
    lines.append(f"reference({', '.join(values + [size.name for size in kernel.sizes])});")
    lines += [f"std::memcpy(tensors[{n}], {p.name}.data.data(), {_bytes(p)});" for n, p in enumerate(tensors)]
    head = f'extern "C" void run_{number}(void** tensors, const double* scalars, const int* sizes)'
    return "\n".join([head, "{", *lines, "}"])


def _bytes(p: ir.Param) -> str:
    return f"{p.name}.data.size() * {p.buffer.dtype.bytes}"


def _caller(kernel: ir.Kernel, function) -> Call:
    tensors = [p for p in kernel.params if p.buffer is not None]

    def call(contents: dict) -> None:
        arrays = [contents[p.name] for p in tensors]
        assert all(a.flags.c_contiguous for a in arrays)
        numbers = [float(contents[p.name]) for p in kernel.params if p.buffer is None]
        extents = ((e, n) for p, a in zip(tensors, arrays) for e, n in zip(p.buffer.shape, a.shape))
        known = {extent.name: number for extent, number in extents if isinstance(extent, ir.Var)}
        function((ctypes.c_void_p * len(arrays))(*(a.ctypes.data for a in arrays)),
                 (ctypes.c_double * max(len(numbers), 1))(*numbers),
                 (ctypes.c_int * max(len(kernel.sizes), 1))(*(known[s.name] for s in kernel.sizes)))
    return call
