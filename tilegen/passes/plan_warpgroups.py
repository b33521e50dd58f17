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
from tilegen.passes.operand_rings import rings_of, with_waits
from tilegen.passes.planner import Planner
from tilegen.passes.tile_walk import Shared, blocks_at_once, shared_loads, split, tile_walk, varying, walk_loop
from tilegen.passes.warpgroup_parts import GROUP, NoWarpgroups, Parts
from tilegen.plan import (AwaitStores, EngineTile, MmaChoice, PipelinePlan, Producer, SlabStore, TensorMapPlan,
                          TileWalk, WgmmaChoice)
from tilegen.targets.base import Target
from tilegen.wgmma import WGMMA_DEPTH_BYTES

LOADERS = 128                                   # a whole warpgroup, since registers are given away by warpgroups
_REGISTERS = {2: (24, 240), 3: (32, 160)}       # of a loading and of a computing thread, by computing warpgroups
_OTHER_REGISTERS = 40                           # of a computing thread, beside its tiles
SLABS = 2                                       # one is filled while the other is read


def plan_warpgroups(kernel: ir.Kernel, target: Target) -> ir.Kernel:
    gemms = [n for n in ir.walk(kernel.body) if isinstance(n, ir.Gemm)]
    if not target.warpgroups or not any(isinstance(g.plan, MmaChoice) for g in gemms):
        return kernel
    planner = Planner(kernel, target)
    try:
        parts = Parts.of(planner, gemms)
    except NoWarpgroups as no:
        notes = (*kernel.plan.notes, ("warpgroups", f"mma.sync: {no}"))
        return replace(kernel, plan=replace(kernel.plan, notes=notes))
    return _planned(planner, parts)


# ---- The kernel with two kinds of threads ------------------------------------------------------------
def _planned(planner: Planner, parts: Parts) -> ir.Kernel:
    kernel, loop = planner.kernel, parts.loop
    notes = [("warpgroups", f"{parts.groups} multiply, one loads")]
    stores, slabs = _stores(planner, parts, notes)
    walk, shared = _walk(planner, parts, stores, slabs, notes)
    share = _share(planner, walk)
    maps: dict[str, TensorMapPlan] = {}
    tiles = {n.buffer.name: EngineTile(**vars(n.buffer)) for n in ir.walk(kernel.body)
             if isinstance(n, ir.Alloc) and n.buffer.scope == "shared"}
    plan = _engine(planner, parts, walk, notes)
    loads = _loads(planner, parts, tiles, plan, maps, shared, share)
    once = tuple(load_plan(planner, s, tiles[s.dst.buffer.name], None, plan.engine["ready"], maps) for s in parts.once)
    planned = {id(s): store_plan(planner, s, maps, _groups(planner), slabs_of(planner, s, parts.groups, slabs),
                                 plan.engine["group"], plan.steps) for s in stores}
    last = _leaving(planner, parts, stores, walk, notes)
    leaving = [store for _, store in planned.values()] if last else []
    rest = ir.rewrite(parts.rest, lambda n: replace(n, plan=_choice(
        n, parts, leaving if n == last else [], plan.engine)) if isinstance(n, ir.Gemm) else None)
    consumer = replace(loop, plan=plan, body=with_waits(
        rest, plan.engine["rings"], plan.stage, plan.engine["slot"], plan.engine["cluster"], not plan.engine["behind"]))

    def store(s: ir.Copy, part: str) -> ir.Copy:
        return replace(s, plan=replace(planned[id(s)][1], part=part), loc=s.loc if part in ("", "function") else None)

    def later(s: ir.Stmt) -> list[ir.Stmt]:
        return [consumer if s is loop else store(s, "keep" if last else "") if id(s) in planned else s]
    around = [[store(s, part) for s in stores] if last else [] for part in ("function", "rest")]
    producer = Producer(replace(loop, body=loads, plan=plan), None, walk.cluster if walk else None, once)
    body = split_threads(planner, parts, walk, producer, later, share, *around)
    memory = [barrier for ring in plan.engine["rings"] for barrier in (ring.full, ring.empty)]
    memory += [plan.engine[n] for n in (("ready", "free") if once else ())]
    body = (*map(ir.Alloc, memory), *(alloc for alloc, _ in planned.values()), *body,
            *((AwaitStores(),) if planned else ()))
    body = ir.rewrite(body, lambda n: tiles.get(n.name) if type(n) is ir.Buffer else None)
    kernel = planner.finish(body, notes=(*kernel.plan.notes, *notes), maps=maps, loaders="LOADERS", walk=walk)
    return replace(kernel, requires=(*kernel.requires, *requirements(planner, maps)))


def _engine(planner: Planner, parts: Parts, walk: TileWalk | None, notes) -> PipelinePlan:
    """The plan of the loop of both kinds of threads."""
    plan: PipelinePlan = parts.loop.plan
    values = {"rings": rings_of(planner, parts.loop, parts.operands), "registers": _registers(planner, parts.groups),
              "slot": planner.fresh("slot", "ring_slot"), "cluster": walk.cluster if walk else None,
              "group": ir.Var(planner.fresh("group", "warpgroup_number"), int32, "block"),
              "behind": _behind(planner, parts, notes),
              "tensors": list(dict.fromkeys(s.src.buffer.name for s in (*parts.once, *parts.loads)
                                            if isinstance(s, ir.Copy)))}
    if parts.once:
        values |= {n: ir.Buffer(planner.fresh(n, f"tiles_{n}"), (), uint64, "shared") for n in ("ready", "free")}
        values |= {"turn": planner.fresh("turn", "tile_turn"), "once": [s.dst.buffer for s in parts.once]}
    return replace(plan, producers=0, template="pipeline_engine", engine=values,
                   reason=f"the copy engine loads {', '.join(plan.buffers)} up to STAGES steps ahead, for one thread "
                   "of a warpgroup of its own; barriers in shared memory say when a stage is full and when it is free")


