"""The `TILEGEN_MAIN` part of an emitted file: a host program that checks and times the kernel.

It fills the inputs with random numbers, launches once, compares every output with plain loops made
from the tile program, times further launches, and prints one line.
"""

from __future__ import annotations

import re
from collections.abc import Container
from dataclasses import replace

from tilegen import ir
from tilegen.emit import templates
from tilegen.emit.host_names import distinct
from tilegen.emit.host_program import HostProgram
from tilegen.emit.launches import Spoken
from tilegen.launches import launches_of
from tilegen.targets.base import Target

_NOTE = "// The kernel in plain loops. Tiles hold doubles, rounded where the kernel keeps 16 or 8 bits."

# Headers by what of them the text names.
_HEADERS = {
    "algorithm": r"std::(min|max|reverse)\b", "array": r"std::array\b", "bitset": r"std::bitset\b",
    "chrono": r"std::chrono\b",
    "cmath": r"std::(fabs|sqrt|ldexp|isfinite)\b|NAN|INFINITY", "cstdio": r"std::(printf|puts)\b",
    "cstdlib": r"std::(atoi|exit)\b", "cstring": r"std::memset\b",
    "initializer_list": r"std::initializer_list\b",
    "memory": r"std::make_unique\b", "random": r"std::mt19937\b", "vector": r"std::vector\b",
    "cuda.h": r"\bcuTensorMapEncodeTiled\b"}


def render(kernel: ir.Kernel, target: Target, launches: list[Spoken] | None = None,
           defined: Container[str] | None = None) -> str:
    """The text of the section, from `#ifdef TILEGEN_MAIN` to `#endif`, for an unplanned kernel.

    `launches` say how the file spells the threads and the shared memory of each launch (where they are not
    given: THREADS, and SMEM_BYTES for kernels with shared tiles). `defined` holds the knobs that are constants of the
    file; the others are written as numbers.
    """
    if defined is not None:
        values = {k.name: ir.const(k.value) for k in kernel.knobs if k.name not in defined}
        kernel = ir.substitute(kernel, values)
        launches = [replace(one, kernel=replace(one.kernel, requires=ir.substitute(one.kernel.requires, values)))
                    for one in launches or ()]
    test = HostProgram(distinct(kernel), kernel, target, tuple(launches or map(_spoken, launches_of(kernel))))
    parts = _parts(test)
    return templates.render(target.folders, "selftest", headers=_headers("\n".join(parts)), parts=parts)


def _spoken(launch: ir.Kernel) -> Spoken:
    shared = any(isinstance(n, ir.Alloc) and n.buffer.scope == "shared" for n in ir.walk(launch.body))
    return Spoken(launch, "THREADS", "SMEM_BYTES" if shared else "0")


def _parts(test: HostProgram) -> list[str]:
    """The program from top to bottom, without its includes."""
    folders = test.target.folders
    api = templates.render(folders, "selftest_api") if test.target.family == "gpu" else ""

    def part(name: str, **values) -> str:
        return templates.render(folders, f"selftest_{name}", test=test, api=api, **values)
    parts = [part("float", f=fields) for fields in test.small_floats] + [part("tensor")]
    uniform, whole = test.uses("uniform"), test.uses("whole")
    parts += [part("random", uniform=uniform, whole=whole)] if uniform or whole else []
    parts += [part(name) for name in test.integer_helpers]
    parts += [part("reshaped")] if re.search(r"\breshaped\(", test.reference) else []
    if test.obstacle:
        parts.append(f"// Not checked: {test.obstacle} has no meaning in plain loops.")
    else:
        parts += [f"{_NOTE}\n{test.reference}", part("error")]
    parts += [part("device"), *([part("tensor_map")] if test.maps else [])]
    return [*parts, part("main", launch=part("launch"))]


def _headers(text: str) -> list[str]:
    code = re.sub(r"//[^\n]*", "", text)
    return [header for header, pattern in _HEADERS.items() if re.search(pattern, code)]
