"""Other shapes of a buffer: T.reshape and T.view without a copy, T.transpose with one."""

from __future__ import annotations

from tilegen import arith, ir
from tilegen.errors import TilegenError
from tilegen.language.builder import Block, current, operation
from tilegen.language.regions import same_extent, squeezed
from tilegen.language.text import allocated, describe, shape_text
from tilegen.language.values import as_dtype, as_region, as_shape
from tilegen.strided import StridedBuffer


@operation()
def reshape(buffer, shape) -> ir.Buffer:
    """`buffer` with another shape: no copy, its elements in the same order.

    Any shape of as many elements (TG0101 otherwise). A fragment whose elements would have to change threads is seen
    through shared memory, which `tilegen explain` and the source say.
    """
    builder = current()
    base = _whole("T.reshape", buffer)
    extents = as_shape(shape, "T.reshape", builder.argument("shape"))
    return _alias("T.reshape", base, extents, base.dtype)


@operation()
def view(buffer, shape=None, dtype=None) -> ir.Buffer:
    """The memory of `buffer` with another shape, or as elements of another dtype, without a copy.

    Without a shape the last extent follows from the dtypes. Bits are taken as they are. Raises TG0101 where
    the bytes differ, TG0102 for bool. A fragment with another dtype is seen through shared memory.
    """
    builder = current()
    base = _whole("T.view", buffer)
    kind = base.dtype if dtype is None else as_dtype(dtype, builder.argument("dtype"))
    if kind != base.dtype and "bool" in (kind.name, base.dtype.name):
        raise TilegenError("TG0102", f"T.view: {describe(base)} cannot be seen as {kind}", builder.argument("dtype"),
                           "T.copy it into an int8 tile")
    if shape is not None:
        extents = as_shape(shape, "T.view", builder.argument("shape"))
    else:
        last = arith.multiply(base.shape[-1], base.dtype.bytes)
        extents = (*base.shape[:-1], arith.fold(arith.divide(last, ir.Const(kind.bytes))))
    return _alias("T.view", base, extents, kind)


def _whole(name: str, buffer) -> ir.Buffer:
    builder = current()
    loc = builder.argument("buffer")
    if not isinstance(buffer, ir.Buffer) or buffer.scope == "var":
        raise TilegenError("TG0004", f"{name} takes a whole buffer, not {describe(buffer)}", loc)
    if isinstance(buffer, StridedBuffer):
        raise TilegenError("TG0103", f"{name}: {buffer.name} has strides, its elements do not follow each other", loc,
                           "T.copy it into a tile")
    if buffer.scope == "local":
        raise TilegenError("TG0103", f"{name} takes tensors, shared tiles and fragments, and {buffer.name} is a "
                           "local array", loc, allocated(buffer))
    return buffer


def _alias(name: str, base: ir.Buffer, extents: tuple[ir.Expr, ...], dtype) -> ir.Buffer:
    builder = current()
    given, wanted = (arith.product([*shape, ir.Const(kind.bytes)])
                     for shape, kind in ((base.shape, base.dtype), (extents, dtype)))
    if not same_extent(given, wanted, builder.numbers):
        raise TilegenError("TG0101", f"{name}: {base.name} {shape_text(base.shape)} of {base.dtype} has not the size "
                           f"of {shape_text(extents)} of {dtype}", builder.argument("shape"), allocated(base))
    alias = ir.Alias(builder.unique(builder.result_name or f"{base.name}_view", "view"), extents, dtype, base.scope,
                     ir.owner(base), loc=builder.loc)
    builder.emit(ir.Alloc(alias, loc=builder.loc))
    return alias


@operation(takes_tiles=True)
def transpose(src, dst) -> None:
    """dst[j, i] = src[i, j] for 2-D tiles or slices in global, shared or fragment memory, with conversion.

    Between two fragments the values go through a shared tile. Raises TG0101 where the extents are not those of
    the transpose, TG0106 for tiles that have not two dimensions longer than 1.
    """
    builder = current()
    source = as_region(src, "T.transpose: src", builder.argument("src"))
    target = as_region(dst, "T.transpose: dst", builder.argument("dst"))
    for region in (source, target):
        if len(region.extents) < 2:
            raise TilegenError("TG0106", f"T.transpose: {region.buffer.name} has one dimension", region.loc,
                               "give tiles of two dimensions")
    given, wanted = source.extents[-2:], target.extents[-1:-3:-1]
    lead = squeezed(source.extents[:-2] + target.extents[:-2], builder.numbers)
    if lead or not all(same_extent(a, b, builder.numbers) for a, b in zip(given, wanted)):
        raise TilegenError("TG0101", f"T.transpose: {source.buffer.name} gives {shape_text(given[::-1])}, "
                           f"{target.buffer.name} takes {shape_text(target.extents)}",
                           builder.loc, f"{target.buffer.name}: {allocated(target.buffer)}")
    if source.buffer.scope == target.buffer.scope == "fragment":
        source = _through_shared(source)
    _emit_turned(source, target)


def _through_shared(source: ir.Region) -> ir.Region:
    builder = current()
    name = builder.unique(f"{source.buffer.name}_turned")
    tile = ir.Buffer(name, source.extents[-2:], source.buffer.dtype, "shared", loc=builder.loc)
    whole = ir.Region(tile, (ir.Const(0), ir.Const(0)), tile.shape, loc=builder.loc)
    builder.emit(ir.Alloc(tile, loc=builder.loc))
    builder.emit(ir.Copy(source, whole, loc=builder.loc))
    return whole


def _emit_turned(source: ir.Region, target: ir.Region) -> None:
    """A T.Parallel nest over the extents of the target."""
    builder = current()
    builder.blocks.append(Block())
    i, j = (ir.Var(builder.local(name), kind="loop") for name in "ij")
    builder.blocks.pop()

    def at(region: ir.Region, *counters: ir.Var) -> tuple[ir.Expr, ...]:
        row, col = (arith.add(o, c) for o, c in zip(region.offsets[-2:], counters))
        return (*region.offsets[:-2], row, col)

    store = ir.Store(target.buffer, at(target, i, j), ir.Load(source.buffer, at(source, j, i), loc=source.loc),
                     loc=builder.loc)
    builder.emit(ir.Parallel((i, j), target.extents[-2:], (store,), loc=builder.loc))
