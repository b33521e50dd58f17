"""What `tilegen check` says: as text for a person, as data for a program."""

from __future__ import annotations

import linecache
import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tilegen import ir
from tilegen.build import lint
from tilegen.checking.examine import FoundFault, Output, ShapeResult, Verdict
from tilegen.checking.shapes import Shape
from tilegen.errors import Loc
from tilegen.runtime.contract import Contract
from tilegen.runtime.emulator import BankUse
from tilegen.runtime.emulator_faults import Place

_MOST_FAULTS, _MOST_CONFLICTS = 8, 6
_FEW = 1.01          # ways on average that are as good as one


@dataclass(frozen=True)
class Subject:
    """What was checked: the file, its contract and text, its kernel (None: unknown, `note` says why), where."""

    file: str
    text: str
    contract: Contract
    reference: ir.Kernel | None
    note: str
    place: str
    orders: tuple[str, ...]

    @property
    def name(self) -> str:
        return os.path.basename(self.file)

    def line(self, number: int) -> str:
        """A line of the emitted file."""
        lines = self.text.splitlines()
        return lines[number - 1].strip() if 0 < number <= len(lines) else ""

    def python(self, number: int) -> Loc | None:
        """The Python line that a line of the emitted file comes from."""
        return lint.python_line(self.text, number, lint.Origin(self.name))

    def quoted(self, loc: Loc) -> str:
        """`06_gemm.py:21  T.gemm(A_shared, B_shared, C_local)`."""
        known = self.reference.loc.file if self.reference and self.reference.loc else ""
        file = known if os.path.basename(known) == os.path.basename(loc.file) else loc.file
        return f"{loc.short}  {linecache.getline(file, loc.line).strip()}".rstrip()


# ---- Text ----------------------------------------------------------------------------------------
def text(verdict: Verdict, subject: Subject) -> str:
    """The whole report."""
    contract, reference = subject.contract, subject.reference
    against = f"against {reference.loc.short}" if reference and reference.loc else "only faults are looked for"
    orders = f", threads in {listed(subject.orders)} order" if len(subject.orders) > 1 else ""
    lines = [f"{contract.entry} for {contract.target} {contract.arch}, on the {subject.place}, {against}{orders}"]
    lines += [f"  {subject.note}"] if subject.note else []
    width = max((len(_heading(r.shape)) for r in verdict.shapes), default=0)
    for result in verdict.shapes:
        lines += _shape_lines(result, subject, width)
    rules = {o.comparison.name: (o.comparison.allowed, o.rule) for r in verdict.shapes for o in r.outputs
             if o.comparison.allowed >= max((p.comparison.allowed for q in verdict.shapes for p in q.outputs
                                             if p.comparison.name == o.comparison.name), default=0)}
    lines += [f"  tolerance of {name}, at most: {found}" for name, (_, found) in rules.items()]
    lines += _conflict_lines(verdict.conflicts, subject)
    for number, found in enumerate(verdict.faults[:_MOST_FAULTS], 1):
        lines += ["", f"fault {number}: {found.fault.message}", *_fault_lines(found, subject)]
    left = len(verdict.faults) - _MOST_FAULTS
    return "\n".join(lines + ([f"\nand {left} more faults"] if left > 0 else []))


def _heading(shape: Shape) -> str:
    return f"{shape.name}: " + " ".join(f"{name}={value}" for name, value in shape.sizes.items())


def _shape_lines(result: ShapeResult, subject: Subject, width: int) -> list[str]:
    words = ["FAULT"] if result.faults else []
    if result.refused:
        words.append(f"not run: {result.refused}")
    words += [_output(output) for output in result.outputs]
    words += [f"{listed(result.differs)} depends on the order of threads"] if result.differs else []
    lines = [f"  {_heading(result.shape):{width}}  " + "; ".join(words or ["no faults"])]
    for output in result.outputs:
        lines += [f"      {line}" for line in _details(output, subject)]
    return lines


def _output(output: Output) -> str:
    c = output.comparison
    if c.ok:
        exact = f"{c.name} equal" if not c.error else None
        return exact or f"{c.name} right ({c.absolute:.2g} absolute, {c.relative:.2g} relative)"
    index = ", ".join(map(str, c.first))
    return (f"{c.name} WRONG in {c.wrong} of {c.total} elements ({100 * c.wrong / c.total:.3g} %), the first at "
            f"[{index}]: {c.got} instead of {c.expected}")


def _details(output: Output, subject: Subject) -> list[str]:
    c = output.comparison
    if c.ok:
        return []
    lines = [f"worst error {c.absolute:.2g} absolute, {c.relative:.2g} relative; {c.error:.2g} of {c.allowed:.2g} "
             f"allowed" + (f"; threads in {output.order} order" if len(subject.orders) > 1 else "")]
    if output.tile:
        inside = ", ".join(str(i - o) for i, o in zip(c.first, output.tile.origin))
        source = f", {subject.quoted(output.tile.loc)}" if output.tile.loc else ""
        lines.append(f"in the tile of block {output.tile.block}, at [{inside}] of it{source}")
    if output.writer:
        place = output.writer.place
        lines.append(f"written by thread {output.writer.thread} of block {output.writer.block}")
        lines += [f"    {line}" for line in _place_lines(place, subject)] if place else []
    elif output.unwritten:
        lines.append("no thread wrote it")
    return lines


