"""A random tile program while it is written, and what comes out of it."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy
from program_expressions import Choose
from program_values import Value
from tilegen import dtypes


class Argument(NamedTuple):
    """A tensor of the program. `fill`: dyadic, integer, zero, or untouched (a number that shows what was
    not written). `error`: how far two right results may differ."""
    name: str
    shape: tuple[int, ...]
    dtype: str
    fill: str
    error: float = 0.0

    @property
    def is_output(self) -> bool:
        return self.fill in ("zero", "untouched")

    def array(self, seed: int = 0) -> numpy.ndarray:
        """Fresh contents, the same for the same seed."""
        dtype = dtypes.lookup(self.dtype).numpy
        generator = numpy.random.default_rng([seed, *self.name.encode()])
        if self.fill == "dyadic":
            return (generator.integers(-16, 17, self.shape) / 8).astype(dtype)
        if self.fill == "integer":
            return generator.integers(-8, 9, self.shape).astype(dtype)
        return numpy.full(self.shape, 0 if self.fill == "zero" else 77).astype(dtype)


class Program(NamedTuple):
    """Source text in the language of kernels, the function in it, and what to call it with."""
    source: str
    name: str
    arguments: tuple[Argument, ...]


@dataclass
class Tile:
    """A tile that holds values: `dims` says along which axes of the block it lies ("mn", "m", "n")."""
    name: str
    dims: str
    scope: str
    value: Value


@dataclass
class Draft:
    """A program while it is written. M, N, K: sizes of the problem; BM, BN, BK of a tile."""
    choose: Choose
    sizes: dict[str, int]
    named: tuple[str, ...] = ()                                     # sizes known at launch only
    lines: list[str] = field(default_factory=list)
    arguments: list[Argument] = field(default_factory=list)
    shapes: dict[str, str] = field(default_factory=dict)            # argument -> the text of its shape
    tiles: list[Tile] = field(default_factory=list)
    indent: int = 2
    threads: int = 0                                                # of a block, where a stage needs so many
    counts: dict[str, int] = field(default_factory=dict)
    bytes: dict[str, int] = field(default_factory=lambda: {"shared": 0, "fragment": 0})

    def write(self, *lines: str) -> None:
        self.lines += ["    " * self.indent + line for line in lines]

    def fresh(self, name: str) -> str:
        self.counts[name] = self.counts.get(name, 0) + 1
        return f"{name}{self.counts[name]}"

    def tensor(self, name: str, shape: str, dtype: str, fill: str, error: float = 0.0) -> str:
        """A new parameter; `shape` is text over the sizes."""
        name = self.fresh(name)
        extents = eval(f"({shape},)", {"ceildiv": lambda a, b: -(-a // b)}, self.sizes)
        self.arguments.append(Argument(name, extents, dtype, fill, error))
        self.shapes[name] = shape.replace("ceildiv", "T.ceildiv")
        return name

    def tile(self, scope: str, dims: str, value: Value, allocated: str = "") -> Tile:
        """A new tile, allocated here; `allocated` is another shape to allocate."""
        name = self.fresh({"shared": "S", "fragment": "F"}[scope])
        shape = [{"m": "BM", "n": "BN", "k": "BK"}[d] for d in dims]
        text = allocated or f'({", ".join(shape)},)'
        self.write(f'{name} = T.alloc_{scope}({text}, "{value.dtype}")')
        width = max(dtypes.lookup(value.dtype).bytes, 4)
        self.bytes[scope] += width * math.prod(self.sizes[n] for n in shape)
        return Tile(name, dims, scope, value)

    def keep(self, tile: Tile) -> None:
        self.tiles.append(tile)

    def of_dims(self, dims: str, *scopes: str) -> list[Tile]:
        """The tiles that lie along these axes, in these scopes."""
        return [t for t in self.tiles if t.dims == dims and t.scope in scopes]

    def element(self, tile: Tile, moved: bool = False) -> str:
        """The tile's element at (i, j); with `moved`, at times that of another position, which only
        shared memory can serve."""
        indices = {"mn": "i, j", "m": "i", "n": "j"}[tile.dims]
        if moved and tile.scope == "shared" and tile.dims == "mn":
            indices = self.choose(("i, j", "i, (j + 1) % BN", "BM - 1 - i, j", "(i * 3 + j) % BM, j"))
        return f"{tile.name}[{indices}]"
