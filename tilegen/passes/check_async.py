"""Finds tiles that are read while an asynchronous copy into them is certainly on its way.

Precondition: the kernel as parsed. Effect: none, or TG0112 at the first such read. Only copies that fill a whole
tile count, and only what is read after them on every way without a T.sync() in between: a kernel that copies
into one half of a tile while it reads the other is left alone.
"""

from __future__ import annotations

from tilegen import ir
from tilegen.errors import Note, TilegenError
from tilegen.frontend.access import read_by

Pending = dict[str, ir.Copy]             # by the name of the tile


def check_async(kernel: ir.Kernel, target=None) -> ir.Kernel:
    """`kernel`, when nothing is certainly read before its copy is complete. Raises TG0112.

    Before: T.copy_async(A, A_shared); T.gemm(A_shared, ...). After: TG0112 at A_shared, with a note of the copy.
    """
    _block(kernel.body, {})
    return kernel


def _block(statements: tuple[ir.Stmt, ...], pending: Pending) -> Pending:
    """What is on its way after `statements`, given what was before."""
    for node in statements:
        match node:
            case ir.For() | ir.While() | ir.Parallel():
                pending = _on_both_ways(pending, _block(node.body, pending))
            case ir.If():
                _require_complete((node.condition,), pending)
                pending = _on_both_ways(_block(node.then, pending), _block(node.otherwise, pending))
            case ir.Sync() if node.waits:
                pending = {}
            case ir.Copy() if dict(node.options).get("asynchronous"):
                whole = node.dst.extents == node.dst.buffer.shape
                pending = pending | {node.dst.buffer.name: node} if whole else pending
            case _:
                _require_complete((node,), pending)
    return pending


def _on_both_ways(first: Pending, second: Pending) -> Pending:
    return {name: copy for name, copy in first.items() if name in second}


def _require_complete(nodes: tuple[ir.Node, ...], pending: Pending) -> None:
    for node in ir.walk(nodes):
        for buffer, loc in read_by(node):
            if buffer.name in pending:
                raise TilegenError("TG0112", f"{buffer.name} is read before its T.copy_async is complete", loc,
                                   "write T.sync() between them, or T.copy, which waits",
                                   (Note("the copy is", pending[buffer.name].loc),))
