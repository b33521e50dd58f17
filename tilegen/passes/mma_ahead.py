"""Pipelined loops whose step is one product: the product's operands are loaded one mma step ahead.

Registers for two sets of operands let a warp multiply one while the next is on its way, also from the last mma step
of a stage to the first of the next. So the wait for a stage and its barrier stand before the last mma step instead
of at the head of the loop, where every warp would stand still. Source: the main loop of NVIDIA's CUTLASS for sm_80.
"""

from __future__ import annotations

from tilegen import ir
from tilegen.instructions import matrix_instruction
from tilegen.passes.planner import Planner
from tilegen.plan import MmaChoice, PipelinePlan

_OTHER_REGISTERS = 36                  # addresses, loop and copies, as in plan_occupancy


def why_one_set(planner: Planner, loop: ir.For) -> str:
    """Why the operands of a pipelined loop's product are loaded when they are needed; '' where one mma step ahead
    is better. For a loop that does not end in a product on matrix instructions, a reason all the same."""
    plan: PipelinePlan = loop.plan
    rest = loop.body[plan.producers:]
    gemm = rest[0] if rest else None
    if plan.template not in ("pipeline", "pipeline_ring"):
        return "the stages pass through registers"
    if len(rest) != 1 or not (isinstance(gemm, ir.Gemm) and isinstance(gemm.plan, MmaChoice)):
        return "a step of the loop is more than one product on matrix instructions"
    if gemm.clear or plan.sync or loop.start != ir.Const(0):
        return "the product starts anew in each step, or the kernel has a T.sync() of its own"
    if not {gemm.a.buffer.name, gemm.b.buffer.name} <= set(plan.buffers):
        return "an operand is not loaded by the loop"
    depth = planner.value(gemm.a.extents[-2 if gemm.transpose_a else -1]) or 0
    if depth // gemm.plan.k % 2:
        return f"{depth // gemm.plan.k} mma steps a stage cannot alternate between two sets"
    needed = planner.layout(gemm.c.buffer).registers + operand_registers(planner, gemm) + _OTHER_REGISTERS
    limit = planner.register_limit
    if needed > limit:
        return f"two sets need about {needed} registers in a thread, which has {limit}"
    return ""


def operand_registers(planner: Planner, gemm: ir.Gemm) -> int:
    """Registers of two sets of operands."""
    choice: MmaChoice = gemm.plan
    rows, cols = planner.layout(gemm.c.buffer).axes[-2:]
    instruction = matrix_instruction(choice.helper)
    tiles_m, tiles_n = rows.slots // (instruction.m // 8), cols.slots // (instruction.n // 4)
    return 2 * (tiles_m * choice.a_registers + tiles_n * choice.b_registers)


def names(planner: Planner, loop: ir.For) -> dict:
    """What the templates call things."""
    plan: PipelinePlan = loop.plan
    return {
        "load": planner.fresh("load_operands", "load_mma_operands"),
        "set": planner.fresh("set", "operand_set"),
        "next": planner.fresh("next", "next_stage"),
        "stage": plan.stage.name,
        "stages": plan.stages,
        "steps": plan.steps.name,
        "loop": loop.var.name,
        "load_stage": plan.load,
        **{name: plan.engine.get(name) for name in ("full", "empty", "slot")},
    }
