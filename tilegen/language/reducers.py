"""Results that many iterations contribute to: T.alloc_reducer, T.reducer_init, T.reducer_update, T.finalize_reducer."""

from __future__ import annotations

from tilegen import ir
from tilegen.dtypes import DType
from tilegen.errors import Loc, TilegenError
from tilegen.language.alloc import alloc_shared
from tilegen.language.atomics import update
from tilegen.language.builder import Builder, current, operation
from tilegen.language.scalar import limits
from tilegen.language.text import describe
from tilegen.language.tiles import region_pair
from tilegen.language.values import full_region

UPDATES = {"sum": "add", "max": "max", "min": "min"}


def require_finalized(statements: tuple[ir.Stmt, ...], builder: Builder) -> None:
    """TG0112 for a reducer of a T.Kernel block that no T.finalize_reducer completes."""
    finalized = {n.dst.buffer.name for n in ir.walk(statements) if isinstance(n, ir.Finalize)}
    for node in ir.walk(statements):
        if isinstance(node, ir.Alloc) and node.buffer.name in set(builder.reducers) - finalized:
            raise TilegenError("TG0112", f"the reducer {node.buffer.name} is never finalized", node.buffer.loc,
                               f"write T.finalize_reducer({node.buffer.name}) after the last T.reducer_update")


def refuse_store(buffer: ir.Buffer, builder: Builder, loc: Loc | None) -> None:
    """TG0103 for an element of a reducer that is assigned, which iterations would do to each other's values."""
    if buffer.name in builder.reducers:
        op = UPDATES[builder.reducers[buffer.name]]
        raise TilegenError("TG0103", f"{buffer.name} is a reducer: its iterations contribute, they do not assign", loc,
                           f"write T.reducer_update({buffer.name}[...], value), which does {op}")


@operation()
def alloc_reducer(shape, dtype="float32", op="sum", replication=None) -> ir.Buffer:
    """A tile that iterations of T.Parallel contribute to by `op`: "sum", "max" or "min".

    It starts as what changes nothing (0, or the end of the range), and may be read after T.finalize_reducer.
    replication: None, "all" or "none"; how many threads hold an element is the planner's choice. Errors as
    T.alloc_shared; TG0005 for another `op` or replication, TG0102 for bool and types of 8 bits, TG0112 for a reducer
    without T.finalize_reducer.
    """
    builder = current()
    if replication not in (None, "all", "none"):
        raise TilegenError("TG0005", f"T.alloc_reducer: replication is None, 'all' or 'none', not "
                           f"{describe(replication)}", builder.argument("replication"))
    if op not in UPDATES:
        raise TilegenError("TG0005", f"T.alloc_reducer: op is one of {', '.join(UPDATES)}, not {describe(op)}",
                           builder.argument("op"))
    buffer = alloc_shared(shape, dtype)
    if buffer.dtype.bits < 16:
        raise TilegenError("TG0102", f"T.alloc_reducer takes types of 16 bits and more, not {buffer.dtype}",
                           builder.argument("dtype"), "use int32 or float32")
    builder.reducers[buffer.name] = op
    _clear(buffer)
    return buffer


def _clear(buffer: ir.Buffer) -> None:
    builder = current()
    start = starting_value(builder.reducers[buffer.name], buffer.dtype)
    builder.emit(ir.Fill(full_region(buffer, builder.loc), start, loc=builder.loc))


@operation(takes_tiles=True)
def reducer_init(reducer) -> None:
    """The reducer starts again, as what changes nothing. Raises TG0004 for what is no reducer."""
    _clear(_reducer("T.reducer_init", reducer))


def starting_value(op: str, dtype: DType) -> ir.Expr:
    """What changes nothing: 0, or the end of the range."""
    held = dtype.compute
    if op == "sum":
        return ir.Const(0.0 if held.is_float else 0, held)
    if held.is_float:
        infinite = ir.Call("infinity", (), held)
        return infinite if op == "min" else ir.UnOp("-", infinite, held)
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
    """The contributions of all threads meet: the result is copied to `dst`, where that is given, and may be read from
    the reducer. Further updates add to it, until it is finalized again.

    Raises TG0004 for what is no reducer, TG0101 where the shapes differ.
    """
    builder = current()
    buffer = _reducer("T.finalize_reducer", reducer)
    whole = full_region(buffer, builder.loc)
    builder.emit(ir.Finalize(builder.reducers[buffer.name], whole, whole, loc=builder.loc))
    if dst is not None:
        source, target = region_pair("T.finalize_reducer", ("reducer", reducer), ("dst", dst))
        builder.emit(ir.Copy(source, target, loc=builder.loc))
