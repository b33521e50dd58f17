"""What `tilegen run` runs: a kernel of a Python file or an emitted file, where, and against what it is checked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tilegen import config, ir, kernel_files, placement, printer
from tilegen.api import Factory, Kernel
from tilegen.emit.contract import digest
from tilegen.errors import TilegenError
from tilegen.literals import emitted_with
from tilegen.runtime import contract as contracts
from tilegen.runtime.contract import Contract
from tilegen.runtime.load import Loaded, load


@dataclass(frozen=True)
class Candidate:
    """A callable, the place that it runs on (gpu, cpu, emulator), the kernel that says what is right (None where
    it is not known; `note` says why), and the sizes and scalar arguments that were given."""

    loaded: Loaded
    place: str
    reference: ir.Kernel | None
    given: Mapping[str, Any]
    note: str = ""


@dataclass(frozen=True)
class Request:
    """What was asked for; None where nothing was."""

    values: Mapping[str, Any]
    target: str | None = None
    arch: str | None = None
    place: str | None = None
    against: str | None = None


def find(file: str, request: Request) -> Candidate:
    """The candidate in `file`: `gemm.py:matmul`, `gemm.cu`, or `-`. Raises TG05 errors."""
    path, _ = kernel_files.split(file)
    if path.endswith(".py"):
        return of_kernel(kernel_files.find(file), request)
    text = kernel_files.read(path)
    if contracts.MARK in text or path != "-":
        return of_file(text, path, request)
    return of_kernel(kernel_files.find_in(path, "", text), request)


def of_kernel(found: Kernel | Factory, request: Request) -> Candidate:
    """A kernel in Python: knobs are set, sizes that are known at launch stay so."""
    target = _target(found, request)
    place = request.place or _place(target)
    kernel, given = _with_knobs(found, request.values, target)
    made = (kernel.here if place == "gpu" else kernel.specialised)(target, request.arch)
    return Candidate(made.emulated if place == "emulator" else made.loaded, place, made.kernel, given)


def _target(found: Kernel | Factory, request: Request) -> str:
    wanted = request.target or ("cpu" if request.place == "cpu" else None)
    if request.place == "cpu" and wanted != "cpu" or request.place in ("gpu", "emulator") and wanted == "cpu":
        raise TilegenError("TG0506", f"the target {wanted} has no --on {request.place}")
    chosen = wanted or found.options.target or config.target or placement.gpu() or "cpu"
    if chosen == "cpu" and request.place in ("gpu", "emulator"):
        return "hip" if request.place == "gpu" and placement.can_launch("hip") else "cuda"
    return chosen


def _place(target: str) -> str:
    if target == "cpu":
        return "cpu"
    return "gpu" if placement.can_launch(target) else "emulator"


def _with_knobs(found: Kernel | Factory, values: Mapping[str, Any], target: str) -> tuple[Kernel, dict[str, Any]]:
    """The kernel with those values that are knobs, and the values for its launch."""
    parameters = found.knob_names()
    knobs = {name: value for name, value in values.items() if name in parameters}
    kernel = found(**knobs) if isinstance(found, Factory) else found.specialize(**knobs)
    rest = {name: value for name, value in values.items() if name not in knobs}
    if not rest:
        return kernel, {}
    parsed = kernel.specialised(target).kernel
    launch = {size.name for size in parsed.sizes} | {p.name for p in parsed.params if p.buffer is None}
    given = {name: value for name, value in rest.items() if name in launch}
    return kernel.specialize(**{name: value for name, value in rest.items() if name not in launch}), given


# ---- Emitted files -------------------------------------------------------------------------------
def of_file(text: str, path: str, request: Request) -> Candidate:
    """An emitted file, checked against the kernel that it was made from where that is found."""
    contract = contracts.read_contract(text, path)
    if request.target not in (None, contract.target):
        raise TilegenError("TG0506", f"{path} is for {contract.target}, not for {request.target}",
                           hint="emit the kernel again for another target")
    if request.place not in (None, "emulator") and (request.place == "cpu") != (contract.target == "cpu") or \
            request.place == "emulator" and contract.target == "cpu":
        raise TilegenError("TG0506", f"{path} is for {contract.target}, which has no --on {request.place}")
    place = request.place or _place(contract.target)
    loaded = load(text if path == "-" else path, arch=request.arch, target="emulator" if place == "emulator" else None)
    reference, note = reference_of(contract, text, path, request.against)
    return Candidate(loaded, place, reference, request.values, note)


def reference_of(contract: Contract, text: str, path: str, against: str | None) -> tuple[ir.Kernel | None, str]:
    """The kernel that the emitted `text` of file `path` was made from, with the knobs as they stand in the text;
    or why there is none. Raises TG0505 where `against` (kernel.py[:name]) does not hold it."""
    source = contract.source.rpartition(":")[0]
    beside = Path(path).parent / source
    if against is None and (path == "-" or not source or not beside.is_file()):
        return None, f"not checked: {source or 'its kernel'} is not beside it; name it by --against"
    where, name = kernel_files.split(against) if against else (str(beside), "")
    found = kernel_files.kernels(where)
    chosen = [found[name]] if name in found else [k for k in found.values() if name in ("", k.__name__)]
    made = [_made(kernel, contract, text) for kernel in chosen]
    fitting = [kernel for kernel in made if kernel.name == contract.entry]
    if not fitting:
        raise TilegenError("TG0505", f"{where} has no kernel {name or contract.entry}",
                           hint="name the kernel by --against KERNEL.py:NAME")
    own = chosen[made.index(fitting[0])]
    moved_on = contract.ir not in ("", digest(printer.show(_made(own, contract, text, {}))))
    return fitting[0], f"{where} has changed since {path} was emitted" if moved_on else ""


def _made(found: Kernel | Factory, contract: Contract, text: str, knobs: Mapping[str, Any] | None = None) -> ir.Kernel:
    """The kernel with the values that the file was emitted with, and these knobs: those that stand in it now."""
    values = {**emitted_with(text), **(contract.knob_values if knobs is None else knobs)}
    parameters = found.knob_names()
    own = {name: value for name, value in values.items() if name in parameters}
    kernel = found(**own) if isinstance(found, Factory) else found.specialize(**own)
    arch = contract.arch or None
    parsed = kernel.specialised(contract.target, arch).kernel
    names = {k.name for k in parsed.knobs} | {size.name for size in parsed.sizes}
    rest = {name: value for name, value in values.items() if name in names and name not in parameters}
    return kernel.specialize(**rest).specialised(contract.target, arch).kernel if rest else parsed
