"""hoist_operands: the left operand of a matrix instruction stays in registers while a loop does not change it.

Precondition: gemms planned. Effect: where a loop multiplies by a shared tile that it never writes, and the
registers suffice beside the fragments that live at once, a KeptOperand before the loop loads all of the tile
that a warp needs; the gemm takes its registers from there.
Before: for kb: { for k: { ldmatrix a from Q_shared; ldmatrix b; mma } }
After:  for k: ldmatrix Q_regs[k / MMA_K] from Q_shared; for kb: { for k: { ldmatrix b; mma with Q_regs } }
"""

from __future__ import annotations

from dataclasses import replace

from tilegen import arith, ir
from tilegen.passes.live_registers import most_registers
from tilegen.passes.planner import Planner, tile_name
from tilegen.plan import KeptOperand, OpPlan, PipelinePlan
from tilegen.targets.base import Target

_OTHER_REGISTERS = 36                # addresses, counters, and loads in flight


def hoist_operands(kernel: ir.Kernel, target: Target) -> ir.Kernel:
    planner = Planner(kernel, target)
    room = planner.register_limit - _OTHER_REGISTERS - sum(most_registers(kernel).values())

    def rule(node):
        nonlocal room
        if not isinstance(node, ir.For):
            return None
        kept: list[ir.Stmt] = []
        body = list(node.body)
        for position, s in enumerate(body):
            count = _registers(planner, s) if isinstance(s, ir.Gemm) and _stays(node, s) else 0
            if 0 < count <= room:
                room -= count
                operand, body[position] = _keep(planner, s, count)
                kept.append(operand)
        return _before(kept, replace(node, body=tuple(body))) if kept else None

    return planner.finish(ir.rewrite(kernel.body, rule))


def _before(kept: list[ir.Stmt], loop: ir.For) -> tuple[ir.Stmt, ...]:
    """The loop behind these loads; in a pipeline they come behind its first loads, which take longer."""
    if isinstance(loop.plan, PipelinePlan) and loop.plan.template == "pipeline":
        return (replace(loop, plan=replace(loop.plan, once=tuple(kept))),)
    return (*kept, loop)


def _stays(loop: ir.For, gemm: ir.Gemm) -> bool:
    """Whether the left operand is the same in every turn of the loop."""
    nodes = list(ir.walk(loop.body))
    written = {ir.owner(b).name for n in nodes for b in _written(n)}
    bound = {n.var.name for n in nodes if isinstance(n, (ir.Let, ir.For))} | {loop.var.name}
    here = gemm.a.buffer.scope == "shared" and not any(isinstance(n, ir.Raw) for n in nodes)
    return here and ir.owner(gemm.a.buffer).name not in written and not arith.names(gemm.a.offsets) & bound


def _written(node: ir.Node) -> tuple[ir.Buffer, ...]:
    match node:
        case ir.Copy() | ir.Fill() | ir.Reduce() | ir.Scan() | ir.Finalize():
            return (node.dst.buffer,)
        case ir.Store() | ir.Atomic():
            return (node.buffer,)
    return ()


def _registers(planner: Planner, gemm: ir.Gemm) -> int:
    """Registers of a thread for all of the operand beside one step of the other; 0 where it does not come by
    ldmatrix."""
    plan = gemm.plan
    if not isinstance(plan, OpPlan) or plan.template != "gemm_mma" or plan.values["load_a"]["form"] != "matrix" or \
            plan.values["single"]:
        return 0
    values = plan.values
    steps = (planner.value(values["depth"]) or 0) // planner.value(values["step"])
    other = planner.value(values["tiles_n"]) * values["b_registers"]
    return steps * planner.value(values["tiles_m"]) * values["a_registers"] + other


def _keep(planner: Planner, gemm: ir.Gemm, count: int) -> tuple[ir.Stmt, ir.Gemm]:
    """The load before the loop, and the gemm that uses its registers."""
    values = gemm.plan.values
    stem = tile_name(gemm.a.buffer)
    name = ir.take_name(planner.taken, f"{stem}_regs", f"{stem}_kept_regs")
    why = f"{gemm.a.buffer.name} stays the same in the loop, and there are registers for it"
    load = OpPlan("mma_kept_operand", {**values, "kept": name, "why": why}, why)
    used = {**values, "a": f"{name}[{values['k']} / {values['step'].name}]", "load_a": {"form": "kept"}}
    plan = replace(gemm.plan, values=used, reason=f"{gemm.plan.reason}; A is kept in {name}")
    return KeptOperand(gemm.a, plan=load), replace(gemm, plan=plan)