def _loads(planner: Planner, parts: Parts, tiles, plan: PipelinePlan, maps, shared: Shared | None,
           share: Share | None) -> tuple[ir.Stmt, ...]:
    """The loads of a step by the copy engine."""
    def load(number: int, s: ir.Stmt) -> ir.Stmt:
        if not isinstance(s, ir.Copy):
            return s
        how = replace(share, along=split(planner, s.dst)) if shared and number in shared.loads else None
        ring = next(r for r in plan.engine["rings"] if s.dst.buffer in r.tiles)
        return load_plan(planner, s, tiles[s.dst.buffer.name], plan.stage, ring.full, maps, how)
    return tuple(load(number, s) for number, s in enumerate(parts.loads))


def _leaving(planner: Planner, parts: Parts, stores: list[ir.Copy], walk: TileWalk | None, notes) -> ir.Gemm | None:
    """The product during which the results of the tile before leave; None where they leave at once."""
    last = next((s for s in reversed(parts.rest) if isinstance(s, ir.Gemm)), None)
    if last is None or not stores or walk is None and parts.around is None:
        return None
    if any(not isinstance(s, ir.Gemm) for s in parts.rest):
        notes.append(("stores", "as soon as a tile is complete: the steps need the registers"))
        return None
    sizes = [parts.registers(planner, s.src.buffer) for s in stores]
    room = _REGISTERS[parts.groups][1] if parts.groups in _REGISTERS else planner.target.max_registers
    reason = ""
    if any(s.dst.buffer.dtype.bits != 16 for s in stores):
        reason = "a tile of 32 bits finds no room in registers"
    elif parts.fragments(planner) + sum(sizes) // 2 + _OTHER_REGISTERS > room:
        reason = "registers are short"
    elif any(parts.inner.index(s) < parts.inner.index(parts.loop) for s in stores):
        reason = "a result is stored before the loop"
    notes.append(("stores", f"as soon as a tile is complete: {reason}" if reason else
                  "piece by piece during the products of the next tile, from registers"))
    return None if reason else last


def split_threads(planner: Planner, parts: Parts, walk: TileWalk | None, producer: Producer, later,
           share: Share | None, first: list[ir.Stmt], last: list[ir.Stmt]) -> tuple[ir.Stmt, ...]:
    """What all threads do, the producer, and what the threads that compute do (`later` of each statement), with
    `first` and `last` around their loop over tiles."""
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
    producer = replace(producer, tiles=replace(around, body=(*place, *own)) if around else None)

    def computing(statements) -> tuple[ir.Stmt, ...]:
        found: list[ir.Stmt] = []
        for s in (s for s in statements if not any(s is x for x in (*fixed, *parts.once))):
            found += [steps] if s is loop and steps in own else []
            found += [*first, replace(s, body=computing(s.body)), *last] if s is parts.around else later(s)
        return tuple(found)
    rest = computing(kernel.body)
    return (*before, producer, *((*first, replace(around, body=(*place, *rest)), *last) if walk else rest))


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
    shared = shared_loads(planner, parts.loop, parts.loads, [*stores, *parts.once])
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


def requirements(planner: Planner, maps: dict[str, TensorMapPlan]) -> tuple[ir.Expr, ...]:
    """That rows of the tensors start at multiples of 16 bytes, where it depends on the sizes."""
    found: dict[ir.Expr, None] = {}
    for p in planner.kernel.params:
        if p.name in maps:
            multiple = arith.modulo(p.buffer.shape[-1], 16 // p.buffer.dtype.bytes)
            condition = arith.binary("==", multiple, ir.Const(0))
            if planner.value(condition) is None:
                found[condition] = None
    return tuple(found)


def _behind(planner: Planner, parts: Parts, notes) -> ir.Var | None:
    """The variable with the stage before, where a step waits for the products of that one only: a single warpgroup has
    nobody who multiplies while it waits."""
    if parts.groups > 1 or len(parts.rest) > 1 or not isinstance(parts.rest[0], ir.Gemm):
        return None
    notes.append(("products", "run on while those of the next step are issued"))
    return ir.Var(planner.fresh("behind", "stage_behind"), int32, "block")


def _choice(gemm: ir.Gemm, parts: Parts, leaving: list[SlabStore], engine: dict) -> WgmmaChoice:
    helper = parts.helpers[gemm]
    depth = WGMMA_DEPTH_BYTES // gemm.a.buffer.dtype.bytes
    stores = tuple((s.values["store"], s.values["pieces"]) for s in leaving)
    return WgmmaChoice(helper, depth, 4 * parts.groups, 1, 0, 0, gemm.a.buffer.scope == "fragment", stores=stores,
                       group=engine["group"],
                       pending=int(bool(engine["behind"])), turn=arith.subtract(parts.loop.var, parts.loop.start),
                       reason=f"{helper} by {parts.groups} warpgroup(s), operands straight from shared memory"
                       + (", the left one from registers" if gemm.a.buffer.scope == "fragment" else ""))


def _registers(planner: Planner, groups: int) -> tuple[ir.Var, ir.Var] | None:
    """The registers of a loading and a computing thread, where threads exchange them."""
    _groups(planner)
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
