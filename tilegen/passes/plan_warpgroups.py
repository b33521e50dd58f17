"""plan_warpgroups: loads by the copy engine, products by warpgroups.

Precondition: pipelines planned, layouts not yet inferred. Effect, on a target with wgmma: where all loads of the
kernel's pipelined loop can be made by the copy engine, and all products of the kernel can read them by wgmma, one
thread of a further warpgroup does the loads (a Producer statement) and the others wait for them on barriers in
shared memory. Otherwise nothing changes, and a note says why.
Before: for ko in Pipelined: load_stage(ko + 2); gemm(A_shared[stage], ...) by mma
After:  Producer(for ko: A_shared[stage] = box of A); for ko: wait; gemm by wgmma; let go
"""

from __future__ import annotations

from dataclasses import replace

from tilegen import arith, ir
from tilegen.dtypes import int32, uint64
from tilegen.passes.engine_copies import Share, load_plan, slab_bytes, slabs_of, store_plan, why_no_store
from tilegen.passes.planner import Planner
from tilegen.passes.tile_walk import Shared, blocks_at_once, shared_loads, split, tile_walk, varying, walk_loop
from tilegen.passes.warpgroup_parts import GROUP, NoWarpgroups, Parts
from tilegen.plan import (AwaitStores, EngineTile, MmaChoice, PipelinePlan, Producer, TensorMapPlan, TileWalk,
                          WgmmaChoice)
from tilegen.targets.base import Target
from tilegen.wgmma import WGMMA_DEPTH_BYTES

LOADERS = 128                                   # a whole warpgroup, since registers are given away by warpgroups
_REGISTERS = {2: (24, 240), 3: (32, 160)}       # of a loading and of a computing thread, by computing warpgroups
SLABS = 2                                       # one is filled while the other is read


def plan_warpgroups(kernel: ir.Kernel, target: Target) -> ir.Kernel:
    gemms = [n for n in ir.walk(kernel.body) if isinstance(n, ir.Gemm)]
    if not target.warpgroups or not any(isinstance(g.plan, MmaChoice) for g in gemms):
        return kernel
    planner = Planner(kernel, target)
    try:
        parts = Parts.of(planner, gemms)
    except NoWarpgroups as no:
        notes = (*kernel.plan.notes, ("warpgroups", f"mma.sync and cp.async: {no}"))
        return replace(kernel, plan=replace(kernel.plan, notes=notes))
    return _planned(planner, parts)


# ---- The kernel with two kinds of threads ------------------------------------------------------------
def _planned(planner: Planner, parts: Parts) -> ir.Kernel:
    kernel, loop = planner.kernel, parts.loop
    plan: PipelinePlan = loop.plan
    notes = [("warpgroups", f"{parts.groups} multiply, one loads")]
    stores, slabs = _stores(planner, parts, notes)
    walk, shared = _walk(planner, parts, stores, slabs, notes)
    share = _share(planner, walk)
    maps: dict[str, TensorMapPlan] = {}
    tiles = {n.buffer.name: EngineTile(**vars(n.buffer)) for n in ir.walk(kernel.body)
             if isinstance(n, ir.Alloc) and n.buffer.name in plan.buffers}
    full, empty = (ir.Buffer(planner.fresh(n, f"{loop.var.name}_{n}"), (plan.stages,), uint64, "shared")
                   for n in ("full", "empty"))

    def load(number: int, s: ir.Stmt) -> ir.Stmt:
        if not isinstance(s, ir.Copy):
            return s
        how = replace(share, along=split(planner, s.dst)) if shared and number in shared.loads else None
        return load_plan(planner, s, tiles[s.dst.buffer.name], plan, full, maps, how)
    loads = tuple(load(number, s) for number, s in enumerate(parts.loads))
    values = {"full": full, "empty": empty, "registers": _registers(planner, parts.groups),
              "slot": planner.fresh("slot", "ring_slot"), "cluster": walk.cluster if walk else None,
              "tiles": [s.dst.buffer for s in parts.loads if isinstance(s, ir.Copy)]}
    planned = {id(s): store_plan(planner, s, maps, _groups(planner), slabs_of(planner, s, parts.groups, slabs))
               for s in stores}
    consumer = replace(loop, body=ir.rewrite(parts.rest, lambda n: replace(n, plan=_choice(planner, n, parts))
                                             if isinstance(n, ir.Gemm) else None), plan=replace(
        plan, producers=0, template="pipeline_engine", engine=values,
        reason=f"the copy engine loads {', '.join(plan.buffers)} up to STAGES steps ahead, for one thread of a "
        "warpgroup of its own; barriers in shared memory say when a stage is full and when it is free"))

    def later(s: ir.Stmt) -> ir.Stmt:
        return consumer if s is loop else planned[id(s)][1] if id(s) in planned else s
    body = _split(planner, parts, walk, replace(loop, body=loads, plan=consumer.plan), later, share)
    body = (ir.Alloc(full), ir.Alloc(empty), *(alloc for alloc, _ in planned.values()), *body,
            *((AwaitStores(),) if planned else ()))
    body = ir.rewrite(body, lambda n: tiles.get(n.name) if type(n) is ir.Buffer else None)
    kernel = planner.finish(body, notes=(*kernel.plan.notes, *notes), maps=maps, loaders="LOADERS", walk=walk)
    return replace(kernel, requires=(*kernel.requires, *_requirements(planner, maps)))


