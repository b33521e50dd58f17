"""Maxima and minima that are NaN where any element is: the keyword nan_propagate of T.reduce_max and its like."""

from __future__ import annotations

from collections.abc import Callable

from tilegen import ir
from tilegen.dtypes import bool_, int32
from tilegen.language.builder import current
from tilegen.language.nests import elementwise
from tilegen.language.values import full_region

OPERATIONS = ("max", "min", "absmax")


def propagated(reduce: ir.Reduce, emit: Callable[[ir.Stmt], None]) -> None:
    """Emits `reduce`, a maximum or minimum of floats that leaves NaN out, between loops that note where NaN is and
    write it to the result: a second reduction, of one mark for each element."""
    marks = _marks("nan_marks", reduce.src, emit)
    found = _marks("nan_found", reduce.dst, emit)
    _note(marks, reduce.src)
    if not reduce.clear:
        _note(found, reduce.dst)
    emit(reduce)
    emit(ir.Reduce("max", marks, found, reduce.dim, reduce.clear, loc=reduce.loc))

    def spoil(indices: tuple[ir.Expr, ...], mark: ir.Expr) -> ir.Stmt:
        held = ir.Load(reduce.dst.buffer, indices)
        dtype = held.dtype.compute
        nothing = ir.Const(float("nan"), dtype)
        there = ir.BinOp("!=", mark, ir.Const(0), bool_)
        return ir.Store(reduce.dst.buffer, indices, ir.Select(there, nothing, held, dtype), loc=reduce.loc)

    elementwise(reduce.dst, found, spoil)


def _marks(name: str, like: ir.Region, emit: Callable[[ir.Stmt], None]) -> ir.Region:
    """A fragment with a mark for each element of a region."""
    builder = current()
    buffer = ir.Buffer(builder.unique(name, "marks"), like.extents, int32, "fragment", loc=builder.loc)
    emit(ir.Alloc(buffer, loc=builder.loc))
    return full_region(buffer, builder.loc)


def _note(marks: ir.Region, source: ir.Region) -> None:
    """marks = 1 where the element is NaN, else 0."""
    def statement(indices: tuple[ir.Expr, ...], x: ir.Expr) -> ir.Stmt:
        test = ir.Call("isnan", (x,), bool_)
        return ir.Store(marks.buffer, indices, ir.Select(test, ir.Const(1), ir.Const(0), int32), loc=current().loc)

    elementwise(marks, source, statement)
