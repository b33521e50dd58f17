"""Where a file is run to be checked: each place says what an attempt did, instead of raising it."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Protocol

import numpy

from tilegen.checking.shared_names import SharedNames
from tilegen.emulator.build import Mode
from tilegen.errors import TilegenError
from tilegen.runtime import emulated, emulator, native
from tilegen.runtime.binding import Binder
from tilegen.runtime.contract import Contract
from tilegen.runtime.emulator import Fault, Report, Writer
from tilegen.runtime.load import BACKENDS

# What may be the mere consequence of threads that did not meet at a barrier.
_CONSEQUENCES = re.compile(r"data race|nobody has written|out-of-bounds|wait for it first")


class Place(Protocol):
    """One way to run a file, in the orders of threads that it offers."""

    orders: tuple[str, ...]

    def attempt(self, arguments: Mapping[str, object], order: str) -> Report:
        """Runs the file once; the arrays of `arguments` (in host memory) are changed in place."""


class Emulator:
    """A GPU file on the CPU, every access watched; with `sanitize`, undefined behaviour as well."""

    def __init__(self, text: str, contract: Contract, sanitize: bool,
                 orders: tuple[str, ...] = emulator.ORDERS, seed: int = 0) -> None:
        self.orders, self._seed = orders, seed
        self.contract = contract
        self._binder = Binder(contract)
        self._names = SharedNames(text, contract)
        self._open = _opener(text, contract)
        self._watched = self._open(Mode(check=True, sanitize=sanitize))

    def attempt(self, arguments: Mapping[str, object], order: str) -> Report:
        """Runs the file once. Where an access is at fault that may follow from a barrier that not all threads
        came to, the barrier is looked for too."""
        before = {name: value.copy() for name, value in arguments.items() if isinstance(value, numpy.ndarray)}
        report = self._run(self._watched, arguments, order)
        if report.fault and _CONSEQUENCES.search(report.fault.message):
            plain = self._run(self._open(Mode()), {**arguments, **before}, order)
            if plain.fault and not _CONSEQUENCES.search(plain.fault.message):
                return plain
        return report

    def writer(self, arguments: Mapping[str, object], order: str, name: str, element: int) -> Writer | None:
        """Who writes the element (counted through all dimensions) of an output last; None where nobody does."""
        number = [p.name for p in self.contract.params].index(name)
        watch = number, element * arguments[name].itemsize
        return self._run(self._watched, arguments, order, watch).writer

    def _run(self, kernel: emulated.EmulatedKernel, arguments: Mapping[str, object], order: str,
             watch: tuple[int, int] = (-1, 0)) -> Report:
        bound = self._binder.bind((), arguments)
        if bound.is_empty:
            return Report()
        report = kernel.attempt(bound, kernel.prepare(bound), order, self._seed, watch)
        if report.fault is None:
            return report
        return replace(report, fault=replace(report.fault, message=self._names.explained(report.fault.message)))


def _opener(text: str, contract: Contract) -> Callable[[Mode], emulated.EmulatedKernel]:
    """Compiles the file in a mode; reports call it what the user calls it."""
    suffix = emulator.SUFFIXES[contract.target]
    own = Path(contract.file).name
    name = own if re.fullmatch(r"[\w.+-]+", own) and own.endswith(suffix) else contract.entry + suffix

    def opened(mode: Mode) -> emulated.EmulatedKernel:
        backend = emulated.backend(mode, name)
        return backend.open(backend.build(text, contract, None, None), contract)
    return opened


class Native:
    """A C++ file in a process of its own; with `sanitize`, under the address and undefined-behaviour
    sanitizers."""

    orders = ("native",)

    def __init__(self, text: str, contract: Contract, sanitize: bool) -> None:
        backend = native.backend(sanitize)
        backend.check()
        self._binder = Binder(contract)
        self._kernel = backend.open(backend.build(text, contract, None, None), contract)

    def attempt(self, arguments: Mapping[str, object], order: str) -> Report:
        """Runs the program once."""
        bound = self._binder.bind((), arguments)
        return Report(fault=None if bound.is_empty else self._kernel.attempt(self._kernel.prepare(bound)))


class Gpu:
    """A GPU file on a GPU: its results only."""

    orders = ("gpu",)

    def __init__(self, text: str, contract: Contract) -> None:
        backend = BACKENDS[contract.target]
        backend.check()
        self._binder = Binder(contract)
        self._kernel = backend.open(backend.build(text, contract, None, None), contract)

    def attempt(self, arguments: Mapping[str, object], order: str) -> Report:
        """Runs the file once; what the driver reports is the fault."""
        bound = self._binder.bind((), arguments)
        if bound.is_empty:
            return Report()
        try:
            self._kernel.launch(bound, self._kernel.prepare(bound))    # which waits, for arrays of the host
        except TilegenError as error:
            return Report(fault=Fault(f"{error.message} [{error.code}]"))
        return Report()
