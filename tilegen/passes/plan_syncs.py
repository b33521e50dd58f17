"""plan_syncs: what T.sync() waits for.

Precondition: copies planned. Effect: a Sync that waits gets an OpPlan where a copy of the kernel runs in the
background, so that each thread first waits for its own; elsewhere it is a plain barrier.
Before: T.copy_async(A, A_shared); T.sync()
After:  copy_async<A_VEC>(...); cp_async_commit(); cp_async_wait<0>(); __syncthreads();
"""

from __future__ import annotations

from dataclasses import replace

from tilegen import ir
from tilegen.plan import Move, NestPlan, OpPlan, PipelinePlan
from tilegen.targets.base import Target


def plan_syncs(kernel: ir.Kernel, target: Target) -> ir.Kernel:
    of_pipelines = {id(copy) for loop in ir.walk(kernel.body) if isinstance(loop, ir.For)
                    and isinstance(loop.plan, PipelinePlan) for copy in ir.walk(loop.body[:loop.plan.producers])}
    if not any(_is_in_background(n) and id(n) not in of_pipelines for n in ir.walk(kernel.body)):
        return kernel
    plan = OpPlan("sync_copies", reason="each thread waits for its own copies, then for the other threads")

    def rule(node):
        return replace(node, plan=plan) if isinstance(node, ir.Sync) and node.waits else None

    return replace(kernel, body=ir.rewrite(kernel.body, rule))


def _is_in_background(node: ir.Node) -> bool:
    return isinstance(node, ir.Copy) and isinstance(node.plan, NestPlan) and any(
        isinstance(move, Move) and move.helper == "copy_async" for move in node.plan.body)
