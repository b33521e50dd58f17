"""simplify: fold constants in every expression.

Precondition: a checked kernel. Effect: `ceildiv(32, 8)` becomes `4`, `x * 1` becomes `x`; names of
knobs and sizes stay, so `K / BK` is still written as that.
Before: C[by * 1 + 0]    After: C[by]
"""

from __future__ import annotations

from tilegen import arith, ir
from tilegen.targets.base import Target


def simplify(kernel: ir.Kernel, target: Target) -> ir.Kernel:
    return arith.fold(kernel)
