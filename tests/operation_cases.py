"""Small kernels with the sizes to run them on, and how they are run: the table behind test_operations.py."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy

import tilegen
from tilegen import targets
from tilegen.check import compare, tolerance
from tilegen.interpret import run as interpret
from tilegen.jit import Specialised
from tilegen.trial import random, with_strides


@dataclass(frozen=True)
class Case:
    """A kernel with its values (knobs, dtypes, fixed sizes), the sizes to call it with, and what a float may
    differ by (None: the rule of `tilegen.check`)."""

    name: str
    function: Any
    values: Mapping[str, Any] = field(default_factory=dict)
    sizes: tuple[Mapping[str, int], ...] = ({},)
    rtol: float | None = None

    def specialised(self, target: str, arch: str | None = None) -> Specialised:
        kernel = tilegen.jit(self.function)
        made = (
            kernel(**self.values)
            if isinstance(kernel, tilegen.api.Factory)
            else kernel.specialize(**self.values)
        )
        return made.specialised(target, arch)


CASES: list[Case] = []


def case(*sizes: Mapping[str, int], rtol: float | None = None, **lists: Any):
    """Registers a kernel: once for each combination of the values in `lists`, run on each of `sizes`."""

    def register(function):
        for chosen in itertools.product(*lists.values()):
            values = dict(zip(lists, chosen))
            label = "-".join([function.__name__, *(f"{k}={v}" for k, v in values.items())])
            CASES.append(Case(label, function, values, sizes or ({},), rtol))
        return function

    return register


def runnable(made: Specialised):
    """The emitted file as a callable: natively for a CPU, in the emulator for a GPU."""
    return made.loaded if made.target.family == "cpu" else made.emulated


def arguments(made: Specialised, sizes: Mapping[str, int], seed: int) -> dict[str, Any]:
    """Random contents for every parameter, small enough that sums stay in range; outputs start as what no
    kernel writes."""
    generator = numpy.random.default_rng(seed)
    found: dict[str, Any] = {}
    contract = runnable(made).contract
    for p in contract.caller_params:
        if not p.is_array:
            found[p.name] = 2 if p.dtype.is_integer else 1.5
            continue
        shape, strides = (tuple(int(contract.value(x, sizes)) for x in extents) for extents in (p.shape, p.strides))
        if p.is_output:
            found[p.name] = numpy.full(shape, 77).astype(p.dtype.numpy)
        else:
            found[p.name] = random(generator, p.dtype, shape)
        if strides:
            found[p.name] = with_strides(found[p.name], strides)
    return found


def differences(made: Specialised, sizes: Mapping[str, int], rtol: float | None, seed: int = 0) -> list[str]:
    """What `made` computes otherwise than the interpreter: one line for each array that is wrong."""
    loaded = runnable(made)
    found, expected = arguments(made, sizes, seed), arguments(made, sizes, seed)
    interpret(made.kernel, expected, sizes=dict(sizes))
    loaded(**found)
    values = {k.name: k.value for k in made.kernel.knobs} | dict(sizes)
    wrong = []
    for p in loaded.contract.caller_params:
        if p.is_array:
            allowed = tolerance(made.kernel, p.dtype, values) if rtol is None else rtol
            result = compare(
                p.name, found[p.name], expected[p.name], allowed if p.dtype.is_float and p.writes else 0
            )
            wrong += [] if result.ok else [f"{p.name}: {result}"]
    return wrong


TARGETS = tuple(targets.modules())
