"""plan_pipeline: T.Pipelined loops whose loads run ahead of their use.

Precondition: operands staged, layouts not yet inferred. Effect: a pipelined loop that starts with
copies from global to shared memory, on a target with cp.async, gets a PipelinePlan: its shared tiles
get a leading dimension of STAGES, the copies are marked asynchronous, and the loop body stays one.
A T.sync() of the user after them is the barrier that the pipeline has anyway. Where that is not possible
the loop stays synchronous, and the plan says why.
Before: for ko in Pipelined: copy(A, A_shared); gemm(A_shared, ...)
After:  load_stage(ko) fills A_shared[ko % STAGES]; the loop waits for stage ko and loads ko + STAGES - 1
"""

from __future__ import annotations

from dataclasses import replace

from tilegen import arith, ir
from tilegen.passes.ranges import knob_values
from tilegen.plan import Check, Constant, KernelPlan, PipelinePlan, SynchronousPlan
from tilegen.targets.base import Target


def plan_pipeline(kernel: ir.Kernel, target: Target) -> ir.Kernel:
    env = knob_values(kernel)
    constants: dict[str, Constant] = {}
    checks: dict[Check, None] = dict.fromkeys(kernel.plan.checks) if kernel.plan else {}
    taken = {n.name for n in ir.walk(kernel) if isinstance(n, (ir.Var, ir.Buffer))} | set(env)
    staged: dict[str, ir.Buffer] = {}

    def rule(node):
        if not (isinstance(node, ir.For) and node.kind == "pipelined"):
            return None
        stages = dict(node.options).get("num_stages", ir.Const(0))
        count = arith.evaluate(stages, env)
        reason, producers = _why_not(node, kernel, target, count, staged)
        if reason:
            return replace(node, plan=SynchronousPlan(reason))
        stages = _stages(node, stages, count, constants, taken)
        checks[Check(arith.binary(">=", stages, ir.Const(2)), "one stage is filled while another is used")] = None
        return _pipelined(node, producers, stages, taken, staged)

    body = ir.rewrite(kernel.body, rule)
    if staged:
        body = ir.rewrite(
            body,
            lambda n: (
                replace(n, buffer=staged[n.buffer.name])
                if isinstance(n, ir.Alloc) and n.buffer.name in staged
                else None
            ),
        )
    plan = replace(kernel.plan or KernelPlan(), constants=tuple(constants.values()), checks=tuple(checks))
    return replace(kernel, body=body, plan=plan)


def _stages(loop: ir.For, stages: ir.Expr, count: int, constants: dict[str, Constant], taken: set[str]) -> ir.Expr:
    """The number of stages: the user's knob, or a knob of ours."""
    if isinstance(stages, ir.Var):
        return stages
    same = next((c for c in constants.values() if c.value == count), None)
    if same is None:
        name = _fresh(taken, "STAGES", f"{loop.var.name.upper()}_STAGES")
        what = "tiles of each operand that are on their way or in use"
        constants[name] = same = Constant(name, count, what, "2 and up", knob=True)
    return same.var


def _why_not(loop: ir.For, kernel: ir.Kernel, target: Target, count: int | None, staged) -> tuple[str, int]:
    """(reason, 0) for a loop that stays synchronous, ('', producers) otherwise."""
    if not target.async_copies:
        return f"{target.name} {target.arch} has no asynchronous copies from global to shared memory", 0
    if count is None or count < 2:
        return "num_stages is less than 2", 0
    if loop.start != ir.Const(0) or loop.step != ir.Const(1):
        return "the loop does not count from 0 by 1", 0
    producers = 0
    while producers < len(loop.body) and _is_load(loop.body[producers]):
        producers += 1
    if producers == 0:
        return "the loop does not begin with copies from global to shared memory", 0
    filled = [s.dst.buffer for s in loop.body[:producers]]
    if len({b.name for b in filled}) < producers:
        return "two copies fill one buffer", 0
    return _conflict(loop, kernel, producers, filled, staged), producers


