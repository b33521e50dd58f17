"""find_gathers: a nest that fills a shared tile with rows of a tensor is a copy, whose rows lie in places of their own.

Precondition: statements routed, pipelines not yet planned. Effect: a T.Parallel that does nothing but store
`tile[i, j] = X[..., start + j]` to every element of a tile, where all other indices are the same along a row,
becomes a Gather. So it goes by vectors, and in a pipelined loop it runs ahead as other copies do.
Before: for i, j in Parallel(BM, BK): y = f(i); X_shared[i, j] = X[y, ko * BK + j]
After:  Gather: for each row i of X_shared, y = f(i): copy X[y, ko * BK : ko * BK + BK] to it
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from tilegen import arith, ir
from tilegen.targets.base import Target


@dataclass(frozen=True)
class Gather(ir.Copy):
    """A copy whose rows lie apart: `rows` are the variables of the tile's dimensions, `lets` what is computed for
    each row, and `place` the indices of an element of `src`, whose box is one row. `dst` is the whole tile."""

    rows: tuple[ir.Var, ...] = ()
    lets: tuple[ir.Let, ...] = ()
    place: tuple[ir.Expr, ...] = ()


def find_gathers(kernel: ir.Kernel, target: Target) -> ir.Kernel:
    """`kernel` with Gathers in place of such nests."""
    body = ir.rewrite(kernel.body, lambda n: _gather(n) if isinstance(n, ir.Parallel) else None)
    return replace(kernel, body=body)


def _gather(nest: ir.Parallel) -> Gather | None:
    *lets, store = nest.body
    if not isinstance(store, ir.Store) or not all(isinstance(s, ir.Let) for s in lets) or nest.options:
        return None
    tile, source = store.buffer, store.value
    if tile.scope != "shared" or isinstance(tile, ir.Alias) or not isinstance(source, ir.Load):
        return None
    whole = store.indices == nest.vars and nest.extents == tile.shape and ir.Const(1) not in tile.shape
    if not whole or source.buffer.scope != "global" or source.dtype != tile.dtype or _reads_tiles((*lets, source)):
        return None
    start = _start(tuple(lets), source.indices, nest.vars[-1].name)
    if start is None:
        return None
    offsets = (*source.indices[:-1], start)
    extents = (*(ir.Const(1) for _ in source.indices[:-1]), tile.shape[-1])
    box = ir.Region(tile, tuple(ir.Const(0) for _ in tile.shape), tile.shape)
    return Gather(ir.Region(source.buffer, offsets, extents), box, rows=nest.vars, lets=tuple(lets),
                  place=source.indices, loc=nest.loc)


def _reads_tiles(nodes: tuple[ir.Node, ...]) -> bool:
    """Whether a value comes from elsewhere than tensors."""
    return any(isinstance(n, ir.Load) and n.buffer.scope != "global" for n in ir.walk(nodes))


def _start(lets: tuple[ir.Let, ...], place: tuple[ir.Expr, ...], column: str) -> ir.Expr | None:
    """Where a row starts along the last dimension of the tensor; None where its elements are not neighbours there,
    or something else depends on the column."""
    last, column_let = place[-1], ""
    if isinstance(last, ir.Var) and last.name != column:
        column_let = last.name
        last = next((let.value for let in lets if let.var.name == column_let), last)
    others = (*place[:-1], *(let.value for let in lets if let.var.name != column_let))
    if arith.names(others) & {column, column_let}:
        return None
    if isinstance(last, ir.Var) and last.name == column:
        return ir.Const(0)
    if isinstance(last, ir.BinOp) and last.op == "+":
        for start, inner in ((last.a, last.b), (last.b, last.a)):
            if isinstance(inner, ir.Var) and inner.name == column and column not in arith.names(start):
                return start
    return None
