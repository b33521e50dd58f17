"""A callable from an emitted file: read, compile once, launch. The file's own text decides everything."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from pathlib import Path

from tilegen import targets
from tilegen.build import hazards, lint
from tilegen.build.lint import Resources
from tilegen.build.toolchain import Artifact
from tilegen.errors import TilegenError
from tilegen.runtime import cpu, cupy, emulated, hip, plain
from tilegen.runtime.backend import Backend, Kernel
from tilegen.runtime.binding import Binder, Bound
from tilegen.runtime.contract import MARK, Contract, read_contract
from tilegen.runtime.expressions import Number
from tilegen.runtime.plain import Extents, Launching
from tilegen.runtime.repeats import MISSED, Repeats

_REFUSALS = ("TG0406", "TG0409")       # an address or sizes that a file is not made for
# Where a contract's target is launched; "emulator" is chosen by load(target=) alone.
BACKENDS: dict[str, Backend] = {b.name: b for b in (cpu.BACKEND, cupy.BACKEND, hip.BACKEND, emulated.BACKEND)}


def load(path_or_text: str | os.PathLike, *, arch: str | None = None, target: str | None = None,
         compiler: str | None = None, entry: str | None = None, grid: Extents | None = None,
         block: Extents | None = None, shared: int | str = 0, shapes: Mapping[str, Sequence[int | str]] | None = None,
         outputs: Sequence[str] = ()) -> Loaded:
    """The kernel in an emitted file (a path, or the text itself), as a callable.

    `target="emulator"` runs a GPU file on the CPU; `arch` overrides the contract's; `compiler` names one
    of the target's compilers. The file is compiled at the first call, or when `.artifact` or
    `.resources` is asked for.

    A file without a launch contract needs `entry`, the name of its `extern "C"` kernel, and on a GPU `grid` and
    `block`: numbers or expressions such as ("ceildiv(N, 64)", "ceildiv(M, 64)") over its integer parameters and its
    `constexpr`s; `shared` are bytes of dynamic shared memory. `shapes`, such as {"A": ("M", "K")}, lets integers be
    inferred from arrays and checked; `outputs` names pointers that are only written, and may be left out of a call.

    Raises TG0504 for a file that cannot be read, TG0701 and TG0702 for one without a usable contract,
    TG0502 for a target that has no launcher.
    """
    text, file = _read(path_or_text)
    contract = _contract(text, file, Launching(entry, grid, block, shared, shapes or {}, tuple(outputs)), target, arch)
    chosen = target or contract.target
    if chosen not in BACKENDS or chosen not in (contract.target, "emulator"):
        raise TilegenError("TG0502", f"{file} is for {contract.target} and cannot be launched with the "
                           f"target {chosen}", hint="GPU files also run with target=\"emulator\"")
    return Loaded(text, contract, BACKENDS[chosen], arch, compiler)


def _contract(text: str, file: str, how: Launching, target: str | None, arch: str | None) -> Contract:
    """The file's contract, or one made of what the caller said."""
    if not how.is_given:
        return read_contract(text, file)
    if MARK in text:
        raise TilegenError("TG0702", f"{file} has a launch contract, which says how it is launched",
                           hint="leave out entry=, grid=, block=, shared=, shapes=, outputs=, or take the contract out")
    name = plain.target_of(file, target)
    return plain.contract_of(text, file, how, name, arch or targets.modules()[name].DEFAULT_ARCH)


