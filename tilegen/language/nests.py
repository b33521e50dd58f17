"""T.Parallel nests that operations on tiles stand for."""

from __future__ import annotations

from collections.abc import Callable

from tilegen import arith, ir
from tilegen.errors import TilegenError
from tilegen.language.builder import Block, current
from tilegen.language.regions import is_one, same_extent, squeezed
from tilegen.language.text import shape_text

Statement = Callable[[tuple[ir.Expr, ...], ir.Expr | None], ir.Stmt]


def elementwise(target: ir.Region, source: ir.Region | None, statement: Statement) -> None:
    """A nest over the extents of `target` that are not 1; `statement` makes its body from the indices of the
    element and the value of the one in `source`. Raises TG0101 where the extents differ."""
    builder = current()
    if source is not None:
        _require_alike(source, target)
    builder.blocks.append(Block())
    kept = [k for k, extent in enumerate(target.extents) if not is_one(extent, builder.numbers)]
    loops = [ir.Var(builder.local("ijklmn"[n]), kind="loop") for n in range(len(kept))]
    value = None
    if source is not None:
        value = ir.Load(source.buffer, _moved(source, loops), loc=source.loc)
    body = statement(_moved(target, loops), value)
    builder.blocks.pop()
    extents = tuple(target.extents[k] for k in kept)
    builder.emit(ir.Parallel(tuple(loops), extents, (body,), loc=builder.loc) if loops else body)


def _require_alike(source: ir.Region, target: ir.Region) -> None:
    numbers = current().numbers
    a, b = squeezed(source.extents, numbers), squeezed(target.extents, numbers)
    if len(a) != len(b) or not all(same_extent(x, y, numbers) for x, y in zip(a, b)):
        raise TilegenError("TG0101", f"{source.buffer.name} gives {shape_text(source.extents)}, {target.buffer.name} "
                           f"takes {shape_text(target.extents)}", source.loc or current().loc)


def _moved(region: ir.Region, loops: list[ir.Var]) -> tuple[ir.Expr, ...]:
    """The indices of the element at `loops`, which run over the extents of `region` that are not 1."""
    numbers, rest = current().numbers, iter(loops)
    return tuple(offset if is_one(extent, numbers) else arith.add(offset, next(rest))
                 for offset, extent in zip(region.offsets, region.extents))
