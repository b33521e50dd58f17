"""Copies that the kernel waits for by itself: T.copy_async and T.sync."""

from __future__ import annotations

from tilegen import ir
from tilegen.errors import TilegenError
from tilegen.language.builder import current, operation
from tilegen.language.text import allocated
from tilegen.language.tiles import region_pair
from tilegen.language.values import as_number


@operation(takes_tiles=True)
def copy_async(src, dst) -> None:
    """As T.copy from a global tensor to a shared tile, in the background: dst has its value after the next
    T.sync(), and must not be read before.

    Origins, extents and what lies outside of the tensor as in T.copy. Raises TG0101 where the extents
    differ, TG0103 for other memory, TG0112 where dst is certainly read before T.sync().
    """
    builder = current()
    source, target = region_pair("T.copy_async", ("src", src), ("dst", dst))
    for role, region, wanted, kind in (("src", source, "global", "a global tensor"),
                                       ("dst", target, "shared", "a shared tile")):
        if region.buffer.scope != wanted:
            raise TilegenError("TG0103", f"T.copy_async: {role} has to be {kind}, and {region.buffer.name} is not: "
                               f"{allocated(region.buffer)}", builder.argument(role), "use T.copy, which waits")
    builder.emit(ir.Copy(source, target, (("asynchronous", True),), loc=builder.loc))


@operation()
def ptx_wait_group(num=0) -> None:
    """T.sync(), under the name that TileLang's kernels use: all of this thread's copies are waited for, however many
    groups `num` would leave on their way, and a barrier follows. Raises TG0110 for a negative number."""
    builder = current()
    if as_number(num, "num", builder.argument("num")) < 0:
        raise TilegenError("TG0110", "T.ptx_wait_group: num is negative", builder.argument("num"))
    builder.emit(ir.Sync("asked for by T.ptx_wait_group", waits=True, loc=builder.loc))


@operation()
def sync() -> None:
    """Waits for this thread's asynchronous copies; then a barrier of all threads of the block."""
    builder = current()
    builder.emit(ir.Sync("asked for by T.sync", waits=True, loc=builder.loc))