def _conflict(loop: ir.For, kernel: ir.Kernel, producers: int, filled, staged) -> str:
    names = {b.name for b in filled}
    if any(isinstance(n, ir.Alias) and names & {n.name, n.base.name} for n in ir.walk(kernel.body)):
        return "a loaded tile has a second name"
    if names & set(staged):
        return "another pipelined loop fills the same buffers"
    inside = sum(1 for n in ir.walk(loop.body) if isinstance(n, ir.Buffer) and n.name in names)
    everywhere = sum(1 for n in ir.walk(kernel.body) if isinstance(n, ir.Buffer) and n.name in names)
    if everywhere - inside > len(names):  # more than their Allocs
        return "a loaded tile is used outside of the loop"
    rest = loop.body[producers:]
    for node in ir.walk(rest):
        written = (
            node.dst.buffer
            if isinstance(node, (ir.Copy, ir.Fill))
            else node.buffer
            if isinstance(node, (ir.Store, ir.Atomic))
            else None
        )
        if written is not None and written.name in names:
            return f"{written.name} is written again after it was loaded"
        if isinstance(node, (ir.Break, ir.Continue)):
            return "the loop may end early"
    bound = {n.var.name for n in ir.walk(rest) if isinstance(n, ir.Let)}
    for copy in loop.body[:producers]:
        if any(isinstance(n, ir.Load) for n in ir.walk(copy)):
            return "the place of a load depends on loaded data"
        if arith.names(copy) & bound:
            return "the place of a load depends on the step before"
    return ""


def _is_load(s: ir.Stmt) -> bool:
    return (
        isinstance(s, ir.Copy)
        and s.src.buffer.scope == "global"
        and s.dst.buffer.scope == "shared"
        and s.src.buffer.dtype == s.dst.buffer.dtype
        and s.dst.extents == s.dst.buffer.shape
    )


def _pipelined(loop: ir.For, producers: int, stages: ir.Expr, taken: set[str], staged) -> ir.For:
    name = loop.var.name
    stage = ir.Var(_fresh(taken, "stage", f"{name}_stage"), kind="let")
    steps = ir.Var(_fresh(taken, "steps", f"{name}_steps"), kind="let")
    load = _fresh(taken, "load_stage", f"load_{name}_stage")
    buffers = {
        s.dst.buffer.name: replace(s.dst.buffer, shape=(stages, *s.dst.buffer.shape))
        for s in loop.body[:producers]
    }
    staged.update(buffers)

    def rule(node):
        if isinstance(node, ir.Region) and node.buffer.name in buffers:
            return replace(
                node,
                buffer=buffers[node.buffer.name],
                offsets=(stage, *node.offsets),
                extents=(ir.Const(1), *node.extents),
            )
        if isinstance(node, ir.Load) and node.buffer.name in buffers:
            return replace(node, buffer=buffers[node.buffer.name], indices=(stage, *node.indices))
        return None

    body = ir.rewrite(loop.body, rule)
    copies = tuple(replace(s, options=(("asynchronous", True),)) for s in body[:producers])
    sync, rest = _own_barrier(body[producers:])
    body = copies + rest
    names = ", ".join(buffers)
    reason = f"cp.async: {names} are loaded STAGES - 1 steps ahead; one barrier a step"
    plan = PipelinePlan(producers, stages, stage, steps, load, tuple(buffers), reason, sync)
    return replace(loop, body=body, plan=plan)


def _own_barrier(rest: tuple[ir.Stmt, ...]) -> tuple[ir.Sync | None, tuple[ir.Stmt, ...]]:
    """The user's T.sync() right after the loads, which the barrier of the pipeline stands for, and the
    statements without it; where nothing else is copied asynchronously, the others need not wait."""
    first = rest[0] if rest and isinstance(rest[0], ir.Sync) and rest[0].waits else None
    rest = rest[1:] if first else rest
    if not any(isinstance(n, ir.Copy) and dict(n.options).get("asynchronous") for n in ir.walk(rest)):
        rest = ir.rewrite(rest, lambda n: replace(n, waits=False) if isinstance(n, ir.Sync) else None)
    return first, rest


def _fresh(taken: set[str], *wanted: str) -> str:
    """The first of the wanted names that is free, else the last with a tail; it is taken from now on."""
    name = ir.fresh_name(taken, *wanted)
    taken.add(name)
    return name
