"""A C header and a launcher, so that a program without Python calls the kernel of an emitted file."""

from __future__ import annotations

import re
import textwrap
from dataclasses import dataclass
from functools import cached_property

from tilegen import targets
from tilegen.emit import templates
from tilegen.emit.text import COLUMNS, wrap
from tilegen.errors import TilegenError
from tilegen.hosting.spelling import in_c
from tilegen.runtime.contract import Contract, Launch, Param

_TYPES = {"float64": "double", "float32": "float", "int8": "signed char", "uint8": "unsigned char", "int16": "short",
          "uint16": "unsigned short", "int32": "int", "uint32": "unsigned", "int64": "long long",
          "uint64": "unsigned long long", "bool": "int"}
# CUtensorMapDataType of cuda.h; eight-bit floats move as bytes
_MAP_TYPES = {"float16": "FLOAT16", "bfloat16": "BFLOAT16", "float32": "FLOAT32", "float64": "FLOAT64",
              "int32": "INT32", "uint32": "UINT32", "int64": "INT64", "uint64": "UINT64", "uint16": "UINT16",
              "int16": "UINT16"}


def files(contract: Contract, name: str) -> dict[str, str]:
    """{file name: text}: the header and the launcher of the emitted file `name`, such as matmul.h and matmul_host.cu.

    Raises TG0506 for an argument that C has no type for.
    """
    target = targets.find(contract.target, contract.arch or None)
    stem, suffix = name.rpartition(".")[0], "." + name.rpartition(".")[2]
    host = Host(contract, name, f"{stem}.h", target)
    is_gpu = target.family == "gpu"
    values = {"host": host, "sizes": ", ".join(f"int {size}" for size in contract.sizes) or "void",
              "include": templates.render(target.folders, "host_include") if is_gpu else "",
              "maps": [f"{name}_map" for name, *_ in host.maps], "compile": _compile_line(target, f"{stem}_host")}
    header, launcher = (re.sub(r"\n{3,}", "\n\n", templates.render(target.folders, f"host_{part}", **values)) + "\n"
                        for part in ("header", "launcher"))
    return {f"{stem}.h": header, f"{stem}_host{suffix}": wrap(launcher)}


def _compile_line(target: targets.Target, name: str) -> str:
    """How a person compiles the launcher to an object."""
    line = target.compile_line.format(file=name).partition(" && ")[0].replace(" -DTILEGEN_MAIN", " -c")
    return line.replace(f" -o {name}", "")


@dataclass(frozen=True)
class HostLaunch:
    """One launch as C; `arguments` are those of the entry."""

    entry: str
    grid: tuple[str, ...]
    block: tuple[str, ...]
    shared: str
    arguments: str


@dataclass(frozen=True)
class Host:
    """What the templates of header and launcher need to know of a contract."""

    contract: Contract
    file: str
    header: str
    target: targets.Target

    @cached_property
    def api(self) -> str:
        """The prefix of the run-time library: cuda, hip, mc; '' on the CPU."""
        return templates.render(self.target.folders, "selftest_api") if self.target.family == "gpu" else ""

    @property
    def name(self) -> str:
        return self.contract.entry

    @property
    def kernel(self) -> str:
        """The name that the launcher gives an entry which is called as the function itself."""
        return f"{self.name}_kernel"

    @property
    def parameters(self) -> list[str]:
        """The parameters of the function as C: pointers, scalars, sizes."""
        return [_parameter(p) for p in self.contract.params] + [f"int {size}" for size in self.contract.sizes]

    @property
    def signature(self) -> str:
        """The function without its body: `int matmul(const void* A, ..., cudaStream_t stream)`."""
        stream = [f"{self.api}Stream_t stream"] if self.api else []
        head = f"int {self.name}("
        # a parameter stays on one line: its inner spaces are no places to break
        whole = ", ".join(one.replace(" ", "\0") for one in [*self.parameters, *stream])
        lines = textwrap.wrap(f"{head.replace(' ', chr(0))}{whole})", COLUMNS - len('extern "C" '),
                              subsequent_indent=" " * len(head))
        return "\n".join(lines).replace("\0", " ")

    @property
    def notes(self) -> list[str]:
        """A line on each argument."""
        return [f"{p.name}: {_words(p)}" for p in self.contract.params]

    @property
    def requirements(self) -> list[str]:
        return [in_c(condition) for condition in self.contract.requires]

    @property
    def aligned(self) -> list[tuple[str, int]]:
        """(pointer, bytes) of those that have to lie at multiples of more than an element."""
        return [(p.name, p.align) for p in self.contract.params if p.is_array and p.align > 1]

    @property
    def workspaces(self) -> list[tuple[str, str]]:
        """(name, bytes) of the memory that the caller provides between launches."""
        return [(p.name, " * ".join(["(size_t)" + str(p.dtype.bytes), *(_factor(in_c(e)) for e in p.shape)]))
                for p in self.contract.params if p.is_workspace]

    @property
    def maps(self) -> list[tuple[str, str, str, str]]:
        """(tensor, type, extents, box) of the tensors that the copy engine moves."""
        return [(p.name, _MAP_TYPES.get(p.dtype.name, "UINT8"), ", ".join(map(in_c, p.shape)),
                 ", ".join(map(in_c, p.box))) for p in self.contract.params if p.box]

    @property
    def map_bytes(self) -> dict[str, int]:
        """Bytes of an element of those tensors."""
        return {p.name: p.dtype.bytes for p in self.contract.params if p.box}

    @property
    def launches(self) -> list[HostLaunch]:
        return [self._launch(launch) for launch in self.contract.launches]

    def _launch(self, launch: Launch) -> HostLaunch:
        values = [_argument(p) for p in self.contract.params] + list(self.contract.sizes)
        entry = self.kernel if launch.entry == self.name else launch.entry
        return HostLaunch(entry, tuple(map(in_c, launch.grid)), tuple(map(in_c, launch.block)), in_c(launch.shared),
                          ", ".join(values[position] for position in launch.arguments))


def _parameter(p: Param) -> str:
    if p.is_array:
        return f"{'const ' if not (p.writes or p.is_workspace) else ''}void* {p.name}"
    if p.dtype.name not in _TYPES:
        raise TilegenError("TG0506", f"C has no type for the argument {p.name} of {p.dtype}",
                           hint="make it a tensor of one element")
    return f"{_TYPES[p.dtype.name]} {p.name}"


def _factor(text: str) -> str:
    return text if text.isidentifier() or text.isdigit() else f"({text})"


def _argument(p: Param) -> str:
    if p.box:
        return f"{p.name}_map"
    return f"Pointer{{{p.name}}}" if p.is_array else p.name


def _words(p: Param) -> str:
    if not p.is_array:
        return p.dtype.name
    access = {"read": "read", "write": "written", "readwrite": "read and written",
              "workspace": "memory between launches"}
    aligned = f", at a multiple of {p.align} bytes" if p.align > 1 else ""
    return f"{p.dtype.name}[{', '.join(p.shape)}] in rows, {access[p.access]}{aligned}"
