"""Finds workspaces (T.alloc_global) that are read before any launch has written them.

Precondition: the kernel as parsed, all its launches. Effect: none, or TG0112 at the first such read.
"""

from __future__ import annotations

from tilegen import ir
from tilegen.errors import Note, TilegenError
from tilegen.frontend.access import read_by, written_by
from tilegen.launches import launches_of


def check_workspaces(kernel: ir.Kernel, target=None) -> ir.Kernel:
    """`kernel`, when each workspace is written by the launch that first uses it, or before.

    Before: T.copy(partial[bx, 0], tile) in the only T.Kernel. After: TG0112 at partial.
    An atomic update reads what it changes; it needs a launch before it that fills the workspace.
    """
    written: set[str] = set()
    workspaces = {p.buffer.name: p for p in kernel.params if p.workspace}
    for launch in launches_of(kernel):
        nodes = list(ir.walk(launch.body))
        written |= {buffer.name for node in nodes if not isinstance(node, ir.Atomic)
                    for buffer, _ in written_by(node)}
        for node in nodes:
            for buffer, loc in read_by(node):
                if buffer.name in workspaces and buffer.name not in written:
                    raise TilegenError("TG0112", f"{buffer.name} is read, but nothing has written it yet", loc,
                                       f"fill {buffer.name} in a T.Kernel before this one",
                                       (Note(f"{buffer.name} is allocated", workspaces[buffer.name].loc),))
    return kernel