class Loaded:
    """An emitted kernel that can be called. See `load`."""

    def __init__(self, text: str, contract: Contract, backend: Backend, arch: str | None = None,
                 compiler: str | None = None) -> None:
        self.source = text
        self.contract = contract
        self._backend = backend
        self._binder = Binder(contract)
        self._repeats = Repeats()
        self._arch = arch
        self._compiler = compiler
        self.otherwise: Callable[[], Loaded] | None = None     # for arguments that this file cannot take
        self._told = False

    def __call__(self, *arrays: object, out: object = None, stream: object = None, **named: object) -> object:
        """Launches the kernel: all arguments in order, or without the outputs, which are then returned.

        Arrays and scalars may be passed by name. `out` gives the memory of left-out outputs; `stream` is
        a CuPy or torch stream, or its address. Returns the outputs that were left out: one array, or a
        tuple; None where none was. Raises TG04 errors that name the argument at fault.
        """
        if not named:
            result = self._repeats.result(arrays, out, stream)
            if result is not MISSED:
                return result
        return self.run(arrays, named, out, stream, self._repeats)

    def run(self, arrays: tuple, named: Mapping[str, object], out: object, stream: object, repeats: Repeats) -> object:
        """A call, checked from its start, and kept in `repeats` for the calls that will be like it."""
        try:
            bound = self._binder.bind(arrays, named, out)
        except TilegenError as error:
            return self._other(error).run(arrays, named, out, stream, repeats)
        if not bound.is_empty:
            kernel = self._kernel
            kernel.launch(bound, kernel.prepare(bound), stream)
            if not named:
                repeats.remember(arrays, out, self._binder, bound, kernel)
        return bound.result

    def bind(self, *arrays: object, out: object = None, **named: object) -> BoundCall:
        """The call with these arguments, checked and prepared once; `bound(stream=...)` only launches."""
        try:
            return BoundCall(self._kernel, self._binder.bind(arrays, named, out))
        except TilegenError as error:
            return self._other(error).bind(*arrays, out=out, **named)

    def _other(self, error: TilegenError) -> Loaded:
        """The file for arguments that this one refuses, with a warning the first time; raises `error` where there is
        none."""
        if self.otherwise is None or error.code not in _REFUSALS:
            raise error
        other = self.otherwise()
        if not self._told:
            self._told = True
            warnings.warn(f"{error.message}: such calls run the text for {other.contract.arch}, without the copy "
                          "engine", stacklevel=3)
        return other

    @property
    def knobs(self) -> Mapping[str, Number]:
        """The knobs as they stand in the file."""
        return self.contract.knob_values

    @cached_property
    def artifact(self) -> Artifact:
        """The compiled file, from the cache where it is there; a warning for each thing that its compiler says costs
        speed. Raises TG0301, TG0302."""
        artifact = self._backend.build(self.source, self.contract, self._arch, self._compiler)
        origin = lint.Origin(self.contract.file, self.contract.source, self.contract.line_map)
        for finding in hazards.placed(artifact.findings, artifact.path):
            if finding.kind != "warning":
                warnings.warn(lint.warning(finding, self.source, origin), stacklevel=3)
        return artifact

    @property
    def resources(self) -> Resources | None:
        """Registers, spills, stack and static shared bytes, where the compiler reports them."""
        return self.artifact.resources

    @property
    def findings(self) -> list[lint.Finding]:
        """What costs speed: what the compiler says, and what the machine code of a GPU shows beside it (local memory,
        products that wait for each other, fences in loops). Raises TG0301 where nothing can disassemble that."""
        artifact = self.artifact
        told = hazards.placed(artifact.findings, artifact.path)
        return [*told, *(hazards.of(artifact.path) if artifact.path.suffix == ".cubin" else ())]

    @cached_property
    def _kernel(self) -> Kernel:
        self._backend.check()
        return self._backend.open(self.artifact, self.contract)

    def __repr__(self) -> str:
        parts = ", ".join(p.name for p in self.contract.caller_params)
        return f"<{self.contract.entry}({parts}) for {self._backend.name} {self.contract.arch}>"


class BoundCall:
    """A kernel with its arguments, for the least time between call and launch. Usable in CUDA graphs
    where all arrays are in GPU memory."""

    def __init__(self, kernel: Kernel, bound: Bound) -> None:
        self.result = bound.result
        self._bound = bound             # keeps the memory of all arguments alive
        self._launch = _nothing if bound.is_empty else kernel.prepared(bound) or self._whole_launch(kernel, bound)

    def __call__(self, stream: object = None) -> object:
        self._launch(stream)
        return self.result

    @staticmethod
    def _whole_launch(kernel: Kernel, bound: Bound) -> Callable[[object], None]:
        prepared = kernel.prepare(bound)
        return lambda stream: kernel.launch(bound, prepared, stream)


def _nothing(stream: object) -> None:
    """The launch of no blocks."""


def _read(path_or_text: str | os.PathLike) -> tuple[str, str]:
    """The text, and the name that errors show. A string with a line break is the text itself."""
    if isinstance(path_or_text, str) and "\n" in path_or_text:
        return path_or_text, "<text>"
    try:
        return Path(path_or_text).read_text(encoding="utf-8"), os.fspath(path_or_text)
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is not UTF-8 text"
        raise TilegenError("TG0504", f"cannot read {os.fspath(path_or_text)}: {reason}") from None
