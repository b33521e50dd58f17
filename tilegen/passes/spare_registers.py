"""spare_registers: loads of a pipeline are unrolled in part where registers are short.

Precondition: gemms planned, kept operands in place. Effect: where the fragments that live at once leave no room
for the operands of a matrix step, the loops that load tiles in a pipeline are unrolled by PART. A compiler keeps
the addresses of all steps of an unrolled loop in registers; steps of one length apart need those of a part alone.
Products stay unrolled: in parts, each ends in loads that nothing overlaps. Fragments count as live_registers.py says.
Before: #pragma unroll: for first: copy_async     After: #pragma unroll 4: for first: copy_async
"""

from __future__ import annotations

from dataclasses import replace

from tilegen import arith, ir
from tilegen.passes.live_registers import most_registers
from tilegen.passes.planner import Planner
from tilegen.passes.walks import PART
from tilegen.plan import KeptOperand, NestPlan, OpPlan, PipelinePlan
from tilegen.targets.base import Target

_OTHER_REGISTERS = 36                # addresses, counters, and loads in flight, as in hoist_operands


def spare_registers(kernel: ir.Kernel, target: Target) -> ir.Kernel:
    planner, nodes = Planner(kernel, target), list(ir.walk(kernel.body))
    products = [n.plan.values for n in nodes if isinstance(n, ir.Gemm) and _is_mma(n.plan)]
    if not products:
        return kernel
    operands = max(_operands(planner, values) for values in products)
    kept = sum(_kept(planner, n.plan.values) for n in nodes if isinstance(n, KeptOperand))
    needed = sum(most_registers(kernel).values()) + operands + kept + _OTHER_REGISTERS
    if needed <= target.max_registers:
        return kernel
    why = f"about {needed} registers are needed of {target.max_registers}"

    def rule(node):
        if isinstance(node, ir.For) and isinstance(node.plan, PipelinePlan) and node.plan.template == "pipeline":
            loads = tuple(_load(planner, s, why) for s in node.body[:node.plan.producers])
            return replace(node, body=loads + node.body[node.plan.producers:])
        return None

    return planner.finish(ir.rewrite(kernel.body, rule), notes=kernel.plan.notes + ((
        "unrolling", f"{why}: loads ahead are unrolled by {PART}"),))


def _is_mma(plan) -> bool:
    return isinstance(plan, OpPlan) and plan.template == "gemm_mma"


def _operands(planner: Planner, values: dict) -> int:
    """Registers of a thread for the operands of one mma step, but those of a left operand that is kept."""
    left = 0 if values["load_a"]["form"] == "kept" else planner.value(values["tiles_m"]) * values["a_registers"]
    return left + planner.value(values["tiles_n"]) * values["b_registers"]


def _kept(planner: Planner, values: dict) -> int:
    """Registers of a thread for a left operand that stays."""
    steps = planner.value(values["depth"]) // planner.value(values["step"])
    return steps * planner.value(values["tiles_m"]) * values["a_registers"]


def _load(planner: Planner, copy: ir.Stmt, why: str) -> ir.Stmt:
    """A load of a pipeline with its loop unrolled in part, where it has more trips."""
    plan = getattr(copy, "plan", None)
    if not (isinstance(copy, ir.Copy) and isinstance(plan, NestPlan) and plan.loops and plan.loops[-1].unroll):
        return copy
    last = plan.loops[-1]
    trips = planner.value(arith.divide(arith.subtract(last.stop, last.start), last.step))
    if trips is None or trips <= PART:
        return copy
    last = replace(last, unroll=False, pragma=f"#pragma unroll {PART}")
    return replace(copy, plan=replace(plan, loops=(*plan.loops[:-1], last),
                                      reason=f"{plan.reason}; {PART} steps are unrolled at a time: {why}"))
