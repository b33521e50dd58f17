"""Tile operations as plain loops over elements, in IR: what each of them means, as simply as it can be said.

Before: T.gemm(A_shared, B_shared, C_local)
After:  for i, for k, for j: C_local[i, j] = C_local[i, j] + A_shared[i, k] * B_shared[k, j]
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from tilegen import arith, ir
from tilegen.dtypes import DType, bool_, promote

Statements = tuple[ir.Stmt, ...]

_COUNTERS = "ijklpqrsuvxyz"
_TOTALS = {"sum": "sum", "abssum": "sum", "max": "largest", "absmax": "largest", "min": "smallest",
           "bitand": "bits", "bitor": "bits", "bitxor": "bits"}
_BITS = {"bitand": "&", "bitor": "|", "bitxor": "^"}


@dataclass(frozen=True)
class Side:
    """One region of an operation: the dimensions that a loop runs along, in order."""

    region: ir.Region
    dims: tuple[int, ...]

    def extent(self, n: int) -> ir.Expr:
        """The extent of the n-th of these dimensions."""
        return self.region.extents[self.dims[n]]

    def indices(self, *counters: ir.Expr) -> tuple[ir.Expr, ...]:
        """The place of an element, one counter for each of these dimensions."""
        at = dict(zip(self.dims, counters))
        offsets = enumerate(self.region.offsets)
        return tuple(arith.add(offset, at[d]) if d in at else offset for d, offset in offsets)

    def load(self, *counters: ir.Expr) -> ir.Load:
        return ir.Load(self.region.buffer, self.indices(*counters))

    def store(self, value: ir.Expr, *counters: ir.Expr) -> ir.Store:
        return ir.Store(self.region.buffer, self.indices(*counters), value)


def as_loops(s: ir.Stmt, numbers: dict) -> Statements:
    """The statements that a tile operation stands for. `numbers` are the values of the knobs, which
    tell extents of 1 from others."""
    operations: dict[type, Callable[..., Statements]] = {
        ir.Copy: _copy, ir.Fill: _fill, ir.Gemm: _gemm, ir.Reduce: _reduce, ir.Scan: _scan, ir.Vote: _vote,
        ir.Atomic: _atomic, ir.Finalize: lambda s, numbers: ()}
    return operations[type(s)](s, numbers)


def nest(counters: Iterable[ir.Var], extents: Iterable[ir.Expr], body: Statements) -> Statements:
    """for i in range(extent): for j in ...: body"""
    for var, extent in reversed(list(zip(counters, extents))):
        body = (_loop(var, ir.Const(0), extent, body),)
    return body


def _loop(var: ir.Var, start: ir.Expr, stop: ir.Expr, body: Statements) -> ir.For:
    return ir.For("serial", var, start, stop, ir.Const(1), body)


def _names(s: ir.Stmt) -> set[str]:
    return {n.name for n in ir.walk(s) if isinstance(n, (ir.Var, ir.Buffer))}


def _counters(s: ir.Stmt, count: int) -> list[ir.Var]:
    """i, j, k, ... without the names that the statement itself uses."""
    taken = _names(s)
    free = [c for c in _COUNTERS if c not in taken] + [f"{c}{c}" for c in _COUNTERS]
    return [ir.Var(name, kind="loop") for name in free[:count]]


# ---- Which dimensions belong together --------------------------------------------------------------
def _is_one(extent: ir.Expr, numbers: dict) -> bool:
    return arith.evaluate(extent, numbers) == 1


def _all(region: ir.Region) -> Side:
    """Every dimension but those that are written as 1."""
    return Side(region, tuple(d for d, extent in enumerate(region.extents) if not _is_one(extent, {})))


def _paired(a: ir.Region, b: ir.Region, numbers: dict, without: int | None = None) -> tuple[Side, Side]:
    """The dimensions of two regions that run together: those that are not written as 1; where that
    leaves different numbers, those that are not 1. `without` is a dimension of `a` that has no partner."""
    def side(region: ir.Region, known: dict) -> Side:
        dims = (d for d, extent in enumerate(region.extents) if not _is_one(extent, known))
        return Side(region, tuple(d for d in dims if region is not a or d != without))
    for known in ({}, numbers):
        sides = [side(region, known) for region in (a, b)]
        if len(sides[0].dims) == len(sides[1].dims):
            break
    assert len(sides[0].dims) == len(sides[1].dims), f"{a} and {b} have different shapes"
    return sides[0], sides[1]


def _matrix(region: ir.Region, numbers: dict, transposed: bool = False) -> Side:
    """Two dimensions: extents of 1 are dropped from the front until two are left."""
    dims = list(range(len(region.extents)))
    while len(dims) > 2:
        dims.remove(next(d for d in dims if _is_one(region.extents[d], numbers)))
    return Side(region, tuple(reversed(dims)) if transposed else tuple(dims))


# ---- The operations --------------------------------------------------------------------------------
def _copy(s: ir.Copy, numbers: dict) -> Statements:
    src, dst = _paired(s.src, s.dst, numbers)
    counters = _counters(s, len(dst.dims))
    return nest(counters, map(dst.extent, range(len(counters))), (dst.store(src.load(*counters), *counters),))


def _fill(s: ir.Fill, numbers: dict) -> Statements:
    dst = _all(s.dst)
    counters = _counters(s, len(dst.dims))
    return nest(counters, map(dst.extent, range(len(counters))), (dst.store(s.value, *counters),))


def _gemm(s: ir.Gemm, numbers: dict) -> Statements:
    """In the order that reads memory in rows; an accumulator of few bits is rounded once, at the end."""
    a, b = _matrix(s.a, numbers, s.transpose_a), _matrix(s.b, numbers, s.transpose_b)
    c = _matrix(s.c, numbers)
    dtype = s.c.buffer.dtype.compute
    i, j, k = _counters(s, 3)
    rows, columns, depth = c.extent(0), c.extent(1), a.extent(1)
    product = ir.BinOp("*", a.load(i, k), b.load(k, j), dtype)
    if dtype != s.c.buffer.dtype:
        total = ir.Buffer(ir.fresh_name(_names(s), "sum"), (), dtype, "var")
        start = ir.Const(0, dtype) if s.clear else c.load(i, j)
        body = (ir.Alloc(total, start), _loop(k, ir.Const(0), depth, (_add(ir.Load(total, ()), product),)),
                c.store(ir.Load(total, ()), i, j))
        return nest((i, j), (rows, columns), body)
    zero = nest((i, j), (rows, columns), (c.store(ir.Const(0, dtype), i, j),)) if s.clear else ()
    order = (i, j, k) if s.transpose_b else (i, k, j)
    extents = {i.name: rows, j.name: columns, k.name: depth}
    return zero + nest(order, (extents[v.name] for v in order), (_add(c.load(i, j), product),))


def _add(target: ir.Load, value: ir.Expr) -> ir.Store:
    return ir.Store(target.buffer, target.indices, ir.BinOp("+", target, value, target.buffer.dtype.compute))


def _reduce(s: ir.Reduce, numbers: dict) -> Statements:
    """total = the first element, or 0, or what is there; then the others."""
    along = s.dim % len(s.src.extents)
    src, dst = _paired(s.src, s.dst, numbers, without=along)
    dtype = s.dst.buffer.dtype.compute
    *outer, inner = _counters(s, len(src.dims) + 1)
    full = Side(s.src, (*src.dims, along))

    def value(at: ir.Expr) -> ir.Expr:
        x = _as_kind(full.load(*outer, at), dtype)
        return ir.Call("abs", (x,), dtype) if s.op.startswith("abs") else x
    total = ir.Load(ir.Buffer(ir.fresh_name(_names(s), _TOTALS[s.op]), (), dtype, "var"), ())
    from_zero = s.op in ("sum", "abssum", "absmax", "bitor", "bitxor")
    start = dst.load(*outer) if not s.clear else ir.Const(0, dtype) if from_zero else value(ir.Const(0))
    op = "+" if s.op.endswith("sum") else _BITS.get(s.op) or s.op.removeprefix("abs")
    step = ir.Store(total.buffer, (), ir.BinOp(op, total, value(inner), dtype))
    first = ir.Const(1 if s.clear and not from_zero else 0)
    rest = _loop(inner, first, s.src.extents[along], (step,))
    body = (ir.Alloc(total.buffer, start), rest, dst.store(total, *outer))
    return nest(outer, map(src.extent, range(len(outer))), body)


def _scan(s: ir.Scan, numbers: dict) -> Statements:
    """total = the first element; then each place gets what the places before it and its own element give."""
    src, dst = _all(s.src), _all(s.dst)
    dtype = s.dst.buffer.dtype.compute
    counters = _counters(s, len(src.dims))
    along = src.dims.index(s.dim) if s.dim in src.dims else None
    if along is None:
        return nest(counters, map(src.extent, range(len(counters))), (dst.store(src.load(*counters), *counters),))
    total = ir.Load(ir.Buffer(ir.fresh_name(_names(s), _TOTALS[s.op]), (), dtype, "var"), ())
    counter, extent = counters[along], src.extent(along)
    places = list(counters)
    if s.reverse:
        places[along] = arith.subtract(arith.subtract(extent, 1), counter)
    first = [arith.subtract(extent, 1) if n == along and s.reverse else ir.Const(0) if n == along else c
             for n, c in enumerate(counters)]
    start = _as_kind(src.load(*first), dtype) if s.op == "max" else ir.Const(0, dtype)
    op = {"sum": "+"}.get(s.op, s.op)
    step = ir.Store(total.buffer, (), ir.BinOp(op, total, _as_kind(src.load(*places), dtype), dtype))
    body = (ir.Alloc(total.buffer, start), _loop(counter, ir.Const(0), extent, (step, dst.store(total, *places))))
    outer = [n for n in range(len(counters)) if n != along]
    return nest([counters[n] for n in outer], [src.extent(n) for n in outer], body)


def _vote(s: ir.Vote, numbers: dict) -> Statements:
    src = _all(s.src)
    counters = _counters(s, len(src.dims))
    x = src.load(*counters)
    zero = ir.Const(False if x.dtype == bool_ else 0, x.dtype)
    wanted = ir.BinOp("!=" if s.op == "any" else "==", x, zero, bool_)
    found = ir.If(wanted, (ir.Store(s.dst, (), ir.Const(s.op == "any", bool_)),))
    return nest(counters, map(src.extent, range(len(counters))), (found,))


def _as_kind(x: ir.Expr, dtype: DType) -> ir.Expr:
    return x if x.dtype.is_float == dtype.is_float else ir.Cast(x, dtype)


def _atomic(s: ir.Atomic, numbers: dict) -> Statements:
    """The blocks run one after the other, so that an update is a plain one."""
    old = ir.Load(s.buffer, s.indices)
    dtype = promote(s.buffer.dtype, s.value.dtype)
    before = (ir.Store(s.previous, (), old),) if s.previous else ()
    return (*before, ir.Store(s.buffer, s.indices, ir.BinOp(s.operator, old, s.value, dtype)))
