"""How two emitted files differ: knobs, the launch, and the text by region."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import zip_longest

from tilegen.errors import TilegenError
from tilegen.merging.knobs import Change
from tilegen.merging.merge import comparable
from tilegen.merging.regions import CONTRACT, Region, regions
from tilegen.runtime.contract import Contract, Param
from tilegen.runtime.expressions import Number

_CONTEXT = 2        # equal lines around those that differ


@dataclass(frozen=True)
class Row:
    """A fact that differs: `old` and `new` as text, None where a side lacks it."""

    name: str
    old: str | None
    new: str | None


@dataclass(frozen=True)
class RegionDifference:
    """A region whose text differs, None on the side that lacks it, with the lines of a unified diff."""

    old: Region | None
    new: Region | None
    lines: tuple[str, ...]

    @property
    def name(self) -> str:
        """The region's name in the newer file; both names where the Python statement has changed."""
        if self.old and self.new and self.old.key != self.new.key:
            return f"{self.old.name} -> {self.new.name}"
        return (self.new or self.old).name


def knobs(old: Contract, new: Contract) -> list[Change]:
    """The knobs with another value, as they stand in the files."""
    names = [*old.knobs, *(name for name in new.knobs if name not in old.knobs)]
    found = [Change(name, _knob(old, name), _knob(new, name)) for name in names]
    return [change for change in found if change.before != change.after]


def _knob(contract: Contract, name: str) -> str | None:
    return contract.constants.declared[name].expression if name in contract.knobs else None


def launch(old: Contract, new: Contract, sizes: Mapping[str, Number]) -> list[Row]:
    """What differs of the launch: with numbers where the knobs and `sizes` give them."""
    sides = [(contract, {name: value for name, value in sizes.items() if name in contract.sizes}) for contract in
             (old, new)]
    rows = []
    fields = [_fields(contract, known) for contract, known in sides]
    for name in dict.fromkeys([*fields[0], *fields[1]]):
        texts = [of_side.get(name) for of_side in fields]
        if texts[0] != texts[1]:
            rows.append(Row(name, *texts))
    names = [p.name for p in old.params] + [p.name for p in new.params if p not in old.params]
    for name in dict.fromkeys(names):
        texts = [next((_param(p) for p in side.params if p.name == name), None) for side in (old, new)]
        if texts[0] != texts[1]:
            rows.append(Row(f"argument {name}", *texts))
    order = [" ".join(p.name for p in side.params) for side in (old, new)]
    if order[0] != order[1]:
        rows.append(Row("arguments", *order))
    return rows


def _param(param: Param) -> str:
    kind = param.dtype.name if param.shape is None else f"{param.dtype.name}[{', '.join(param.shape)}] {param.access}"
    return kind if param.align == 1 else f"{kind}, aligned to {param.align}"


def _fields(contract: Contract, known: Mapping[str, Number]) -> dict[str, str]:
    """The fields as they are shown; those of a launch under its name, where there are several."""
    found = {"entry": contract.entry, "target": f"{contract.target} {contract.arch}".strip()}
    for launch in contract.launches:
        prefix = f"{launch.entry} " if len(contract.launches) > 1 else ""
        for name in ("grid", "block", "cluster", "shared"):
            found[prefix + name] = _expressions(getattr(launch, name), contract, known)
        if prefix:
            names = [*(p.name for p in contract.params), *contract.sizes]
            found[prefix + "arguments"] = " ".join(names[position] for position in launch.arguments)
    return {**found, "sizes": " ".join(contract.sizes), "requires": ", ".join(contract.requires)}


def _expressions(field: str | tuple[str, ...], contract: Contract, known: Mapping[str, Number]) -> str:
    """The expressions of a field, and their values."""
    expressions = (field,) if isinstance(field, str) else field
    text = ", ".join(expressions)
    try:
        values = ", ".join(str(contract.value(expression, known)) for expression in expressions)
    except (KeyError, TilegenError):        # a size that is not known here
        return text
    return text if values == text else f"{text} = {values}"


def text(old: str, new: str, with_contract: bool = False) -> list[RegionDifference]:
    """The regions whose lines differ by more than the numbers of their Python lines, in the order of the files; the
    contract only where asked for."""
    sides = [[r for r in regions(side) if with_contract or r.section != CONTRACT] for side in (old, new)]
    keys = [[region.key for region in side] for side in sides]
    found = []
    for _, a, b, c, d in SequenceMatcher(None, *keys, autojunk=False).get_opcodes():
        for before, after in zip_longest(sides[0][a:b], sides[1][c:d]):
            if lines := _unified(before, after):
                found.append(RegionDifference(before, after, tuple(lines)))
    return found


def _unified(old: Region | None, new: Region | None) -> list[str]:
    """The hunks of a unified diff, with the line numbers of the files."""
    before, after = (region.lines if region else () for region in (old, new))
    firsts = [region.first if region else 1 for region in (old, new)]
    matcher = SequenceMatcher(None, [*map(comparable, before)], [*map(comparable, after)], autojunk=False)
    if before and after and matcher.ratio() == 1:
        return []
    lines = []
    for group in matcher.get_grouped_opcodes(_CONTEXT):
        a, b, c, d = group[0][1], group[-1][2], group[0][3], group[-1][4]
        lines.append(f"@@ -{firsts[0] + a},{b - a} +{firsts[1] + c},{d - c} @@")
        for kind, a, b, c, d in group:
            if kind == "equal":
                lines += [f" {line}" for line in after[c:d]]
            else:
                lines += [*(f"-{line}" for line in before[a:b]), *(f"+{line}" for line in after[c:d])]
    return lines
