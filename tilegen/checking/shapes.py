"""The shapes that a file is checked with: whole tiles, ragged ones, single elements, none."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from tilegen import arith, ir
from tilegen.errors import TilegenError
from tilegen.runtime.contract import Contract
from tilegen.runtime.expressions import Number
from tilegen.trial import without_gaps

_UNKNOWN_TILE = 8           # of a size that the launch does not divide into tiles
_STEPS = 4                  # of a loop over tiles: more than a pipeline has stages on their way
_LARGEST = 1 << 14          # of a tile, so that the interpreter stays fast
_GAPS = {"ragged": 3, "ragged by whole vectors": 8}         # elements between rows, of tensors with strides
_CEILDIV = re.compile(r"ceildiv\((\w+), ([^()]+)\)")
_AT_MOST = re.compile(r"(\w+) <= ([^&|]+)")
_MULTIPLE = re.compile(r"(\w+) % ([^&|=]+) == 0")


@dataclass(frozen=True)
class Shape:
    """A value for each size of the kernel, and what it is to find out."""

    name: str
    sizes: Mapping[str, int]


@dataclass(frozen=True)
class Extent:
    """One size: its tile, whether the grid has a block for each of them, and what the kernel requires of it."""

    tile: int
    blocks: bool = False
    limit: int = 1 << 30
    multiple: int = 1

    def fitting(self, value: int) -> int:
        """The nearest allowed value from `value` on; beyond the limit, one as far inside of it."""
        value = value if value <= self.limit else self.limit - (value - self.limit) % self.limit
        return min(-(-value // self.multiple) * self.multiple, self.limit // self.multiple * self.multiple)


def shapes(contract: Contract, reference: ir.Kernel | None, given: Mapping[str, Number]) -> list[Shape]:
    """The shapes for a file; `given` sizes stay as they are. `reference` says how loops divide sizes into tiles.

    A file whose sizes are all constants has one shape. Raises TG0503 for a name that the kernel does not have,
    TG0409 where no shape keeps the kernel's conditions.
    """
    contract.check_names(given)
    if not contract.sizes:
        return [Shape("as emitted", {})]
    extents = extents_of(contract, reference)
    found: dict[tuple, Shape] = {}
    for name, values in _plans(extents):
        sizes = {size: int(given.get(size, values.get(size, 1))) for size in contract.sizes}
        gap = _GAPS.get(name, 0)
        sizes |= {stride: value + gap for stride, value in without_gaps(contract, {**given, **sizes}).items()
                  if stride not in given}
        if is_allowed(contract, {**given, **sizes}):
            found.setdefault(tuple(sizes.values()), Shape(name, sizes))
    if not found:
        raise TilegenError("TG0409", f"none of the shapes tried keeps what {contract.entry} requires: "
                           + ", ".join(contract.requires), hint="give sizes that do: --shape M=128,N=64")
    return list(found.values())


def is_allowed(contract: Contract, values: Mapping[str, Number]) -> bool:
    """Whether these sizes and scalars keep every condition of the kernel."""
    scalars = {p.name: 1 for p in contract.params if not p.is_array}
    return all(contract.value(condition, {**scalars, **values}) for condition in contract.requires)


def _plans(extents: Mapping[str, Extent]) -> list[tuple[str, dict[str, int]]]:
    """(name, sizes): what tends to break is the edge, the vectors at it, and the first and last step of a loop."""
    def each(in_grid, in_loop) -> dict[str, int]:
        return {name: e.fitting(in_grid(e.tile) if e.blocks else in_loop(e.tile)) for name, e in extents.items()}

    part = each(lambda t: max(t // 2 - 1, 1) | 1, lambda t: max(t // 2 - 1, 1) | 1)
    plans = [
        ("whole tiles", each(lambda t: 2 * t, lambda t: _STEPS * t)),
        ("ragged", each(lambda t: t + (t // 3 | 1), lambda t: _STEPS * t - (t // 3 | 1))),
        ("ragged by whole vectors", each(lambda t: t + _vectors(t), lambda t: t + _vectors(t))),
        ("part of a tile", part),
        ("one element", each(lambda t: 1, lambda t: 1)),
    ]
    return plans + [(f"no {name}", {**part, name: 0}) for name in extents]


def _vectors(tile: int) -> int:
    """A quarter of a tile, in whole vectors of 8 where it has them."""
    return max(tile // 4 // 8 * 8, 8) if tile >= 16 else 1


# ---- Tiles ---------------------------------------------------------------------------------------
def extents_of(contract: Contract, reference: ir.Kernel | None) -> dict[str, Extent]:
    """How each size is divided, and limited."""
    grid = [e for launch in contract.launches for e in launch.grid]
    tiles = _loop_tiles(reference) if reference is not None else {}
    blocks = {name for name in contract.sizes for e in grid if re.search(rf"\b{name}\b", e)}
    for expression in grid:
        tiles |= {name: _number(contract, tile) for name, tile in _CEILDIV.findall(expression)}
        tiles |= {expression: 1} if expression in contract.sizes else {}
    limits = _conditions(contract, _AT_MOST)
    multiples = _conditions(contract, _MULTIPLE)
    result = {}
    strides = without_gaps(contract, dict.fromkeys(contract.sizes, 1))
    for name in (size for size in contract.sizes if size not in strides):
        tile = tiles.get(name) or limits.get(name) or multiples.get(name) or _UNKNOWN_TILE
        result[name] = Extent(min(max(tile, 1), _LARGEST), name in blocks, limits.get(name, 1 << 30),
                              max(multiples.get(name, 1), 1))
    return result


def _loop_tiles(kernel: ir.Kernel) -> dict[str, int]:
    """{size: tile} for each ceildiv(size, tile) of the kernel."""
    knobs = {k.name: k.value for k in kernel.knobs}
    found = {}
    for node in ir.walk(kernel):
        if isinstance(node, ir.Call) and node.name == "ceildiv" and isinstance(node.args[0], ir.Var):
            found[node.args[0].name] = int(arith.evaluate(node.args[1], knobs) or 0)
    return found


def _conditions(contract: Contract, pattern: re.Pattern) -> dict[str, int]:
    pairs = [pair for condition in contract.requires for pair in pattern.findall(condition)]
    return {name: value for name, text in pairs if name in contract.sizes and (value := _number(contract, text))}


def _number(contract: Contract, text: str) -> int:
    """The value of an expression of the file's constants; 0 where it names anything else."""
    try:
        return int(contract.value(text.strip(), {}))
    except (TilegenError, KeyError):
        return 0
