"""plan_pipeline: T.Pipelined loops whose loads run ahead of their use.

Precondition: operands staged, layouts not yet inferred. Effect: a pipelined loop with copies from global to
shared memory that may run ahead (pipeline_loads.py) gets a PipelinePlan: their tiles get a leading dimension
of STAGES, the statements that fill a stage come first, and the loop body stays one. With cp.async the copies
run STAGES - 1 steps ahead in the background; without, registers hold the next step's elements while this one
computes. A T.sync() of the user after the loads is the barrier that the pipeline has anyway. Where nothing
can run ahead the loop stays synchronous, and the plan says why.
Before: for ko in Pipelined: copy(A, A_shared); gemm(A_shared, ...)
After:  load_stage(ko) fills A_shared[ko % STAGES]; the loop waits for stage ko and loads ko + STAGES - 1
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field, replace

from tilegen import arith, ir
from tilegen.errors import TilegenError
from tilegen.passes.divergence import differing
from tilegen.passes.pipeline_loads import Finder, Loads, copies, is_load, uses
from tilegen.passes.pipeline_registers import register_room, through_registers
from tilegen.passes.ranges import knob_values
from tilegen.plan import Check, Constant, KernelPlan, PipelinePlan, SynchronousPlan
from tilegen.targets.base import Target


def plan_pipeline(kernel: ir.Kernel, target: Target) -> ir.Kernel:
    state = _State(replace(kernel, body=_numbered(kernel.body)), target)
    body = state.sequence(state.kernel.body)
    if state.staged:
        body = ir.rewrite(body, lambda n: replace(n, buffer=state.staged[n.buffer.name])
                          if isinstance(n, ir.Alloc) and n.buffer.name in state.staged else None)
    plan = kernel.plan or KernelPlan()
    plan = replace(plan, constants=plan.constants + tuple(state.constants.values()),
                   checks=(*plan.checks, *(c for c in state.checks if c not in plan.checks)))
    return replace(kernel, body=body, plan=plan)


def _numbered(body: tuple[ir.Stmt, ...]) -> tuple[ir.Stmt, ...]:
    """Pipelined loops with a number, since two of them may look alike."""
    count = itertools.count()
    return ir.rewrite(body, lambda n: replace(n, options=(*n.options, ("number", next(count))))
                      if isinstance(n, ir.For) and n.kind == "pipelined" else None)


def _may_end_early(loop: ir.For) -> bool:
    return any(isinstance(n, (ir.Break, ir.Continue)) for n in ir.walk(loop.body))


def _number(loop: ir.For) -> int:
    return dict(loop.options)["number"]


@dataclass
class _State:
    """What the loops of one kernel share. `staged`: tiles that have got stages."""

    kernel: ir.Kernel
    target: Target
    constants: dict[str, Constant] = field(default_factory=dict)
    checks: dict[Check, None] = field(default_factory=dict)
    staged: dict[str, ir.Buffer] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.env = knob_values(self.kernel)
        nodes = list(ir.walk(self.kernel))
        self.taken = {n.name for n in nodes if isinstance(n, (ir.Var, ir.Buffer))} | set(self.env)
        self.aliased = {name for n in nodes if isinstance(n, ir.Alias) for name in (n.name, n.base.name)}
        self.differ = differing(self.kernel)
        self.counts = uses(self.kernel.body)
        self.loops = [n for n in nodes if isinstance(n, ir.For) and n.kind == "pipelined"]
        self.allocated = {n.buffer.name for n in nodes if isinstance(n, ir.Alloc)}

    def sequence(self, statements: tuple[ir.Stmt, ...]) -> tuple[ir.Stmt, ...]:
        """The statements of one block; a tile that is read after its loop is that of the last step."""
        result: list[ir.Stmt] = []
        after = list(statements)
        while after:
            s = self._inside(after.pop(0))
            if isinstance(s, ir.For) and s.kind == "pipelined":
                before, s, last = self._loop(s, tuple(after))
                s = replace(s, options=tuple(o for o in s.options if o[0] == "num_stages"))
                result += before
                if last:
                    after = list(last)
            result.append(s)
        return tuple(result)

    def _inside(self, s: ir.Stmt) -> ir.Stmt:
        if isinstance(s, (ir.For, ir.While)):
            return replace(s, body=self.sequence(s.body))
        if isinstance(s, ir.If):
            return replace(s, then=self.sequence(s.then), otherwise=self.sequence(s.otherwise))
        return s

    def _loop(self, loop: ir.For, after: tuple[ir.Stmt, ...]):
        """(statements before the loop, the loop, those after it or () if they stay)."""
        stages = dict(loop.options).get("num_stages", ir.Const(0))
        count = arith.evaluate(stages, self.env)
        reason, loads = self._reason(loop, count, after)
        if not reason and not self.target.async_copies:
            reason, count = register_room(self.kernel, self.target, loads, self.env)
            stages = ir.Const(count)
        if reason:
            body = _at_stage(loop.body, self.staged, ir.Const(0))
            return (), replace(loop, body=body, plan=SynchronousPlan(reason)), ()
        if count > 1:
            stages = self._stages(loop, stages, count)
            self.checks[Check(arith.binary(">=", stages, ir.Const(2)),
                              "one stage is filled while another is used")] = None
        loop, index = self._pipelined(loop, loads, stages)
        before: tuple[ir.Stmt, ...] = ()
        if not self.target.async_copies:
            before, loop = through_registers(loop, self.taken, count)
        return before, loop, self._last_step(loop, index, after)

    def _stages(self, loop: ir.For, stages: ir.Expr, count: int) -> ir.Expr:
        """The number of stages: the user's knob, or a knob of ours."""
        if isinstance(stages, ir.Var):
            return stages
        same = next((c for c in self.constants.values() if c.value == count), None)
        if same is None:
            name = ir.take_name(self.taken, "STAGES", f"{loop.var.name.upper()}_STAGES")
            what = "tiles of each operand that are on their way or in use"
            legal = "2 and up" if self.target.async_copies else "2"
            self.constants[name] = same = Constant(name, count, what, legal, knob=True)
        return same.var

    # ---- May anything run ahead? -------------------------------------------------------------------
    def _reason(self, loop: ir.For, count: int | None, after) -> tuple[str, Loads]:
        """(why the loop stays synchronous, its loads)."""
        if count is None or count < 2:
            if skewed := dict(loop.options).get("skewed"):
                return f"stage= has computations run {skewed} steps ahead: each has its own condition", Loads()
            told = "num_stages is 1: one tile of each operand, so that a step loads, then computes"
            return (told if count == 1 else "num_stages is 0"), Loads()
        if loop.step != ir.Const(1):
            return "the loop does not count by 1", Loads()
        if _may_end_early(loop):
            return "the loop may end early", Loads()
        outside = {name: reason for name in uses(self._original(loop).body)
                   if (reason := self._outside(name, loop, count, after))}
        loads = Finder(loop, self.aliased, outside, self.differ, self.target.async_copies).find()
        if dict(loop.options).get("must") and any(why != "stage= keeps it there" for _, why in loads.refused):
            name, why = next(r for r in loads.refused if r[1] != "stage= keeps it there")
            raise TilegenError("TG0209", f"stage= has {name} loaded ahead, but {why}", loop.loc,
                               "give its copy the stage of the statements that use it")
        if loads.tiles:
            return "", loads
        if not loads.refused:
            return "the loop has no copies from global to shared memory", loads
        return "; ".join(dict.fromkeys(f"{name} cannot be loaded ahead: {why}" for name, why in loads.refused)), loads

    def _original(self, loop: ir.For) -> ir.For:
        """The loop as it was before the loops inside of it were planned."""
        return next(n for n in self.loops if _number(n) == _number(loop))

    def _outside(self, name: str, loop: ir.For, count: int, after) -> str:
        """Why uses of a tile outside of `loop` forbid that it has stages: '' where they do not."""
        if name in self.staged:
            same = arith.evaluate(self.staged[name].shape[0], self._numbers()) == count
            return "" if same else "another pipelined loop with other stages fills the tile"
        mine = self._original(loop)
        others = self.counts[name] - uses(mine.body)[name] - (name in self.allocated)
        if not others:
            return ""
        filled = [n for n in self.loops if any(is_load(c) and c.dst.buffer.name == name for c in copies(n.body))
                  and n is not mine]
        in_loops = sum(uses(n.body).get(name, 0) for n in filled)
        if filled:
            alike = {arith.evaluate(dict(n.options).get("num_stages", ir.Const(0)), self.env) for n in filled}
            return "" if in_loops == others and alike == {count} and self._all_load(name, filled) else \
                "the tile is used by several loops"
        if loop.start != ir.Const(0):
            return "the tile is used outside of the loop"
        later = uses(after).get(name, 0) == others
        return "" if later else "the tile is used outside of the loop, and not only after it"

    def _all_load(self, name: str, loops: list[ir.For]) -> bool:
        """Whether each of these loops would load the tile ahead as well."""
        for loop in loops:
            if loop.step != ir.Const(1) or _may_end_early(loop):
                return False
            found = Finder(loop, self.aliased, {}, self.differ, self.target.async_copies).find()
            if name not in {b.name for b in found.tiles}:
                return False
        return True

    def _numbers(self) -> dict:
        return self.env | {c.name: c.value for c in self.constants.values()}

    # ---- The loop with stages ----------------------------------------------------------------------
    def _pipelined(self, loop: ir.For, loads: Loads, stages: ir.Expr) -> tuple[ir.For, ir.Var]:
        name = loop.var.name
        stage = ir.Var(ir.take_name(self.taken, "stage", f"{name}_stage"), kind="let")
        steps = ir.Var(ir.take_name(self.taken, "steps", f"{name}_steps"), kind="let")
        load = ir.take_name(self.taken, "load_stage", f"load_{name}_stage")
        tiles = {b.name: self.staged.get(b.name) or replace(b, shape=(stages, *b.shape)) for b in loads.tiles}
        tiles = {} if stages == ir.Const(1) else tiles
        self.staged.update(tiles)
        ahead = ir.rewrite(_at_stage(loads.ahead, tiles, stage), lambda n: replace(n, options=_asynchronous(n.options))
                           if isinstance(n, ir.Copy) else None)
        sync, rest = _own_barrier(_at_stage(loads.rest, tiles, stage))
        plan = PipelinePlan(len(ahead), stages, stage, steps, load, tuple(tiles), _explained(loads, tiles), sync)
        return replace(loop, body=ahead + rest, plan=plan), steps

    def _last_step(self, loop: ir.For, steps: ir.Var, after) -> tuple[ir.Stmt, ...]:
        """The statements after a loop whose tiles they read, with the stage of the last step."""
        mine = {n: self.staged[n] for n in loop.plan.buffers}
        fills = {c.dst.buffer.name for n in ir.walk(after) if isinstance(n, ir.For) and n.kind == "pipelined"
                 for c in copies(n.body) if is_load(c)}
        tiles = {n: b for n, b in mine.items() if n in uses(after) and n not in fills}
        if not tiles:
            return ()
        last = ir.Var(ir.take_name(self.taken, "last_stage", f"last_{loop.var.name}_stage"), kind="let")
        count = arith.binary("max", steps, ir.Const(1))
        value = arith.modulo(arith.subtract(count, 1), loop.plan.stages)
        return (ir.Let(last, value, loc=loop.loc), *_at_stage(after, tiles, last))


