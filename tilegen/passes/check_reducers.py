"""Finds reducers that are read before their contributions have met.

Precondition: the kernel as parsed. Effect: none, or TG0112 at a read of a reducer between T.reducer_update and
T.finalize_reducer, where each thread may know its own contributions only.
"""

from __future__ import annotations

from tilegen import ir
from tilegen.errors import TilegenError
from tilegen.frontend.access import read_by


def check_reducers(kernel: ir.Kernel, target=None) -> ir.Kernel:
    """`kernel`, when each reducer is finalized before it is read. Raises TG0112.

    Before: T.reducer_update(total[0], x); Y[0] = total[0]. After: TG0112 at total[0].
    """
    reducers = {n.dst.buffer.name for n in ir.walk(kernel.body) if isinstance(n, ir.Finalize)}
    if reducers:
        _block(kernel.body, reducers, set())
    return kernel


def _block(statements: tuple[ir.Stmt, ...], reducers: set[str], open_: set[str]) -> set[str]:
    """The reducers that wait for T.finalize_reducer after `statements`, where `open_` did before them."""
    for s in statements:
        match s:
            case ir.For() | ir.While() | ir.Parallel():
                _refuse_reads(tuple(c for c in ir.children(s) if isinstance(c, ir.Expr)), open_)
                once = _block(s.body, reducers, open_)
                open_ = open_ | _block(s.body, reducers, open_ | once)
            case ir.If():
                _refuse_reads((s.condition,), open_)
                open_ = _block(s.then, reducers, open_) | _block(s.otherwise, reducers, open_)
            case ir.Atomic() if s.buffer.name in reducers:
                _refuse_reads((s.value, *s.indices), open_)
                open_ = open_ | {s.buffer.name}
            case ir.Finalize():
                open_ = open_ - {s.dst.buffer.name}
            case ir.Fill() if s.dst.buffer.name in reducers:
                open_ = open_ - {s.dst.buffer.name}
            case _:
                _refuse_reads((s,), open_)
    return open_


def _refuse_reads(nodes: tuple[ir.Node, ...], open_: set[str]) -> None:
    for node in ir.walk(nodes):
        for buffer, loc in read_by(node):
            if buffer.name in open_:
                raise TilegenError("TG0112", f"{buffer.name} is read before T.finalize_reducer", loc,
                                   f"write T.finalize_reducer({buffer.name}) after the last T.reducer_update")
