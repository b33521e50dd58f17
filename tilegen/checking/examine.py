"""Runs a file over shapes and orders of its threads, and compares it with what its kernel means."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy

from tilegen import ir
from tilegen.check import Comparison, compare, rule, tolerance
from tilegen.checking.places import Emulator, Place
from tilegen.checking.shapes import Shape
from tilegen.checking.tiles import Tile, tile_of
from tilegen.errors import TilegenError
from tilegen.interpreted import Interpreted
from tilegen.runtime.contract import Contract
from tilegen.runtime.emulator import BankUse, Fault, Writer
from tilegen.runtime.expressions import Number
from tilegen.trial import copied, make_arguments, unseen


_ENDLESS = "no end in sight"         # how the message starts, of a kernel that ran out of time


@dataclass
class Output:
    """One output in the order of threads that suits it least: the comparison, the rule of its tolerance, and for
    a wrong one the tile of the first wrong element and who wrote it last (None where that is not known)."""

    comparison: Comparison
    rule: str
    order: str
    tile: Tile | None = None
    writer: Writer | None = None
    unwritten: bool = False


@dataclass
class ShapeResult:
    """What one shape gave; `refused` says why it could not be run, `differs` names outputs whose bits depend on
    the order of threads."""

    shape: Shape
    outputs: list[Output] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)         # the orders that ended in one
    differs: list[str] = field(default_factory=list)
    refused: str = ""

    @property
    def ok(self) -> bool:
        return not self.faults and all(output.comparison.ok for output in self.outputs)


@dataclass
class FoundFault:
    """A fault, and everywhere that it was met: (shape, order)."""

    fault: Fault
    where: list[tuple[Shape, str]]


@dataclass
class Verdict:
    """Everything that was found. `conflicts` are the bank conflicts of the shape that has the most."""

    shapes: list[ShapeResult] = field(default_factory=list)
    faults: list[FoundFault] = field(default_factory=list)
    conflicts: list[BankUse] = field(default_factory=list)

    @property
    def ok(self) -> bool:
        return not self.faults and all(result.ok for result in self.shapes)


def examine(contract: Contract, reference: ir.Kernel | None, place: Place, shapes: Sequence[Shape],
            given: Mapping[str, Number], seed: int = 0) -> Verdict:
    """Runs the file of `contract` at `place` for every shape and order; compares with `reference` where there is
    one, else only looks for faults. `given` are scalar arguments by name."""
    verdict = Verdict()
    for shape in shapes:
        if any(found.fault.message.startswith(_ENDLESS) for found in verdict.faults):
            verdict.shapes.append(ShapeResult(shape, refused="the kernel did not end with an earlier shape"))
        else:
            verdict.shapes.append(_Examination(contract, reference, place, shape, given, seed).run(verdict))
    return verdict


class _Examination:
    """One shape."""

    def __init__(self, contract: Contract, reference: ir.Kernel | None, place: Place, shape: Shape,
                 given: Mapping[str, Number], seed: int) -> None:
        self.contract, self.reference, self.place, self.shape = contract, reference, place, shape
        self.arguments = make_arguments(contract, shape.sizes, given, seed)
        self.hidden = unseen(contract, shape.sizes)
        self.outputs = [p for p in contract.params if p.is_array and p.writes]

    def run(self, verdict: Verdict) -> ShapeResult:
        """Every order; faults and conflicts go to the verdict."""
        result = ShapeResult(self.shape)
        try:
            expected = self._expected()
        except TilegenError as error:
            result.refused = f"the interpreter says: {error.message}"
            return result
        bits: dict[str, bytes] = {}
        for order in self.place.orders:
            values = copied(self.arguments)
            report = self.place.attempt({**values, **self.hidden}, order)
            if report.fault:
                result.faults.append(order)
                _add(verdict.faults, report.fault, self.shape, order)
                if report.fault.message.startswith(_ENDLESS):
                    break
                continue
            if not verdict.conflicts or _badness(report.bank_uses) > _badness(verdict.conflicts):
                verdict.conflicts = list(report.bank_uses)
            for p in self.outputs:
                if bits.setdefault(p.name, values[p.name].tobytes()) != values[p.name].tobytes():
                    result.differs = sorted({*result.differs, p.name})
            if expected is not None:
                self._compare(result, values, expected, order)
        for output in result.outputs:
            self._explain(output)
        return result

    def _expected(self) -> dict | None:
        if self.reference is None:
            return None
        values = copied(self.arguments)
        Interpreted(self.reference)(**values, **self.hidden)
        return values

    def _compare(self, result: ShapeResult, values: dict, expected: dict, order: str) -> None:
        """Keeps the worst order of each output."""
        known = {k.name: k.value for k in self.reference.knobs} | dict(self.shape.sizes)
        for p in self.outputs:
            found = compare(p.name, values[p.name], expected[p.name], tolerance(self.reference, p.dtype, known))
            earlier = next((o for o in result.outputs if o.comparison.name == p.name), None)
            output = Output(found, rule(self.reference, p.dtype, known), order)
            if earlier is None:
                result.outputs.append(output)
            elif (found.wrong, found.error) > (earlier.comparison.wrong, earlier.comparison.error):
                result.outputs[result.outputs.index(earlier)] = output

    def _explain(self, output: Output) -> None:
        """Finds the tile of the first wrong element, and its writer by running again with an eye on it."""
        first = output.comparison.first
        if first is None:
            return
        name = output.comparison.name
        known = {k.name: k.value for k in self.reference.knobs} | dict(self.shape.sizes)
        output.tile = tile_of(self.reference, name, first, known)
        if isinstance(self.place, Emulator):
            element = int(numpy.ravel_multi_index(first, self.arguments[name].shape))
            values = {**copied(self.arguments), **self.hidden}
            output.writer = self.place.writer(values, output.order, name, element)
            output.unwritten = output.writer is None


def _add(faults: list[FoundFault], fault: Fault, shape: Shape, order: str) -> None:
    """Faults of one line that differ in numbers only are one."""
    known = next((f for f in faults if _kind(f.fault) == _kind(fault)), None)
    if known is None:
        faults.append(FoundFault(fault, [(shape, order)]))
    else:
        known.where.append((shape, order))


def _kind(fault: Fault) -> tuple:
    place = fault.place
    lines = [loc.line for loc in (place.loc, *place.calls)] if place else []
    return *lines, re.sub(r"[-\d][\dxa-f]*", "", fault.message.partition(":")[0])


def _badness(uses: Sequence[BankUse]) -> float:
    """Steps lost to conflicts."""
    return sum(use.instructions * (use.ways - 1) for use in uses)
