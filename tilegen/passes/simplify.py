"""simplify: fold constants in every expression, and leave out names that nothing uses.

Precondition: a checked kernel. Effect: `ceildiv(32, 8)` becomes `4`, `x * 1` becomes `x`; names of
knobs and sizes stay, so `K / BK` is still written as that.
Before: unused = x + 1; C[by * 1 + 0]    After: C[by]
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from tilegen import arith, ir
from tilegen.targets.base import Target


def simplify(kernel: ir.Kernel, target: Target) -> ir.Kernel:
    kernel = arith.fold(kernel)
    while True:
        used = _used(kernel.body)
        body = ir.rewrite(kernel.body, lambda n, used=used: () if isinstance(n, ir.Let) and n.var.name not in used
                          else None)
        if body is kernel.body:
            return kernel
        kernel = replace(kernel, body=body)


def _used(body: tuple[ir.Stmt, ...]) -> set[str]:
    """The names that are mentioned more often than they are bound."""
    mentions = Counter(n.name for n in ir.walk(body) if isinstance(n, ir.Var))
    mentions.subtract(n.var.name for n in ir.walk(body) if isinstance(n, ir.Let))
    return {name for name, count in mentions.items() if count > 0}
