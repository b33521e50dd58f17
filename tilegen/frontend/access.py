"""Which parameters a kernel reads and writes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from tilegen import ir
from tilegen.errors import Loc, Note, TilegenError
from tilegen.launches import launches_of


def with_access(kernel: ir.Kernel) -> ir.Kernel:
    """`kernel` with each tensor parameter's access set to what its statements do.

    Raises TG0107 for a write to a parameter that was declared with access="read".
    """
    reads: dict[str, Loc | None] = {}
    writes: dict[str, Loc | None] = {}
    for node in (node for launch in launches_of(kernel) for node in ir.walk(launch.body)):
        for buffer, loc in read_by(node):
            reads.setdefault(buffer.name, loc)
        for buffer, loc in written_by(node):
            writes.setdefault(buffer.name, loc)
    params = tuple(_checked(param, reads, writes) if param.buffer else param for param in kernel.params)
    return replace(kernel, params=params)


def read_by(node: ir.Node) -> Iterator[tuple[ir.Buffer, Loc | None]]:
    """The buffers that a node itself reads (not those of the nodes inside of it), under their first names."""
    for buffer, loc in _read_by(node):
        yield ir.owner(buffer), loc


def written_by(node: ir.Node) -> Iterator[tuple[ir.Buffer, Loc | None]]:
    """The buffers that a node itself writes, under their first names."""
    for buffer, loc in _written_by(node):
        yield ir.owner(buffer), loc


def _read_by(node: ir.Node) -> Iterator[tuple[ir.Buffer, Loc | None]]:
    match node:
        case ir.Load(buffer=buffer):
            yield buffer, node.loc
        case ir.Copy() | ir.Scan() | ir.Vote():
            yield node.src.buffer, node.src.loc
        case ir.Gemm():
            yield node.a.buffer, node.a.loc
            yield node.b.buffer, node.b.loc
            if not node.clear:
                yield node.c.buffer, node.c.loc
        case ir.Reduce():
            yield node.src.buffer, node.src.loc
            if not node.clear:
                yield node.dst.buffer, node.dst.loc
        case ir.Atomic(buffer=buffer):
            yield buffer, node.loc
        case ir.Print(values=values):
            for value in values:
                if isinstance(value, ir.Region):
                    yield value.buffer, value.loc


def _written_by(node: ir.Node) -> Iterator[tuple[ir.Buffer, Loc | None]]:
    match node:
        case ir.Store(buffer=buffer) | ir.Atomic(buffer=buffer) | ir.Vote(dst=buffer):
            yield buffer, node.loc
            if isinstance(node, ir.Atomic) and node.previous is not None:
                yield node.previous, node.loc
        case ir.Raw():
            for region in node.writes:
                yield region.buffer, region.loc
        case ir.Fill(dst=region) | ir.Copy(dst=region) | ir.Reduce(dst=region) | ir.Scan(dst=region) | \
                ir.Gemm(c=region):
            yield region.buffer, region.loc or node.loc


def _checked(param: ir.Param, reads: dict, writes: dict) -> ir.Param:
    is_read, is_written = param.buffer.name in reads, param.buffer.name in writes
    if param.access == "read" and is_written:
        raise TilegenError("TG0107", f"{param.name} is declared read only, but is written here",
                           writes[param.buffer.name],
                           f'leave access="read" out of the type of {param.name}, or write to another tensor',
                           (Note(f"{param.name} is declared", param.loc),))
    access = "readwrite" if is_read and is_written else "write" if is_written else "read"
    return replace(param, access=access)
