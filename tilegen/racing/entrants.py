"""Who takes part in a race: kernels and libraries that were found right, each with a call that is ready."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tilegen import candidate, ir, kernel_files, trial
from tilegen.candidate import Candidate, Request
from tilegen.check import Comparison, compare, tolerance
from tilegen.emit import work
from tilegen.emit.tolerance import UNIT
from tilegen.errors import TilegenError
from tilegen.racing import peers
from tilegen.racing.memory import on_device, on_host
from tilegen.runtime.contract import MARK, Contract, read_contract

_MOST_INTERPRETED = 2**33       # flops that the interpreter does in a few seconds
_SLACK = 4                      # two right programs may be wrong to opposite sides


@dataclass(frozen=True)
class Entrant:
    """A candidate of a race: its name, what it is in words, and the call that is timed."""

    name: str
    words: str
    call: Callable[[], Any]


@dataclass(frozen=True)
class Field:
    """All entrants, the first being the subject; where and with which sizes they run, what a call does, how they were
    found right, and what else is to be known of the files."""

    entrants: tuple[Entrant, ...]
    place: str
    sizes: Mapping[str, int]
    reference: ir.Kernel
    contract: Contract
    flops: float | None
    bytes: float | None
    checked: str
    notes: tuple[str, ...] = ()


def gather(files: Sequence[str], libraries: Sequence[str], request: Request, seed: int = 0) -> Field:
    """The entrants of a race of `files` (gemm.py:matmul, matmul.cu) and `libraries` (see `peers.NAMES`).

    Every file is compared with the interpreter, and at the sizes of the race all with each other. Raises TG0703 for one
    with wrong results, TG0506 for files with other arguments or a race in the emulator, whose time says nothing, and
    what `candidate.find` and `peers.find` raise.
    """
    found = _candidates(files, request)
    first = found[0]
    _require_comparable(files, found)
    contract = first.loaded.contract
    sizes = trial.choose_sizes(contract, first.given, trial.EXTENTS)
    scalars = {name: value for name, value in first.given.items() if name not in contract.sizes}
    checked = _check(files, found, sizes, scalars, seed)
    values = {k.name: k.value for k in first.reference.knobs} | sizes
    arguments = trial.make_arguments(contract, sizes, {**first.given, **scalars}, seed)
    own = {name: on_device(value, first.place) for name, value in arguments.items()}
    entrants, results = [], {}
    for file, one in zip(files, found):
        written = {p.name for p in contract.caller_params if p.writes}
        fresh = trial.copied({name: arguments[name] for name in written})
        given = own | {name: on_device(value, one.place) for name, value in fresh.items()}
        call = one.loaded.bind(**given, **trial.unseen(contract, sizes))
        call()
        results[file] = [on_host(given[p.name]) for p in contract.params if p.writes]
        entrants.append(Entrant(file, f"for {one.loaded.contract.target} {one.loaded.contract.arch}", call))
    operation = peers.operation_of(first.reference, contract, scalars) if libraries else None
    for library in libraries:
        given = {name: value.copy() if hasattr(value, "copy") else value for name, value in own.items()}
        peer = peers.find(library, first.place, contract, operation, _names(files, request, contract), given)
        results[peer.name] = peers.results(peer.call())
        entrants.append(Entrant(peer.name, peer.words, peer.call))
    _require_agreement(results, contract, first.reference, values)
    return Field(tuple(entrants), first.place, sizes, first.reference, contract,
                 work.value(work.flops(first.reference), values), work.value(work.traffic(first.reference), values),
                 checked, tuple(one.note for one in found if one.note))


def _candidates(files: Sequence[str], request: Request) -> list[Candidate]:
    """The kernel of each file; the first Python file says what emitted ones are checked against, and the first emitted
    one for which target Python is emitted."""
    python = next((file for file in files if kernel_files.split(file)[0].endswith(".py")), None)
    target = request.target
    for file in files:
        path = kernel_files.split(file)[0]
        if target is None and not path.endswith(".py") and MARK in (text := kernel_files.read(path)):
            target = read_contract(text, path).target
    found = []
    for file in files:
        is_python = kernel_files.split(file)[0].endswith(".py")
        asked = Request(request.values, target if is_python else request.target, request.arch if is_python else None,
                        request.place, request.against or python)
        found.append(candidate.find(file, asked))
        if found[-1].reference is None:
            raise TilegenError("TG0506", f"{file} is {found[-1].note}", hint="a race needs to know what is right")
        if found[-1].place == "emulator":
            raise TilegenError("TG0506", f"{file} would run in the emulator, whose time says nothing of a GPU",
                               hint="race the kernel on the CPU: -t cpu, or files emitted with -t cpu")
    return found


def _require_comparable(files: Sequence[str], found: Sequence[Candidate]) -> None:
    """Raises TG0506 where two files take other arguments, or run elsewhere."""
    def shown(one: Candidate) -> list[tuple]:
        return [(p.name, p.dtype.name, p.shape, p.access) for p in one.loaded.contract.caller_params]
    for file, one in zip(files, found):
        if shown(one) != shown(found[0]):
            raise TilegenError("TG0506", f"{file} and {files[0]} take other arguments, so that they cannot race")
        if one.place != found[0].place:
            raise TilegenError("TG0506", f"{file} runs on the {one.place} and {files[0]} on the {found[0].place}")


def _check(files: Sequence[str], found: Sequence[Candidate], sizes: Mapping[str, int], scalars: Mapping[str, Any],
           seed: int) -> str:
    """Compares each file with the interpreter; in words, with which sizes. Raises TG0703."""
    reference, contract = found[0].reference, found[0].loaded.contract
    flops = work.value(work.flops(reference), {k.name: k.value for k in reference.knobs} | dict(sizes))
    if flops is not None and flops > _MOST_INTERPRETED:
        sizes = trial.choose_sizes(contract, scalars, trial.SMALL)
    for file, one in zip(files, found):
        result = trial.run(one.loaded, one.reference, one.place, {**scalars, **sizes}, seed, timed=False)
        if not result.ok:
            worst = next(check for check in result.checks if not check.ok)
            raise _wrong(file, worst, sizes)
    shown = " ".join(f"{name}={value}" for name, value in sizes.items())
    return f"compared with the interpreter{f' at {shown}' if shown else ''}"


def _wrong(file: str, worst: Comparison, sizes: Mapping[str, int]) -> TilegenError:
    shown = " ".join(f"-D {name}={value}" for name, value in sizes.items())
    return TilegenError("TG0703", f"{file} does not race, since it is wrong: {worst.name}: {worst}",
                        hint=f"tilegen check {file} says more; so does tilegen run {file} {shown}".rstrip())


def _require_agreement(results: Mapping[str, list], contract: Contract, reference: ir.Kernel,
                       values: Mapping[str, float]) -> None:
    """Raises TG0703 where the results of an entrant differ from those of the first."""
    first = next(iter(results))
    outputs = [p for p in contract.params if p.writes]
    for name, arrays in results.items():
        for param, got, expected in zip(outputs, arrays, results[first]):
            if got.shape != expected.shape:
                raise TilegenError("TG0703", f"{name} gives {param.name} the shape {got.shape}, not {expected.shape}")
            rtol = tolerance(reference, param.dtype, values)
            rtol = _SLACK * (rtol + UNIT.get(got.dtype.name, 0.0)) if rtol else 0.0
            compared = compare(param.name, got, expected, rtol)
            if not compared.ok:
                raise TilegenError("TG0703", f"{name} does not race: its results are not those of {first}: "
                                   f"{param.name}: {compared}")


def _names(files: Sequence[str], request: Request, contract: Contract) -> Mapping[str, Any]:
    """The names of the kernel's Python file, where it is known."""
    path = request.against or next((file for file in files if kernel_files.split(file)[0].endswith(".py")), None)
    source = contract.source.rpartition(":")[0]
    if path is None and source:
        path = str(Path(kernel_files.split(files[0])[0]).parent / source)
    place = kernel_files.split(path)[0] if path else ""
    found = kernel_files.kernels(place) if place and Path(place).is_file() else {}
    return next(iter(found.values())).__wrapped__.__globals__ if found else {}