def _split(planner: Planner, parts: Parts, walk: TileWalk | None, loads: ir.For, later,
           share: Share | None) -> tuple[ir.Stmt, ...]:
    """What all threads do, the producer, and what the threads that compute do (`later` of each statement)."""
    kernel, loop = planner.kernel, parts.loop
    moving = {v.name for v in kernel.block_vars} if walk else {parts.around.var.name} if parts.around else set()
    moving = varying(kernel, moving)
    steps = ir.Let(loop.plan.steps, loop.stop)
    lets = [*parts.before, steps]
    fixed = [s for s in lets if not arith.names(s.value) & moving]
    own = [s for s in lets if s not in fixed]
    before, around = fixed, parts.around
    if walk:
        outside, around = walk_loop(planner, walk, share.rank if share else ir.Const(0))
        before = [*fixed, *outside]
    if share:
        before.append(ir.Let(share.rank, ir.Call("device:cluster_rank", (), int32)))
    place = around.body if walk else ()
    tiles = replace(around, body=(*place, *own)) if around else None
    producer = Producer(loads, tiles, walk.cluster if walk else None)

    def computing(statements) -> tuple[ir.Stmt, ...]:
        found: list[ir.Stmt] = []
        for s in (s for s in statements if not any(s is x for x in fixed)):
            found += [steps] if s is loop and steps in own else []
            found.append(replace(s, body=computing(s.body)) if s is parts.around else later(s))
        return tuple(found)
    rest = computing(kernel.body)
    return (*before, producer, *((replace(around, body=(*place, *rest)),) if walk else rest))


def _stores(planner: Planner, parts: Parts, notes) -> tuple[list[ir.Copy], int]:
    """The copies of accumulators that the copy engine makes, and how many slabs each warpgroup has for it."""
    sums = {g.c.buffer.name for g in parts.helpers}
    found = []
    for copy in (s for s in parts.inner if isinstance(s, ir.Copy)):
        if copy.src.buffer.name in sums and copy.dst.buffer.scope == "global":
            reason = why_no_store(planner, copy)
            if reason:
                notes.append((f"stores to {copy.dst.buffer.name}", f"by the threads: {reason}"))
            else:
                found.append(copy)
    if not found:
        return [], 0
    room = (planner.target.max_shared - parts.ring(planner) - 1024) // (len(found) * slab_bytes(parts.groups))
    if room < 1:
        notes.append(("stores", "by the threads: the tiles leave no shared memory for the copy engine"))
        return [], 0
    return found, min(SLABS, room)


