"""Running sums and maxima along a dimension of a tile: T.cumsum, T.cummax."""

from __future__ import annotations

from tilegen import ir
from tilegen.language.builder import current, operation
from tilegen.language.values import as_axis, as_flag, as_region


def _scan(op: str, src, dst, dim, reverse) -> None:
    builder = current()
    name = f"T.cum{op}"
    source = as_region(src, f"{name}: src", builder.argument("src"))
    target = source if dst is None else as_region(dst, f"{name}: dst", builder.argument("dst"))
    axis = as_axis(dim, source, name)
    builder.emit(ir.Scan(op, source, target, axis,
                         as_flag(reverse, "reverse", builder.argument("reverse")), loc=builder.loc))


@operation(takes_tiles=True)
def cumsum(src, dst=None, dim=0, reverse=False) -> None:
    """dst[i] = src[0] + ... + src[i] along `dim`; with reverse, from the end. Without dst, in place.

    Both are fragments or shared tiles of one shape; sums are kept in dst's compute dtype. Raises TG0101
    where the shapes differ, TG0102 for bool, TG0103 for a wrong scope, TG0106 for a missing dimension.
    """
    _scan("sum", src, dst, dim, reverse)


@operation(takes_tiles=True)
def cummax(src, dst=None, dim=0, reverse=False) -> None:
    """dst[i] = the maximum of src[0], ..., src[i] along `dim`. Operands and errors as in T.cumsum."""
    _scan("max", src, dst, dim, reverse)
