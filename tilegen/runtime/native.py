"""Runs a C++ kernel in a process of its own, under the address and undefined-behaviour sanitizers: what goes
wrong there is found and told, and takes nobody else down."""

from __future__ import annotations

import re
import signal
import subprocess
import tempfile
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from tilegen.build import cxx, lint
from tilegen.build.cxx import ARCH_FLAGS, Cxx
from tilegen.build.toolchain import Artifact, Toolchain, compile_with
from tilegen.errors import Loc, TilegenError
from tilegen.runtime.arrays import as_numpy
from tilegen.runtime.backend import Backend, compile_contract
from tilegen.runtime.binding import Bound, Scalar
from tilegen.runtime.contract import Contract
from tilegen.runtime.cpu import require_avx2
from tilegen.runtime.emulator_faults import Fault, Place
from tilegen.runtime.packing import by_value

# Appended to the emitted text. Arguments come in a file, each as its number of bytes (scalars: 0 for
# "not an array") and its content; a value turns into whatever type the entry takes.
_PROGRAM = """
#line 1 "(program)"
#include <cstdio>
#include <cstdlib>
#include <cstring>
namespace tilegen_program {
struct Value {
    unsigned char bytes[16];
    template <class T> operator T() const
    {
        T value;
        std::memcpy(&value, bytes, sizeof value);
        return value;
    }
};
}
int main(int, char** names)
{
    unsigned long long array_bytes[COUNT], scalar_bytes;
    tilegen_program::Value values[COUNT];
    std::FILE* file = std::fopen(names[1], "rb");
    for (int i = 0; i < COUNT; ++i) {
        if (!std::fread(&array_bytes[i], 8, 1, file) || !std::fread(&scalar_bytes, 8, 1, file)) return 3;
        if (scalar_bytes) {
            if (!std::fread(values[i].bytes, scalar_bytes, 1, file)) return 3;
            continue;
        }
        void* data = nullptr;
        if (posix_memalign(&data, 64, array_bytes[i])) return 3;
        if (array_bytes[i] && !std::fread(data, array_bytes[i], 1, file)) return 3;
        std::memcpy(values[i].bytes, &data, sizeof data);
        std::fprintf(stderr, "argument %d at %p\\n", i, data);
    }
    std::fclose(file);
    CALLS
    file = std::fopen(names[2], "wb");
    for (int i = 0; i < COUNT; ++i)
        if (array_bytes[i]) std::fwrite((void*)values[i], array_bytes[i], 1, file);
    return std::fclose(file);
}
"""
_SANITIZERS = ("-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-fno-omit-frame-pointer")
_SETTINGS = {"ASAN_OPTIONS": "detect_leaks=0", "UBSAN_OPTIONS": "print_stacktrace=1"}
_UNDEFINED = re.compile(r"^(?P<file>[^\n:]*):(?P<line>\d+):\d+: runtime error: (?P<text>.*)$", re.MULTILINE)
_ADDRESS = re.compile(r"ERROR: AddressSanitizer: (?P<kind>[\w-]+)")
_SIZE = re.compile(r"^(READ|WRITE) of size (\d+)", re.MULTILINE)
_REGION = re.compile(r"is located (\d+) bytes (inside|after|before|to the right|to the left)(?: of)? (\d+)-byte "
                     r"region \[(0x[0-9a-f]+)")
_ARGUMENT = re.compile(r"^argument (\d+) at (0x[0-9a-f]+)$", re.MULTILINE)
_FRAME = re.compile(r"^ *#\d+ 0x[0-9a-f]+ .*?(?P<file>[^\s/]+):(?P<line>\d+)(?::\d+)?\)?$", re.MULTILINE)


@dataclass(frozen=True)
class Program(Toolchain):
    """A C++ compiler that makes a program instead of a library."""

    compiler: Cxx
    sanitize: bool

    def flags(self, arch: str) -> tuple[str, ...]:
        openmp = ("-fopenmp",) if self.compiler.openmp else ("-Wno-unknown-pragmas",)
        return ("-O1", "-g", *ARCH_FLAGS[arch], *openmp, "-std=c++17", *(_SANITIZERS if self.sanitize else ()))

    def compile(self, source: Path, artifact: Path, arch: str) -> str:
        files = ("-o", artifact.name, source.name)
        return compile_with((*self.compiler.command, *self.flags(arch), *files), source)


