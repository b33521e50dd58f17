"""Launches CUDA, HIP and MACA files on the CPU, through the emulator."""

from __future__ import annotations

import re
import time
from functools import partial
from pathlib import Path

from tilegen.build.lint import Origin
from tilegen.build.toolchain import Artifact
from tilegen.emulator.build import Mode
from tilegen.errors import TilegenError
from tilegen.runtime import emulator
from tilegen.runtime.arrays import as_numpy, memory_of
from tilegen.runtime.backend import Backend
from tilegen.runtime.binding import Bound, Scalar
from tilegen.runtime.contract import Contract
from tilegen.runtime.packing import by_value


_SWIZZLE = 128                                   # bytes of a row in which the copy engine changes places
# Under a debugger all runs in one thread of the operating system, for as long as it takes.
_DEBUGGED = {"threads": 1, "timeout": 1e6}


class EmulatedKernel:
    """The entries of one file that was compiled for the emulator. `report` is of the last call."""

    def __init__(self, artifact: Artifact, contract: Contract, mode: Mode = Mode()) -> None:
        self.contract = contract
        lanes = warp_size(contract.target, contract.arch)
        self.library = emulator.Library(artifact.path, artifact.source, lanes, mode, _origin(contract))
        self.report: emulator.Report | None = None

    def prepare(self, bound: Bound) -> list:
        """NumPy views and C values; outputs that the caller left out hold all ones, which is NaN in every
        type of float. Raises TG0405 for memory of a GPU."""
        for name, array in bound.arrays.items():
            if array.device.kind != "cpu":
                raise TilegenError("TG0405", f"argument {name} is on {array.device}, but the emulator runs "
                                   "on the CPU", hint="pass a host array")
        for name in bound.allocated:
            as_numpy(bound.arrays[name]).reshape(-1).view("uint8").fill(0xFF)
        arguments = [by_value(a) if isinstance(a, Scalar) else as_numpy(a) for a in bound.arguments]
        for position, param in enumerate(self.contract.params):
            if param.strides:
                arguments[position] = memory_of(bound.arguments[position])
            if param.box:
                arguments[position] = emulator.tensor_map(arguments[position], bound.boxes[param.name], _SWIZZLE)
        return arguments

    def launch(self, bound: Bound, prepared: list, stream: object = None) -> None:
        """Runs to the end. Raises TG0601 for a fault of the kernel."""
        self.report = self.attempt(bound, prepared)
        if self.report.fault:
            raise self.report.fault.error()

    def repeat(self, bound: Bound, names: tuple[str, ...]) -> None:
        """No shorter way than `launch`."""

    def prepared(self, bound: Bound) -> None:
        """No shorter way than `launch`."""

    def attempt(self, bound: Bound, prepared: list, order: str = "forward", seed: int = 0,
                watch: tuple[int, int] = (-1, 0)) -> emulator.Report:
        """Runs every launch to its end, or to the first fault; see `emulator.attempt`."""
        names = [p.name for p in self.contract.params] + list(self.contract.sizes)
        report = emulator.Report()
        for _, launch, geometry in bound.launches():
            own = launch.arguments
            watched = (own.index(watch[0]), watch[1]) if watch[0] in own else (-1, 0)
            found = emulator.attempt(self.library, launch.entry, geometry.grid, geometry.block, geometry.shared,
                                     [prepared[position] for position in own], cluster=geometry.cluster, order=order,
                                     seed=seed, watch=watched, **(_DEBUGGED if self.library.mode.debug else {}),
                                     names=[names[position] for position in own])
            report = found if found.fault else report.followed_by(found)
            if report.fault:
                break
        return report


def _origin(contract: Contract) -> Origin:
    return Origin(contract.file, contract.source, contract.line_map)


def warp_size(target: str, arch: str) -> int:
    """Threads that run in step: 32 for CUDA and RDNA (gfx10 and up), 64 for CDNA and MACA."""
    return 32 if target == "cuda" or arch.startswith(("gfx10", "gfx11", "gfx12")) else 64


def backend(mode: Mode = Mode(), name: str | None = None) -> Backend:
    """The emulator, with files compiled in this mode; `name` is what its reports call the file."""
    return Backend("emulator", partial(_build, mode, name), _check, partial(EmulatedKernel, mode=mode))


def _build(mode: Mode, name: str | None, text: str, contract: Contract, arch: str | None,
           compiler: str | None) -> Artifact:
    if contract.target not in emulator.SUFFIXES:
        raise TilegenError("TG0502", f"the emulator runs GPU files; {contract.file} is for {contract.target}")
    started = time.perf_counter()
    name = name or _file_name(contract)
    lanes = warp_size(contract.target, contract.arch)
    library = emulator.compile_source(text, contract.target, warp_size=lanes, name=name, compiler=compiler,
                                      debug=mode.debug, check=mode.check, sanitize=mode.sanitize,
                                      origin=_origin(contract))
    elapsed = 1e3 * (time.perf_counter() - started)
    return Artifact(library.path, library.source, "", False, elapsed, "emulator")


def _file_name(contract: Contract) -> str:
    """What reports call the file: as the user does, where that is a name for this kind of file."""
    own, suffix = Path(contract.file).name, emulator.SUFFIXES[contract.target]
    return own if re.fullmatch(r"[\w.+-]+", own) and own.endswith(suffix) else contract.entry + suffix


def _check() -> None:
    """The emulator runs wherever its C++ compiler does."""


BACKEND = backend()
