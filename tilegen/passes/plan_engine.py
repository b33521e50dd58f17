"""plan_engine: loads by the copy engine, products by warps.

Precondition: pipelines planned, warpgroups decided, layouts not yet inferred. Effect, on a target with a copy engine
and where no warpgroups multiply: where the engine can make all loads of the kernel's pipelined loop, one thread of a
further warp asks it for them (a Producer statement), and the other warps wait on barriers in shared memory, read the
tiles by ldmatrix as the engine lays them, and multiply by mma.sync. Otherwise nothing changes, and a note says why.
A warp of its own, because a thread that waits for a free stage would hold up the products of its warp; one warp is
enough, since registers are not exchanged.
Before: for ko in Pipelined: load_stage(ko + 2) by cp.async; gemm(A_shared[stage], ...) by mma
After:  Producer(for ko: A_shared[stage] = box of A); for ko: wait; gemm by mma; let go
"""

from __future__ import annotations

from dataclasses import replace

from tilegen import ir
from tilegen.dtypes import uint64
from tilegen.passes.engine_copies import load_plan
from tilegen.passes.engine_parts import EngineParts
from tilegen.passes.planner import Planner
from tilegen.passes.plan_warpgroups import requirements, split_threads
from tilegen.passes.warpgroup_parts import NoWarpgroups
from tilegen.plan import EngineTile, MmaChoice, PipelinePlan, Producer, TensorMapPlan
from tilegen.rings import AwaitTiles, Ring
from tilegen.targets.base import Target

LOADERS = 32                                    # one warp, of which one thread loads


def plan_engine(kernel: ir.Kernel, target: Target) -> ir.Kernel:
    gemms = [n for n in ir.walk(kernel.body) if isinstance(n, ir.Gemm)]
    if not target.copy_engine or kernel.plan.loaders or not any(isinstance(g.plan, MmaChoice) for g in gemms):
        return kernel
    planner = Planner(kernel, target)
    try:
        parts = EngineParts.of(planner, gemms)
    except NoWarpgroups as no:
        notes = (*kernel.plan.notes, ("copy engine", f"not used: {no}"))
        return replace(kernel, plan=replace(kernel.plan, notes=notes))
    return _planned(planner, parts)


def _planned(planner: Planner, parts: EngineParts) -> ir.Kernel:
    kernel, loop = planner.kernel, parts.loop
    planner.constant("LOADERS", LOADERS, "threads that load: a warp, of which one does", knob=False)
    maps: dict[str, TensorMapPlan] = {}
    loaded = {s.dst.buffer.name for s in (*parts.once, *parts.loads) if isinstance(s, ir.Copy)}
    tiles = {n.buffer.name: EngineTile(**vars(n.buffer)) for n in ir.walk(kernel.body)
             if isinstance(n, ir.Alloc) and n.buffer.name in loaded}
    plan = _plan(planner, parts)
    loads = tuple(load_plan(planner, s, tiles[s.dst.buffer.name], plan.stage, plan.engine["full"], maps)
                  if isinstance(s, ir.Copy) else s for s in parts.loads)
    once = tuple(load_plan(planner, s, tiles[s.dst.buffer.name], None, plan.engine["ready"], maps) for s in parts.once)
    consumer = replace(loop, plan=plan, body=parts.rest)

    def later(s: ir.Stmt) -> list[ir.Stmt]:
        return [*_await(parts, plan), consumer] if s is loop else [s]
    body = split_threads(planner, parts, None, Producer(replace(loop, body=loads, plan=plan), once=once), later, None,
                         [], [])
    memory = (plan.engine[n] for n in ("full", "empty", "ready", "free") if plan.engine[n] is not None)
    body = ir.rewrite((*map(ir.Alloc, memory), *body),
                      lambda n: tiles.get(n.name) if type(n) is ir.Buffer else None)
    note = ("copy engine", f"loads {', '.join(sorted(loaded))}: one thread of a further warp asks for them; "
            "the other warps multiply by mma.sync")
    kernel = planner.finish(body, notes=(*kernel.plan.notes, note), maps=maps, loaders="LOADERS")
    return replace(kernel, requires=(*kernel.requires, *requirements(planner, maps)))


def _await(parts: EngineParts, plan: PipelinePlan) -> list[ir.Stmt]:
    """What stands before the loop where tiles are loaded before it."""
    return [AwaitTiles(plan.engine["ready"], plan.engine["turn"], tuple(s.dst.buffer.name for s in parts.once))] \
        if parts.once else []


def _plan(planner: Planner, parts: EngineParts) -> PipelinePlan:
    """The plan of the loop of both kinds of threads."""
    plan: PipelinePlan = parts.loop.plan
    full, empty = (ir.Buffer(planner.fresh(n, f"{parts.loop.var.name}_{n}"), (plan.stages,), uint64, "shared")
                   for n in ("full", "empty"))
    copies = [s for s in (*parts.once, *parts.loads) if isinstance(s, ir.Copy)]
    tiles = tuple(s.dst.buffer for s in parts.loads if isinstance(s, ir.Copy))
    values = {"producer": "producer_warp", "rings": [Ring(tiles, full, empty, 0, 0)],
              "full": full, "empty": empty, "ready": None, "free": None, "cluster": None,
              "behind": None, "slot": planner.fresh("slot", "ring_slot"),
              "turn": planner.fresh("turn", "tile_turn"), "once": [s.dst.buffer for s in parts.once],
              "tensors": list(dict.fromkeys(s.src.buffer.name for s in copies))}
    names = ("ready", *(("free",) if parts.around else ())) if parts.once else ()
    values |= {n: ir.Buffer(planner.fresh(n, f"tiles_{n}"), (), uint64, "shared") for n in names}
    return replace(plan, producers=0, template="pipeline_ring", engine=values,
                   reason=f"the copy engine loads {', '.join(plan.buffers)} up to STAGES steps ahead, for one thread "
                   "of a warp of its own; barriers in shared memory say when a stage is full and when it is free")