class NativeKernel:
    """The entries of one file as a program."""

    def __init__(self, artifact: Artifact, contract: Contract) -> None:
        self.artifact, self.contract = artifact, contract

    def prepare(self, bound: Bound) -> list:
        """NumPy views and C values. Raises TG0405 for memory of a GPU."""
        for name, array in bound.arrays.items():
            if array.device.kind != "cpu":
                raise TilegenError("TG0405", f"argument {name} is on {array.device}, but the kernel runs on the CPU",
                                   hint="pass a host array")
        return [by_value(a) if isinstance(a, Scalar) else as_numpy(a) for a in bound.arguments]

    def launch(self, bound: Bound, prepared: list, stream: object = None) -> None:
        """Runs to the end. Raises TG0601 for what the sanitizers find."""
        if fault := self.attempt(prepared):
            raise fault.error()

    def attempt(self, prepared: list, timeout: float = 60.0) -> Fault | None:
        """Runs the program, and writes the results into the arrays. The fault that stopped it, if any."""
        arrays = [a for a in prepared if hasattr(a, "nbytes")]
        with tempfile.TemporaryDirectory() as folder:
            before, after = Path(folder, "arguments"), Path(folder, "results")
            before.write_bytes(b"".join(_packed(a) for a in prepared))
            try:
                done = subprocess.run([self.artifact.path, before, after], env=_SETTINGS, capture_output=True,
                                      text=True, errors="replace", timeout=timeout)
            except subprocess.TimeoutExpired:
                return Fault(f"no end in sight: still running after {timeout:.0f} s")
            if done.returncode:
                return self._fault(done.stderr, done.returncode)
            content = after.read_bytes()
        for array in arrays:
            array.reshape(-1).view("uint8")[:] = memoryview(content)[:array.nbytes]
            content = content[array.nbytes:]
        return None

    def _fault(self, log: str, status: int) -> Fault:
        """The first report of a sanitizer, or the signal."""
        frames = [(m["file"], int(m["line"])) for m in _FRAME.finditer(log)]
        if found := _UNDEFINED.search(log):
            frames.insert(0, (Path(found["file"]).name, int(found["line"])))
            return Fault(f"undefined behaviour: {found['text']}", place=self._place(frames))
        if found := _ADDRESS.search(log):
            return Fault(self._memory_error(found["kind"], log), place=self._place(frames))
        name = signal.Signals(-status).name if status < 0 else f"status {status}"
        return Fault(f"the kernel ended its process with {name}")

    def _memory_error(self, kind: str, log: str) -> str:
        access, region = _SIZE.search(log), _REGION.search(log)
        did = f", {access[1].lower()}s {access[2]} bytes" if access else ""
        if not region:
            return f"{kind}{did}"
        distance, side, size, start = region.groups()
        where = {"to the right": "after", "to the left": "before"}.get(side, side)
        names = {address: self.contract.params[int(number)].name for number, address in _ARGUMENT.findall(log)}
        what = f"argument {names[start]}, which has" if start in names else "memory of"
        return f"out-of-bounds access{did}, {distance} bytes {where} {what} {size} bytes ({kind})"

    def _place(self, frames: list[tuple[str, int]]) -> Place | None:
        own = [line for file, line in frames if file == self.artifact.source.name]
        own = [n for i, n in enumerate(own) if n not in own[:i]]
        if not own:
            return None
        text = self.artifact.source.read_text(encoding="utf-8")
        origins = (lint.python_line(text, n, lint.Origin(self.artifact.source.name)) for n in own)
        first, *rest = (Loc(str(self.artifact.source), n) for n in own)
        return Place(first, tuple(rest), next((loc for loc in origins if loc), None))


def _packed(argument: object) -> bytes:
    if hasattr(argument, "nbytes"):
        return argument.nbytes.to_bytes(8, "little") + bytes(8) + argument.tobytes()
    content = bytes(argument)
    return bytes(8) + len(content).to_bytes(8, "little") + content


def backend(sanitize: bool = True) -> Backend:
    """The CPU, with every launch in a process of its own; `sanitize` checks every access there."""
    return Backend("cpu", partial(_build, sanitize), require_avx2, NativeKernel)


def _build(sanitize: bool, text: str, contract: Contract, arch: str | None, compiler: str | None) -> Artifact:
    found = cxx.find(compiler)
    if sanitize and found.name == "zig":
        raise TilegenError("TG0301", "zig c++ has no address sanitizer", hint="install g++ or clang++")
    kind = "sanitized" if sanitize else "program"
    tool = Program(f"{found.name} {kind}", found.version, ".cpp", f".{kind}", found, sanitize)
    count = len(contract.params) + len(contract.sizes)
    calls = (f"{launch.entry}({', '.join(f'values[{position}]' for position in launch.arguments)});"
             for launch in contract.launches)
    program = _PROGRAM.replace("CALLS", "\n    ".join(calls)).replace("COUNT", str(count))
    text = lint.without_directives(text).rstrip("\n") + "\n" + program
    return compile_contract(text, contract, tool, arch or contract.arch or "avx2")
