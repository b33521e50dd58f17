"""Finds tiles and variables that are read before anything was written to them.

Precondition: the kernel as parsed. Effect: none, or TG0112 at the first such read. A write anywhere in a
loop around the read counts, since it may have happened in an earlier turn.
"""

from __future__ import annotations

from collections.abc import Iterator

from tilegen import ir
from tilegen.errors import Loc, TilegenError
from tilegen.frontend.access import read_by, written_by
from tilegen.language.text import allocated


def check_defined(kernel: ir.Kernel, target=None) -> ir.Kernel:
    """`kernel`, when each buffer has a value before it is read. Raises TG0112.

    Before: T.gemm(A_shared, B_shared, C_local) without T.clear(C_local). After: TG0112 at C_local.
    """
    _block(kernel.body, {param.name for param in kernel.params})
    return kernel


def _block(statements: tuple[ir.Stmt, ...], written: set[str]) -> None:
    """Checks `statements`; adds to `written` the names of the buffers that they write."""
    for node in statements:
        match node:
            case ir.For() | ir.While() | ir.Parallel():
                earlier_turns = {name for inner in ir.walk(node.body) for name in _set_by(inner)}
                _reads(_heads(node), written)
                _block(node.body, written | earlier_turns)
                written |= earlier_turns
            case ir.If():
                _reads((node.condition,), written)
                for branch in (node.then, node.otherwise):
                    _block(branch, written | set())
                written |= {name for inner in ir.walk(node) for name in _set_by(inner)}
            case _:
                _reads((node,), written)
                written |= set(_set_by(node))


def _heads(node: ir.Stmt) -> tuple[ir.Expr, ...]:
    match node:
        case ir.For():
            return (node.start, node.stop, node.step)
        case ir.While():
            return (node.condition,)
    return ()


def _set_by(node: ir.Node) -> Iterator[str]:
    """The buffers that get a new value from a node, without those that it only adds to."""
    if isinstance(node, ir.Alloc) and node.init is not None:
        yield node.buffer.name
    own = {buffer.name for inner in ir.walk(node) for buffer, _ in read_by(inner)}
    for buffer, _ in written_by(node):
        if buffer.name not in own or isinstance(node, ir.Copy):
            yield buffer.name


def _reads(nodes: tuple[ir.Node, ...], written: set[str]) -> None:
    for node in ir.walk(nodes):
        for buffer, loc in read_by(node):
            if buffer.name not in written:
                raise _fault(node, buffer, loc)


def _fault(node: ir.Node, buffer: ir.Buffer, loc: Loc | None) -> TilegenError:
    target = node.c if isinstance(node, ir.Gemm) else node.dst if isinstance(node, ir.Reduce) else None
    if target is not None and target.buffer == buffer:
        hint = f"write T.clear({buffer.name}) before the loop, or {_clearing(node)} for a single call"
        return TilegenError("TG0112", f"{buffer.name} is added to before it has a value", loc, hint)
    return TilegenError("TG0112", f"{buffer.name} is read before it has a value; {allocated(buffer)}", loc,
                        "write to it first, with T.copy, T.fill or an assignment")


def _clearing(node: ir.Gemm | ir.Reduce) -> str:
    return "clear_accum=True" if isinstance(node, ir.Gemm) else "clear=True"
