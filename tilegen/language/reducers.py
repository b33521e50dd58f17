"""Results that many iterations contribute to: T.alloc_reducer, T.reducer_update, T.finalize_reducer."""

from __future__ import annotations

from tilegen import ir
from tilegen.dtypes import DType
from tilegen.errors import TilegenError
from tilegen.language.alloc import alloc_shared
from tilegen.language.atomics import update
from tilegen.language.builder import current, operation
from tilegen.language.scalar import limits
from tilegen.language.text import describe
from tilegen.language.tiles import region_pair
from tilegen.language.values import full_region, literal

UPDATES = {"sum": "add", "max": "max", "min": "min"}


@operation()
def alloc_reducer(shape, dtype="float32", op="sum") -> ir.Buffer:
    """A shared tile that iterations of T.Parallel contribute to by `op`: "sum", "max" or "min".

    It starts as what changes nothing (0, or the end of the range). Errors as T.alloc_shared; TG0005 for
    another `op`, TG0102 for bool and types of 8 bits.
    """
    builder = current()
    if op not in UPDATES:
        raise TilegenError("TG0005", f"T.alloc_reducer: op is one of {', '.join(UPDATES)}, not {describe(op)}",
                           builder.argument("op"))
    buffer = alloc_shared(shape, dtype)
    if buffer.dtype.bits < 16:
        raise TilegenError("TG0102", f"T.alloc_reducer takes types of 16 bits and more, not {buffer.dtype}",
                           builder.argument("dtype"), "use int32 or float32")
    builder.emit(ir.Fill(full_region(buffer, builder.loc), _start(op, buffer.dtype), loc=builder.loc))
    builder.reducers[buffer.name] = op
    return buffer


def _start(op: str, dtype: DType) -> ir.Expr:
    if op == "sum":
        return literal(0, dtype)
    if dtype.is_float:
        return literal(float("-inf" if op == "max" else "inf"), dtype)
    return ir.Const(limits(dtype)[0 if op == "max" else 1], dtype)


def _reducer(name: str, value) -> ir.Buffer:
    builder = current()
    buffer = value.buffer if isinstance(value, (ir.Load, ir.Region)) else value
    if not isinstance(buffer, ir.Buffer) or buffer.name not in builder.reducers:
        raise TilegenError("TG0004", f"{name}: a reducer is needed here, not {describe(value)}",
                           builder.argument("reducer"), "allocate it with T.alloc_reducer")
    return buffer


@operation(takes_tiles=True)
def reducer_update(reducer, value) -> None:
    """reducer = op(reducer, value), for an element, a slice or the whole tile of a reducer, in any order.

    Raises TG0004 for what is no reducer, TG0101 where the shapes differ.
    """
    buffer = _reducer("T.reducer_update", reducer)
    update(UPDATES[current().reducers[buffer.name]], reducer, value)


@operation(takes_tiles=True)
def finalize_reducer(reducer, dst=None) -> None:
    """The result is complete: it is copied to `dst`, where that is given, and may be read from the reducer.

    Raises TG0004 for what is no reducer, TG0101 where the shapes differ.
    """
    builder = current()
    _reducer("T.finalize_reducer", reducer)
    if dst is not None:
        source, target = region_pair("T.finalize_reducer", ("reducer", reducer), ("dst", dst))
        builder.emit(ir.Copy(source, target, loc=builder.loc))