def _asynchronous(options: tuple) -> tuple:
    """The options of a load that runs ahead: of its own ones the eviction policy, which is not the planner's."""
    return (*(o for o in options if o[0] == "eviction_policy"), ("asynchronous", True))


def _at_stage(statements, tiles: dict[str, ir.Buffer], stage: ir.Expr):
    """The statements with one stage of each tile in place of the tile."""
    def rule(node):
        if not isinstance(node, (ir.Region, ir.Load, ir.Store, ir.Atomic)) or node.buffer.name not in tiles or \
                len(node.buffer.shape) == len(tiles[node.buffer.name].shape):
            return None
        if isinstance(node, ir.Region):
            return replace(node, buffer=tiles[node.buffer.name], offsets=(stage, *node.offsets),
                           extents=(ir.Const(1), *node.extents))
        return replace(node, buffer=tiles[node.buffer.name], indices=(stage, *node.indices))

    return ir.rewrite(statements, rule)


def _explained(loads: Loads, tiles) -> str:
    """What runs ahead, how the waits follow from that, and what does not."""
    text = (f"cp.async: {', '.join(tiles)} are loaded STAGES - 1 steps ahead; each step commits one group, so "
            "waiting until STAGES - 2 are on their way completes its own; one barrier a step")
    late = dict.fromkeys(f"{name} is loaded in its step: {why}" for name, why in loads.refused)
    return "; ".join([text, *late])


def _own_barrier(rest: tuple[ir.Stmt, ...]) -> tuple[ir.Sync | None, tuple[ir.Stmt, ...]]:
    """The user's T.sync() right after the loads, which the barrier of the pipeline stands for, and the
    statements without it; where nothing else is copied asynchronously, the others need not wait."""
    first = rest[0] if rest and isinstance(rest[0], ir.Sync) and rest[0].waits else None
    rest = rest[1:] if first else rest
    if not any(isinstance(n, ir.Copy) and dict(n.options).get("asynchronous") for n in ir.walk(rest)):
        rest = ir.rewrite(rest, lambda n: replace(n, waits=False) if isinstance(n, ir.Sync) else None)
    return first, rest
