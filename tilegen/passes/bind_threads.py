"""bind_threads: thread indices of the user as parts of the one index that a block has.

Precondition: none. Effect: T.get_thread_binding(0) and so on become expressions of threadIdx.x, since
blocks are launched with one dimension: x runs fastest, then y, then z.
Before: threads=(16, 4): thread_y    After: threadIdx.x / 16
"""

from __future__ import annotations

from dataclasses import replace

from tilegen import arith, ir
from tilegen.passes.planner import THREAD
from tilegen.targets.base import Target


def bind_threads(kernel: ir.Kernel, target: Target) -> ir.Kernel:
    places: dict[str, ir.Expr] = {}
    below: ir.Expr = ir.Const(1)
    for position, axis in enumerate("xyz"):
        if position >= len(kernel.threads):
            places[f"thread_{axis}"] = ir.Const(0)
            continue
        place = arith.divide(THREAD, below)
        last = position == len(kernel.threads) - 1
        places[f"thread_{axis}"] = place if last else arith.modulo(place, kernel.threads[position])
        below = arith.multiply(below, kernel.threads[position])
    return replace(kernel, body=ir.rewrite(kernel.body, lambda n: places.get(n.name) if _is_index(n) else None))


def _is_index(node: ir.Node) -> bool:
    return isinstance(node, ir.Var) and node.kind == "thread"
