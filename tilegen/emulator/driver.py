"""The C++ text that is compiled for an emitted file: the file itself, unchanged, inside a namespace."""

from __future__ import annotations

import re

from tilegen.errors import TilegenError

# The room for an `extern __shared__` array, whose real size comes with the launch (`dynamic_bytes` in
# scheduler.h).
DYNAMIC_BYTES = 256 << 10

_COMMENT_OR_STRING = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"', re.DOTALL)
_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*([<"][^>"\n]+[>"])', re.MULTILINE)
_MAIN = re.compile(r"^[ \t]*#[ \t]*if.*\bTILEGEN_MAIN\b", re.MULTILINE)
_ATTRIBUTE = re.compile(r"\b(?:__\w+|alignas)\s*\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\)")
_DYNAMIC_SHARED = re.compile(r"\bextern\s+__shared__\s+([^;=]*?)\s*\b(\w+)\s*\[\s*\]\s*;")
_KERNEL = re.compile(r"(template\s*<[^{};]*>\s*)?(?:extern\s*\"\s*\"\s*)?(?:static\s+)?"
                     r"__global__([^;{]*)[;{]")


def driver_text(text: str, name: str) -> str:
    """`text`, an emitted file that errors call `name`, with what makes it a C++ program around it.

    Raises TG0602 where the file has no kernel.
    """
    code = _without_comments(text[:_end_of_device_code(text)])
    entries = heads(code)
    if not entries:
        raise TilegenError("TG0602", f"{name} has no __global__ function that can be launched")
    includes = [f"#include {header}" for header in _INCLUDE.findall(text[:_end_of_device_code(text)])]
    shared = {variable: _ATTRIBUTE.sub("", kind).strip() for kind, variable in _DYNAMIC_SHARED.findall(code)}
    if len(shared) > 1:
        raise TilegenError("TG0602", f"{name} has several extern __shared__ arrays ({', '.join(shared)})",
                           hint="declare one, and divide it by pointers")
    return "\n".join([
        *includes,
        '#include "tilegen_emulator.h"',
        "namespace tilegen_emulator { namespace emitted {",
        "TILEGEN_EMULATOR_OVERLOADS",
        f'#line 1 "{name}"',
        text,
        '#line 1 "(driver)"',
        *(f"alignas(1024) __shared__ {kind} {variable}[{DYNAMIC_BYTES} / sizeof({kind})];"
          for variable, kind in shared.items()),
        "} }",
        *(_dynamic(variable) for variable in shared),
        *(_entry(entry) for entry in entries),
        *(_limits(entry, head) for entry, head in entries.items()),
        "",
    ])


def heads(code: str) -> dict[str, str]:
    """The kernels in a text without comments, but for templates: their names, with all that is declared of
    them between `__global__` and the body."""
    found: dict[str, str] = {}
    for template, head in _KERNEL.findall(code):
        before = _ATTRIBUTE.sub(" ", head).split("(")[0].split()
        if before and not template:
            found[before[-1]] = found.get(before[-1], "") + head
    return found


def _entry(name: str) -> str:
    return (f'extern "C" __attribute__((visibility("default")))\n'
            f"void tilegen_emulator_entry_{name}(void** arguments)\n"
            f"{{ ::tilegen_emulator::call_kernel(::tilegen_emulator::emitted::{name}, arguments); }}")


def _limits(name: str, head: str) -> str:
    """What the kernel is declared with, as an array: its cluster, and the most threads of a block; 0: unsaid."""
    cluster = [*_values("__cluster_dims__", head), "1", "1"][:3] if "__cluster_dims__" in head else ["0"] * 3
    threads = [*_values("__launch_bounds__", head), "0"][0]
    variable = f"tilegen_emulator_limits_{name}"
    values = ", ".join(f"unsigned({value})" for value in (*cluster, threads))
    return ("namespace tilegen_emulator { namespace emitted {\n"
            f'extern "C" {{ extern __attribute__((visibility("default"))) const unsigned {variable}[4]; }}\n'
            f"const unsigned {variable}[4] = {{{values}}};\n"
            "} }")


def _values(attribute: str, head: str) -> list[str]:
    """The arguments of an attribute, as they stand in the text."""
    call = re.search(attribute + r"\s*\(((?:[^()]|\((?:[^()]|\([^()]*\))*\))*)\)", head)
    return re.split(r",(?![^(]*\))", call[1]) if call else []


def _dynamic(variable: str) -> str:
    return (f'extern "C" __attribute__((visibility("default"))) void* tilegen_emulator_dynamic()\n'
            f"{{ return ::tilegen_emulator::emitted::{variable}; }}")


def _end_of_device_code(text: str) -> int:
    """Where the host program of the file starts: it is not compiled, nor are its includes."""
    start = _MAIN.search(text)
    return start.start() if start else len(text)


def _without_comments(text: str) -> str:
    """The text with comments removed and strings emptied; every character stays in its line."""
    def blank(match: re.Match) -> str:
        return '""' if match[0].startswith('"') else "\n" * match[0].count("\n")
    return _COMMENT_OR_STRING.sub(blank, text)
