"""The launches of a kernel: one, or several that share its parameters."""

from __future__ import annotations

from dataclasses import replace

from tilegen import ir
from tilegen.frontend.access import read_by, with_access, written_by
from tilegen.frontend.constants import variables


def joined(launches: list[ir.Kernel], whole: ir.Kernel) -> ir.Kernel:
    """`whole`, the name and parameters of a kernel, with what its T.Kernel blocks are."""
    if len(launches) > 1:
        return replace(whole, launches=tuple(launches))
    only, = launches
    return replace(whole, grid=only.grid, block_vars=only.block_vars, threads=only.threads, body=only.body,
                   wishes=only.wishes, launch_loc=only.launch_loc)


def divided(kernel: ir.Kernel) -> ir.Kernel:
    """Each launch of a kernel with its name and those parameters, sizes and knobs that it uses."""
    launches = (replace(launch, name=f"{kernel.name}_{number}", params=_used(kernel, launch), knobs=kernel.knobs)
                for number, launch in enumerate(kernel.launches, 1))
    return replace(kernel, launches=tuple(with_access(replace(launch, sizes=sizes_of(launch))) for launch in launches))


def _used(kernel: ir.Kernel, launch: ir.Kernel) -> tuple[ir.Param, ...]:
    """The parameters that a launch names, their access still open."""
    scalars = {var.name for var in variables(launch)}
    tensors = {buffer.name for node in ir.walk(launch.body) for touched in (read_by, written_by)
               for buffer, _ in touched(node)}
    return tuple(replace(p, access="") if p.buffer else p for p in kernel.params
                 if (p.buffer.name in tensors if p.buffer else p.var.name in scalars))


def sizes_of(kernel: ir.Kernel) -> tuple[ir.Var, ...]:
    """The sizes that a kernel uses, in the order of first use."""
    found: dict[str, ir.Var] = {}
    for var in variables(kernel):
        if var.kind == "size":
            found.setdefault(var.name, replace(var, loc=None))
    return tuple(found.values())
