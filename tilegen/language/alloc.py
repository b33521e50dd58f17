"""Buffers of a block: T.alloc_shared, T.alloc_fragment, T.alloc_local, T.alloc_var."""

from __future__ import annotations

from tilegen import ir
from tilegen.errors import TilegenError
from tilegen.language.arithmetic import convert
from tilegen.language.builder import current, operation
from tilegen.language.text import show
from tilegen.language.values import as_dtype, as_expr, as_shape, is_number


def _allocate(operation_name: str, shape, dtype, scope: str) -> ir.Buffer:
    builder = current()
    extents = as_shape(shape, operation_name, builder.argument("shape"))
    for extent in extents:
        if builder.number(extent) is None:
            raise TilegenError("TG0109", f"{operation_name}: {show(extent)} is known at launch only",
                               builder.argument("shape"), "a tile has a fixed shape: use a constant")
    if scope == "fragment" and builder.loc in builder.warp_tiles:
        extents = builder.warp_tiles[builder.loc].shape
    name = builder.unique(builder.result_name or scope, scope)
    buffer = ir.Buffer(name, extents, as_dtype(dtype, builder.argument("dtype")), scope, loc=builder.loc)
    builder.emit(ir.Alloc(buffer, loc=builder.loc))
    return buffer


@operation()
def alloc_shared(shape, dtype="float32", scope="shared.dyn") -> ir.Buffer:
    """A tile in shared memory, seen by all threads of the block.

    Raises TG0109 for an extent that is known at launch only, TG0110 for one that is not positive.
    """
    if scope not in ("shared", "shared.dyn"):
        raise TilegenError("TG0005", f"T.alloc_shared: the scope {scope!r} is not shared memory",
                           current().argument("scope"), 'leave scope out, or write "shared"')
    return _allocate("T.alloc_shared", shape, dtype, "shared")


@operation()
def alloc_fragment(shape, dtype="float32") -> ir.Buffer:
    """A tile spread over the registers of the block's threads: the operand of T.gemm, T.reduce, T.Parallel.

    Raises TG0109 for an extent that is known at launch only, TG0110 for one that is not positive.
    """
    return _allocate("T.alloc_fragment", shape, dtype, "fragment")


@operation()
def alloc_local(shape, dtype="float32") -> ir.Buffer:
    """An array that each thread has for itself.

    Raises TG0109 for an extent that is known at launch only, TG0110 for one that is not positive.
    """
    return _allocate("T.alloc_local", shape, dtype, "local")


@operation()
def alloc_var(dtype="float32", init=None) -> ir.Buffer:
    """A scalar that each thread has for itself: read as `x` or `x[0]`, set by `x = value`."""
    builder = current()
    kind = as_dtype(dtype, builder.argument("dtype"))
    name = builder.local(builder.result_name or "value")
    buffer = ir.Buffer(name, (), kind, "var", loc=builder.loc)
    value = None if init is None else as_expr(init, kind, builder.argument("init"))
    if is_number(init):
        value = convert(init, kind)
    builder.emit(ir.Alloc(buffer, value, loc=builder.loc))
    return buffer
