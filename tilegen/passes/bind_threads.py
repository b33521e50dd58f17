"""bind_threads: thread indices of the user as parts of the one index that a block has.

Precondition: none. Effect: T.get_thread_binding(0) and so on become expressions of threadIdx.x, since
blocks are launched with one dimension: x runs fastest, then y, then z; the functions of a warp become
those of the emitted file.
Before: threads=(16, 4): thread_y    After: threadIdx.x / 16
"""

from __future__ import annotations

from dataclasses import replace

from tilegen import arith, ir
from tilegen.passes.planner import THREAD
from tilegen.targets.base import Target


WARP = ir.Var("WARP", kind="knob")
_HELPERS = {
    "shfl_sync": "shuffle_from_lane",
    "shfl_xor": "shuffle_xor",
    "shfl_up": "shuffle_up",
    "shfl_down": "shuffle_down",
    "warp_reduce_sum": "sum_in_warp<WARP>",
    "warp_reduce_max": "max_in_warp<WARP>",
    "warp_reduce_min": "min_in_warp<WARP>",
    "any_sync": "any_in_warp",
    "all_sync": "all_in_warp",
    "ballot_sync": "ballot",
}


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
    places |= {"thread_lane": arith.modulo(THREAD, WARP), "thread_warp": arith.divide(THREAD, WARP)}

    def rule(node):
        if isinstance(node, ir.Call) and node.name in _HELPERS:
            return replace(node, name=f"device:{_HELPERS[node.name]}")
        return places.get(node.name) if _is_index(node) else None

    return replace(kernel, body=ir.rewrite(kernel.body, rule))


def _is_index(node: ir.Node) -> bool:
    return isinstance(node, ir.Var) and node.kind == "thread"