def _fault_lines(found: FoundFault, subject: Subject) -> list[str]:
    fault = found.fault
    lines = [f"  thread {fault.thread} of block {fault.block}"] if fault.thread is not None else []
    lines += [f"  {line}" for line in _place_lines(fault.place, subject)] if fault.place else []
    if fault.other:
        lines.append("  the other access")
        lines += [f"  {line}" for line in _place_lines(fault.other, subject)]
    met: dict[str, list[str]] = {}
    for shape, order in found.where:
        met.setdefault(_heading(shape), []).append(order)
    several = len(subject.orders) > 1
    lines += [f"  met with {name}" + (f" ({', '.join(orders)})" if several else "") for name, orders in met.items()]
    return lines


def _place_lines(place: Place, subject: Subject) -> list[str]:
    lines = [f"{place.loc.short}  {subject.line(place.loc.line)}"]
    lines += [f"called at {call.short}  {subject.line(call.line)}" for call in place.calls]
    return lines + ([f"from {subject.quoted(place.python)}"] if place.python else [])


def _conflict_lines(uses: list[BankUse], subject: Subject) -> list[str]:
    """Accesses that take more steps than they need, the costliest first."""
    worse = sorted((u for u in uses if u.ways >= _FEW), key=lambda u: -u.instructions * (u.ways - 1))
    if not uses:
        return []
    lines = ["  no bank conflicts to speak of"] if not worse else ["  bank conflicts, of the shape with the most:"]
    for use in worse[:_MOST_CONFLICTS]:
        chain = (use.line, *use.calls)
        number, python = next(((n, p) for n in chain if (p := subject.python(n))), (use.line, None))
        lines.append(f"    {subject.name}:{number}  {use.kind} of {use.bytes} bytes, {use.ways:.3g} ways on average, "
                     f"{use.worst} at worst" + (f"  ({python.short})" if python else "")
                     + f"\n        {subject.line(number)}")
    return lines


def listed(words: Sequence[object]) -> str:
    """`forward, reverse and random`"""
    words = [*map(str, words)]
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)


# ---- Data ----------------------------------------------------------------------------------------
def data(verdict: Verdict, subject: Subject) -> dict:
    """The same for json.dumps."""
    contract, reference = subject.contract, subject.reference
    return {
        "name": contract.entry, "file": subject.file, "target": contract.target, "arch": contract.arch,
        "on": subject.place, "orders": list(subject.orders), "ok": verdict.ok, "note": subject.note,
        "against": reference.loc.short if reference and reference.loc else None,
        "shapes": [_shape_data(result, subject) for result in verdict.shapes],
        "faults": [_fault_data(found) for found in verdict.faults],
        "bank_conflicts": [{"line": u.line, "called_from": list(u.calls), "kind": u.kind, "bytes": u.bytes,
                            "instructions": u.instructions, "ways": u.ways, "worst": u.worst}
                           for u in verdict.conflicts]}


def _shape_data(result: ShapeResult, subject: Subject) -> dict:
    return {"shape": result.shape.name, "sizes": dict(result.shape.sizes), "ok": result.ok, "refused": result.refused,
            "faults": result.faults, "depends_on_order": result.differs,
            "outputs": [_output_data(output) for output in result.outputs]}


def _output_data(output: Output) -> dict:
    c, writer = output.comparison, output.writer
    first = None if c.first is None else {
        "index": list(c.first), "got": str(c.got), "expected": str(c.expected),
        "tile": list(output.tile.block) if output.tile else None,
        "block": list(writer.block) if writer else None, "thread": list(writer.thread) if writer else None,
        **(_place_data(writer.place) if writer and writer.place else {})}
    errors = {name: value if math.isfinite(value) else None      # which JSON has no number for
              for name, value in (("absolute", c.absolute), ("relative", c.relative), ("error", c.error))}
    return {"name": c.name, "ok": c.ok, **errors, "allowed": c.allowed, "rule": output.rule, "wrong": c.wrong,
            "total": c.total, "order": output.order, "first": first}


def _fault_data(found: FoundFault) -> dict:
    fault = found.fault
    return {"message": fault.message, "block": fault.block, "thread": fault.thread,
            **(_place_data(fault.place) if fault.place else {}),
            "other": _place_data(fault.other) if fault.other else None,
            "met": [{"sizes": dict(shape.sizes), "order": order} for shape, order in found.where]}


def _place_data(place: Place) -> Mapping[str, object]:
    return {"line": place.loc.line, "called_from": [call.line for call in place.calls],
            "python": place.python.short if place.python else None}