def _walk(planner: Planner, parts: Parts, stores, slabs: int, notes) -> tuple[TileWalk | None, Shared | None]:
    """Whether blocks take the tiles in turn, and which loads they share."""
    kernel = planner.kernel
    if parts.around:
        notes.append(("blocks", "walk over tiles as the kernel says"))
        return None, None
    blocks = varying(kernel, {v.name for v in kernel.block_vars})
    if arith.names((parts.loop.start, parts.loop.stop)) & blocks:
        notes.append(("blocks", "one for each tile: tiles take different times, and the GPU hands a block out as "
                      "another ends"))
        return None, None
    shared = shared_loads(planner, parts.loop, parts.loads, stores)
    if isinstance(shared, str):
        notes.append(("clusters", f"none: {shared}"))
        shared = None
    else:
        notes.append(("clusters", f"neighbours along {kernel.block_vars[shared.axis].name} load "
                      f"{', '.join(parts.loads[i].dst.buffer.name for i in sorted(shared.loads))} for each other"))
    threads = (parts.groups + 1) * GROUP
    memory = parts.ring(planner) + len(stores) * slabs * slab_bytes(parts.groups)
    at_once = 1 if parts.groups in _REGISTERS else blocks_at_once(planner, threads, memory, parts.sums(planner))
    notes.append(("blocks", f"as many as fit, {at_once} on an SM, which walk over the tiles: the loads of a tile run "
                  "while the one before is stored"))
    return tile_walk(planner, shared, at_once), shared


def _share(planner: Planner, walk: TileWalk | None) -> Share | None:
    """What loads for a whole cluster need."""
    if walk is None or walk.cluster is None:
        return None
    bits = arith.subtract(arith.binary("<<", ir.Const(1), walk.cluster), 1)
    mask = planner.constant("WHOLE_CLUSTER", planner.value(bits), "a bit for each block of a cluster", knob=False,
                            expr=bits)
    return Share("", walk.cluster, ir.Var(planner.fresh("rank", "block_in_cluster"), int32, "block"), mask)


def _groups(planner: Planner) -> ir.Expr:
    """The number of warpgroups that compute, as an expression of the file."""
    size = planner.constant("WARPGROUP", GROUP, "threads of a warpgroup", knob=False)
    return arith.divide(ir.Var("THREADS", kind="knob"), size)


def _requirements(planner: Planner, maps: dict[str, TensorMapPlan]) -> tuple[ir.Expr, ...]:
    """That rows of the tensors start at multiples of 16 bytes, where it depends on the sizes."""
    found: dict[ir.Expr, None] = {}
    for p in planner.kernel.params:
        if p.name in maps:
            multiple = arith.modulo(p.buffer.shape[-1], 16 // p.buffer.dtype.bytes)
            condition = arith.binary("==", multiple, ir.Const(0))
            if planner.value(condition) is None:
                found[condition] = None
    return tuple(found)


def _choice(planner: Planner, gemm: ir.Gemm, parts: Parts) -> WgmmaChoice:
    helper = parts.helpers[gemm]
    depth = WGMMA_DEPTH_BYTES // gemm.a.buffer.dtype.bytes
    return WgmmaChoice(helper, depth, 4 * parts.groups, 1, 0, 0,
                       reason=f"{helper} by {parts.groups} warpgroup(s), operands straight from shared memory")


def _registers(planner: Planner, groups: int) -> tuple[ir.Var, ir.Var] | None:
    """The registers of a loading and a computing thread, where threads exchange them."""
    planner.constant("LOADERS", LOADERS, "threads that load: one does, all give registers to the others", knob=False)
    if groups not in _REGISTERS:
        return None
    few, many = (planner.constant(name, count, what, "a multiple of 8 from 24 to 240") for name, count, what in (
        ("LOADER_REGISTERS", _REGISTERS[groups][0], "registers of a thread that loads"),
        ("COMPUTE_REGISTERS", _REGISTERS[groups][1], "registers of a thread that computes")))
    threads = ir.Var("THREADS", kind="knob")
    total = arith.add(arith.multiply(ir.Var("LOADERS", kind="knob"), few), arith.multiply(threads, many))
    registers = ir.Const(planner.target.register_file)
    planner.check(arith.binary("<=", total, registers), "an SM has no more registers")
    all_threads = arith.add(threads, ir.Var("LOADERS", kind="knob"))
    for count, compared in ((few, "<="), (many, ">=")):
        planner.check(arith.binary(compared, arith.multiply(count, all_threads), registers),
                      "threads that load give registers to those that compute")
        planner.check_multiple(count, ir.Const(8), "registers are exchanged by eights")
    return few, many
