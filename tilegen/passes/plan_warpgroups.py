"""plan_warpgroups: loads by the copy engine, products by warpgroups.

Precondition: pipelines planned, layouts not yet inferred. Effect, on a target with wgmma: where all loads of the
kernel's pipelined loop can be made by the copy engine, and all products of the kernel can read them by wgmma, one
thread of a further warpgroup does the loads (a Producer statement) and the others wait for them on barriers in
shared memory. Otherwise nothing changes, and a note says why.
Before: for ko in Pipelined: load_stage(ko + 2); gemm(A_shared[stage], ...) by mma
After:  Producer(for ko: A_shared[stage] = box of A); for ko: wait; gemm by wgmma; let go
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from tilegen import arith, ir
from tilegen.dtypes import uint64
from tilegen.wgmma import WGMMA_DEPTH_BYTES, WGMMA_ROWS, wgmma_helper
from tilegen.passes.engine_copies import load_plan, store_plan, why_no_engine, why_no_store
from tilegen.passes.pipeline_loads import uses
from tilegen.passes.planner import Planner
from tilegen.plan import Check, EngineTile, MmaChoice, PipelinePlan, Producer, TensorMapPlan, WgmmaChoice
from tilegen.targets.base import Target

GROUP = 128                                     # threads of a warpgroup
LOADERS = 128                                   # a whole warpgroup, since registers are given away by warpgroups
_REGISTERS = {2: (24, 240), 3: (32, 160)}       # of a loading and of a computing thread, by computing warpgroups
_ALONE = (ir.Vote, ir.Scan, ir.Finalize, ir.Atomic, ir.Sync, ir.Print)


def plan_warpgroups(kernel: ir.Kernel, target: Target) -> ir.Kernel:
    gemms = [n for n in ir.walk(kernel.body) if isinstance(n, ir.Gemm)]
    if not target.warpgroups or not any(isinstance(g.plan, MmaChoice) for g in gemms):
        return kernel
    planner = Planner(kernel, target)
    try:
        parts = _Parts.of(planner, gemms)
    except _No as no:
        notes = (*kernel.plan.notes, ("warpgroups", f"mma.sync and cp.async: {no}"))
        return replace(kernel, plan=replace(kernel.plan, notes=notes))
    return _planned(planner, parts)


class _No(Exception):
    """Why a kernel has no use for warpgroups."""


@dataclass
class _Parts:
    """The pieces of a kernel that can have warpgroups."""

    loop: ir.For
    loads: tuple[ir.Stmt, ...]
    rest: tuple[ir.Stmt, ...]
    before: tuple[ir.Let, ...]                  # names that the loads need
    helpers: dict[ir.Gemm, str]
    groups: int                                 # computing warpgroups

    @staticmethod
    def of(planner: Planner, gemms: list[ir.Gemm]) -> _Parts:
        """The parts; raises _No with a reason."""
        kernel = planner.kernel
        loop = _the_loop(kernel)
        plan: PipelinePlan = loop.plan
        loads, rest = loop.body[:plan.ahead], loop.body[plan.ahead:]
        if any(not isinstance(s, (ir.Copy, ir.Let)) for s in loads):
            raise _No("loads under a condition")
        for copy in (s for s in loads if isinstance(s, ir.Copy)):
            if reason := why_no_engine(planner, copy):
                raise _No(reason)
        _check_tiles(kernel, plan, loads, gemms)
        _check_rest(kernel, loop, plan)
        threads = planner.value(arith.product(kernel.threads)) or 0
        if threads % GROUP or threads not in (GROUP, 2 * GROUP, 3 * GROUP):
            raise _No(f"{threads} threads are not 1 to 3 warpgroups of {GROUP}")
        helpers = {g: _helper(planner, g, threads // GROUP, rest, plan) for g in gemms}
        return _Parts(loop, loads, rest, _names(kernel, loop, loads), helpers, threads // GROUP)


def _the_loop(kernel: ir.Kernel) -> ir.For:
    loops = [n for n in ir.walk(kernel.body) if isinstance(n, ir.For) and n.kind == "pipelined"]
    if len(loops) != 1 or loops[0] not in kernel.body:
        raise _No("it takes one pipelined loop, which is not inside of another statement")
    if not isinstance(loops[0].plan, PipelinePlan) or loops[0].plan.template != "pipeline" or loops[0].plan.sync:
        raise _No("the loads of the pipelined loop do not run ahead")
    return loops[0]


def _check_tiles(kernel: ir.Kernel, plan: PipelinePlan, loads, gemms: list[ir.Gemm]) -> None:
    tiles = set(plan.buffers)
    operands = [r.buffer.name for g in gemms for r in (g.a, g.b)]
    counts = uses(kernel.body)
    for n in ir.walk(kernel.body):
        if isinstance(n, ir.Alloc) and n.buffer.scope == "shared" and n.buffer.name not in tiles:
            raise _No(f"{n.buffer.name} is a shared tile that the loop does not load")
    for name in tiles:
        filled = sum(1 for s in loads if isinstance(s, ir.Copy) and s.dst.buffer.name == name)
        if counts[name] != 1 + filled + operands.count(name):
            raise _No(f"{name} is read by something else than a product")


def _check_rest(kernel: ir.Kernel, loop: ir.For, plan: PipelinePlan) -> None:
    """Nothing else needs a barrier of the block, whose threads go separate ways."""
    for n in ir.walk(kernel.body):
        if isinstance(n, _ALONE) or isinstance(n, ir.Reduce) and n.dim != len(n.src.buffer.shape) - 1:
            raise _No(f"{type(n).__name__} needs all threads of the block")
        if isinstance(n, ir.Raw):
            raise _No("text of the target's own language")
    counts = uses(kernel.body)
    for name, loads in uses(tuple(s.src for s in loop.body[:plan.ahead] if isinstance(s, ir.Copy))).items():
        if counts[name] != loads:
            raise _No(f"{name} is also read without the copy engine")


def _helper(planner: Planner, gemm: ir.Gemm, groups: int, rest, plan: PipelinePlan) -> str:
    """The device function of a product."""
    if not any(gemm is n for n in ir.walk(rest)):
        raise _No("a product stands outside of the pipelined loop")
    if not {gemm.a.buffer.name, gemm.b.buffer.name} <= set(plan.buffers):
        raise _No("an operand of a product is not loaded by the loop")
    a, b, c = (r.buffer.dtype for r in (gemm.a, gemm.b, gemm.c))
    rows, cols = (planner.value(gemm.c.extents[d]) or 0 for d in (-2, -1))
    depth = planner.value(gemm.a.extents[-2 if gemm.transpose_a else -1]) or 0
    helper = wgmma_helper(cols, a, b, c)
    if not helper:
        raise _No(f"wgmma has no product of {cols} columns of {a} into {c} here")
    if rows % (WGMMA_ROWS * groups):
        raise _No(f"{rows} rows are not made of {WGMMA_ROWS} for each of {groups} warpgroups")
    if depth % (WGMMA_DEPTH_BYTES // a.bytes):
        raise _No(f"a depth of {depth} is not made of steps of {WGMMA_DEPTH_BYTES // a.bytes}")
    for region in (gemm.a, gemm.b):
        whole = (ir.Const(1), *region.buffer.shape[1:])
        if tuple(region.extents) != whole or any(o != ir.Const(0) for o in region.offsets[1:]):
            raise _No(f"a product reads a part of {region.buffer.name}")
    if len(gemm.c.extents) != 2 or tuple(gemm.c.extents) != tuple(gemm.c.buffer.shape):
        raise _No(f"a product fills a part of {gemm.c.buffer.name}")
    return helper


def _names(kernel: ir.Kernel, loop: ir.For, loads) -> tuple[ir.Let, ...]:
    """The names of the kernel that the loads need, in order; they are computed before the threads part."""
    own = {s.var.name for s in loads if isinstance(s, ir.Let)}
    needed = arith.names((loop.start, loop.stop, *(s.value if isinstance(s, ir.Let) else s for s in loads))) - own
    lets: list[ir.Let] = []
    for s in reversed(kernel.body[:kernel.body.index(loop)]):
        if isinstance(s, ir.Let) and s.var.name in needed:
            if any(isinstance(n, ir.Load) and n.buffer.scope != "global" for n in ir.walk(s.value)):
                raise _No(f"the loads need {s.var.name}, which the threads compute")
            lets.insert(0, s)
            needed |= arith.names(s.value)
    known = {v.name for v in (*kernel.block_vars, *kernel.sizes, loop.var)} | {k.name for k in kernel.knobs}
    known |= {p.name for p in kernel.params} | {c.name for c in kernel.plan.constants} | {loop.plan.stage.name}
    unknown = needed - known - {x.var.name for x in lets}
    if unknown:
        raise _No(f"the loads need {sorted(unknown)[0]}, which the threads compute")
    return tuple(lets)


# ---- The kernel with two kinds of threads ------------------------------------------------------------
def _planned(planner: Planner, parts: _Parts) -> ir.Kernel:
    kernel, loop = planner.kernel, parts.loop
    plan: PipelinePlan = loop.plan
    tiles = {n.buffer.name: EngineTile(**vars(n.buffer)) for n in ir.walk(kernel.body)
             if isinstance(n, ir.Alloc) and n.buffer.name in plan.buffers}
    full, empty = (ir.Buffer(planner.fresh(n, f"{loop.var.name}_{n}"), (plan.stages,), uint64, "shared")
                   for n in ("full", "empty"))
    maps: dict[str, TensorMapPlan] = {}
    loads = tuple(load_plan(planner, s, tiles[s.dst.buffer.name], plan, full, maps)
                  if isinstance(s, ir.Copy) else s for s in parts.loads)
    values = {"full": full, "empty": empty, "registers": _registers(planner, parts.groups),
              "tiles": [s.dst.buffer for s in parts.loads if isinstance(s, ir.Copy)]}

    def rule(node):
        if isinstance(node, ir.Gemm):
            return replace(node, plan=_choice(planner, node, parts))
        return None
    consumer = replace(loop, body=ir.rewrite(parts.rest, rule), plan=replace(
        plan, producers=0, template="pipeline_engine", engine=values,
        reason=f"the copy engine loads {', '.join(plan.buffers)} up to STAGES steps ahead, for one thread of a "
        "warpgroup of its own; barriers in shared memory say when a stage is full and when it is free"))
    producer = Producer(replace(loop, body=loads, plan=consumer.plan))
    body = [ir.Alloc(full), ir.Alloc(empty), *parts.before, producer]
    notes = [("warpgroups", f"{parts.groups} multiply, one loads")]
    sums = {g.c.buffer.name for g in parts.helpers}
    for s in (s for s in kernel.body if not any(s is x for x in parts.before)):
        stores = _stores(planner, s, sums, maps, notes) if isinstance(s, ir.Copy) else ()
        body += stores or (consumer if s is loop else s,)
    body = ir.rewrite(tuple(body), lambda n: tiles.get(n.name) if type(n) is ir.Buffer else None)
    kernel = planner.finish(body, notes=(*kernel.plan.notes, *notes), maps=maps, loaders="LOADERS")
    return replace(kernel, requires=(*kernel.requires, *_requirements(planner, maps)))


def _stores(planner: Planner, copy: ir.Copy, sums: set[str], maps, notes) -> tuple[ir.Stmt, ...]:
    """A copy of an accumulator to global memory by the copy engine; () for another one."""
    if copy.src.buffer.name not in sums or copy.dst.buffer.scope != "global":
        return ()
    if reason := why_no_store(planner, copy):
        notes.append((f"stores to {copy.dst.buffer.name}", f"by the threads: {reason}"))
        return ()
    return store_plan(planner, copy, maps)


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


def _choice(planner: Planner, gemm: ir.Gemm, parts: _Parts) -> WgmmaChoice:
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
