"""Shared tiles that stand for fragments, and the copies to and from them."""

from __future__ import annotations

from tilegen import ir
from tilegen.errors import Loc
from tilegen.passes.layout_classes import short
from tilegen.passes.ranges import knob_values


class Routes:
    """The stand-ins of one kernel: each fragment has at most one, under whatever shapes it is used."""

    def __init__(self, kernel: ir.Kernel) -> None:
        self.env = knob_values(kernel)
        self.taken = {n.name for n in ir.walk(kernel) if isinstance(n, (ir.Buffer, ir.Var))}
        self.tiles: dict[str, ir.Buffer] = {}
        self.allocations: list[ir.Alloc] = []
        self.notes: dict[tuple[str, str], None] = {}

    def tile(self, buffer: ir.Buffer) -> ir.Buffer:
        """The shared tile that stands for a fragment; for another shape of it, another shape of that tile."""
        if buffer.name not in self.tiles:
            if isinstance(buffer, ir.Alias):
                new = ir.Alias(self._name(buffer, "_staged"), buffer.shape, buffer.dtype, "shared",
                               self.tile(buffer.base), loc=buffer.loc)
            else:
                new = ir.Buffer(self._name(buffer, "_staged"), buffer.shape, buffer.dtype, "shared", loc=buffer.loc)
            self._declare(buffer.name, new)
        return self.tiles[buffer.name]

    def fragment(self, key: str, like: ir.Buffer, shape: tuple[ir.Expr, ...], tail: str) -> ir.Buffer:
        """A fragment of its own, the same one for the same key and shape."""
        place = f"{key} {shape}"
        if place not in self.tiles:
            self._declare(place, ir.Buffer(self._name(like, tail), shape, like.dtype, "fragment", loc=like.loc))
        return self.tiles[place]

    def _declare(self, place: str, buffer: ir.Buffer) -> None:
        self.tiles[place] = buffer
        self.allocations.append(ir.Alloc(buffer))

    def _name(self, buffer: ir.Buffer, tail: str) -> str:
        return ir.take_name(self.taken, short(buffer.name) + tail)

    def out(self, region: ir.Region, loc: Loc | None, why: str) -> ir.Copy:
        """Registers to the stand-in."""
        self.notes[f"fragment {region.buffer.name}", f"through shared memory: {why}"] = None
        return ir.Copy(region, self.part(region), (("why", why),), loc=loc)

    def back(self, region: ir.Region, loc: Loc | None) -> ir.Copy:
        """The stand-in to registers."""
        return ir.Copy(self.part(region), region, loc=loc)

    def part(self, region: ir.Region) -> ir.Region:
        """The same part of the stand-in."""
        return ir.Region(self.tile(region.buffer), region.offsets, region.extents, loc=region.loc)


def whole_of(buffer: ir.Buffer) -> ir.Region:
    """All of a buffer."""
    return ir.Region(buffer, (ir.Const(0),) * len(buffer.shape), buffer.shape)
