"""Where a thread stands in its block, and a block in the grid: T.get_thread_binding and its kin."""

from __future__ import annotations

from tilegen import ir
from tilegen.errors import TilegenError
from tilegen.language.builder import current, operation
from tilegen.language.values import as_number


@operation()
def get_thread_extent(dim=0) -> ir.Expr:
    """The number of threads of a block along x (dim 0), y or z; 1 where T.Kernel has no such extent."""
    return _extent("T.get_thread_extent", dim, current().threads)


@operation()
def get_block_extent(dim=0) -> ir.Expr:
    """The number of blocks of the grid along x (dim 0), y or z; 1 where T.Kernel has no such extent."""
    return _extent("T.get_block_extent", dim, current().grid)


def _extent(name: str, dim, extents: tuple[ir.Expr, ...]) -> ir.Expr:
    number = as_number(dim, "dim")
    if number not in (0, 1, 2):
        raise TilegenError("TG0005", f"{name}: dim is 0, 1 or 2, not {number}", current().argument("dim"))
    return extents[int(number)] if number < len(extents) else ir.Const(1)


@operation()
def get_thread_binding(dim=0) -> ir.Var:
    """The index of this thread in its block, along x (dim 0), y or z."""
    number = as_number(dim, "dim")
    if number not in (0, 1, 2):
        raise TilegenError("TG0005", f"T.get_thread_binding: dim is 0, 1 or 2, not {number}",
                           current().argument("dim"))
    return ir.Var(f"thread_{'xyz'[int(number)]}", kind="thread")


@operation()
def get_block_binding(dim=0) -> ir.Var:
    """The index of this block in the grid, along x (dim 0), y or z."""
    builder = current()
    number = as_number(dim, "dim")
    if number not in range(len(builder.block_vars)):
        raise TilegenError("TG0005", f"T.get_block_binding: the grid has {len(builder.block_vars)} "
                           "dimensions, "
                           f"so that there is no dim {number}", builder.argument("dim"))
    return builder.block_vars[int(number)]


@operation()
def get_thread_bindings() -> tuple[ir.Var, ...]:
    """The indices of this thread in its block, one for each extent of `threads`: `tx, ty = T.get_thread_bindings()`."""
    return tuple(get_thread_binding(dim) for dim, _ in enumerate(current().threads))


@operation()
def get_block_bindings() -> tuple[ir.Var, ...]:
    """The indices of this block in the grid, one for each extent: `bx, by = T.get_block_bindings()`."""
    return tuple(get_block_binding(dim) for dim, _ in enumerate(current().block_vars))


@operation()
def get_thread_extents() -> tuple[ir.Expr, ...]:
    """The numbers of threads of a block along each extent of `threads`."""
    return tuple(get_thread_extent(dim) for dim, _ in enumerate(current().threads))


@operation()
def get_block_extents() -> tuple[ir.Expr, ...]:
    """The numbers of blocks of the grid along each of its extents."""
    return tuple(get_block_extent(dim) for dim, _ in enumerate(current().grid))
