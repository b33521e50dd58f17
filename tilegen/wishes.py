"""What a kernel asks of its layouts: the wishes of T.annotate_layout."""

from __future__ import annotations

from dataclasses import dataclass

from tilegen.ir import Expr, Var, Wish


@dataclass(frozen=True)
class Placement(Wish):
    """Where the elements of the tile `buffer` are: `value`, over `vars` (the indices, then the number of the copy), is
    an element's place in a shared tile, or its thread, and then `slot` its register. name: layout."""

    buffer: str = ""
    vars: tuple[Var, ...] = ()
    slot: Expr | None = None
    copies: int = 1
    run: int = 1                         # neighbours of a row that stay together, at multiples of their number
