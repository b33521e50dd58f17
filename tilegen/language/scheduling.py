"""What a kernel asks of its launch: T.use_swizzle, T.annotate_min_blocks_per_sm."""

from __future__ import annotations

from tilegen import ir
from tilegen.errors import TilegenError
from tilegen.language.builder import current, operation
from tilegen.language.values import as_flag, as_index, as_number

ORDERS = {"row": "row_panels", "column": "column_panels"}


@operation()
def use_swizzle(panel_size, order="row", enable=True) -> None:
    """Blocks run in panels of `panel_size` rows (order="column": columns) of the grid, so that blocks that run
    at the same time share operands in the L2 cache. It changes no result; enable=False switches it off.

    Raises TG0005 for another order or a grid of one extent, TG0110 for a panel that is not positive.
    """
    builder = current()
    if order not in ORDERS:
        raise TilegenError("TG0005", f"T.use_swizzle: there is no order {order!r}",
                           builder.argument("order"), 'write "row" or "column"')
    size = as_index(panel_size, builder.argument("panel_size"))
    if as_number(size, "panel_size", builder.argument("panel_size")) <= 0:
        raise TilegenError("TG0110", "T.use_swizzle: panel_size is not positive", builder.argument("panel_size"))
    if len(builder.block_vars) < 2:
        raise TilegenError("TG0005", "T.use_swizzle orders the blocks of a grid of two extents, and this one has one",
                           builder.loc, "launch T.Kernel(columns, rows), or leave T.use_swizzle out")
    if as_flag(enable, "enable", builder.argument("enable")):
        _wish(ORDERS[order], size, "T.use_swizzle", tuple(ORDERS.values()))


@operation()
def annotate_min_blocks_per_sm(n) -> None:
    """Bounds the registers of a thread so that `n` blocks fit on a multiprocessor, in place of the planner's
    number. For cuda; other targets have no such bound. Raises TG0110 for a number that is not positive."""
    builder = current()
    count = as_index(n, builder.argument("n"))
    if as_number(count, "n", builder.argument("n")) <= 0:
        raise TilegenError("TG0110", "T.annotate_min_blocks_per_sm: n is not positive", builder.argument("n"))
    _wish("min_blocks", count, "T.annotate_min_blocks_per_sm", ("min_blocks",))


def _wish(name: str, value: ir.Expr, operation_name: str, alike: tuple[str, ...]) -> None:
    builder = current()
    if len(builder.blocks) > 2:
        raise TilegenError("TG0006", f"{operation_name} is about the whole launch, not about a branch or loop",
                           builder.loc, "write it at the top of the T.Kernel block")
    if any(wish.name in alike for wish in builder.wishes):
        raise TilegenError("TG0005", f"a second {operation_name} in one kernel", builder.loc, "keep one of them")
    builder.wishes.append(ir.Wish(name, value, loc=builder.loc))
