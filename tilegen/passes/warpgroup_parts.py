"""The pieces of a kernel whose products warpgroups can make, or why they cannot."""

from __future__ import annotations

from dataclasses import dataclass

from tilegen import arith, ir
from tilegen.passes.engine_copies import why_boxes_differ, why_no_engine
from tilegen.passes.operand_rings import Operands, operands_of
from tilegen.passes.pipeline_loads import uses
from tilegen.passes.planner import Planner
from tilegen.plan import PipelinePlan
from tilegen.wgmma import WGMMA_DEPTH_BYTES, WGMMA_ROWS, turns, wgmma_helper

GROUP = 128                                     # threads of a warpgroup
_ALONE = (ir.Vote, ir.Scan, ir.Finalize, ir.Atomic, ir.Sync, ir.Print)


class NoWarpgroups(Exception):
    """Why a kernel has no use for warpgroups."""


@dataclass
class Parts:
    """The pieces of a kernel that can have warpgroups."""

    loop: ir.For
    loads: tuple[ir.Stmt, ...]
    rest: tuple[ir.Stmt, ...]
    before: tuple[ir.Let, ...]                  # names that the loads need
    helpers: dict[ir.Gemm, str]
    groups: int                                 # computing warpgroups
    around: ir.For | None                       # the kernel's own loop over tiles
    inner: tuple[ir.Stmt, ...]                  # the statements beside the pipelined loop
    once: tuple[ir.Copy, ...]                   # loads of tiles that all steps of the loop read
    operands: tuple[Operands, ...]              # what the loop loads, by the products that use it

    @staticmethod
    def of(planner: Planner, gemms: list[ir.Gemm]) -> Parts:
        """The parts; raises NoWarpgroups with a reason."""
        kernel = planner.kernel
        loop, around = the_loop(kernel)
        inner = around.body if around else kernel.body
        plan: PipelinePlan = loop.plan
        loads, rest = loop.body[:plan.ahead], loop.body[plan.ahead:]
        if any(not isinstance(s, (ir.Copy, ir.Let)) for s in loads):
            raise NoWarpgroups("loads under a condition")
        once = once_loads(inner[:inner.index(loop)], plan, gemms)
        copies = [s for s in (*loads, *once) if isinstance(s, ir.Copy)]
        for copy in copies:
            if reason := why_no_engine(planner, copy):
                raise NoWarpgroups(reason)
        if reason := why_boxes_differ(copies):
            raise NoWarpgroups(reason)
        _check_tiles(kernel, copies, gemms)
        check_rest(kernel, copies)
        threads = planner.value(arith.product(kernel.threads)) or 0
        if threads % GROUP or threads not in (GROUP, 2 * GROUP, 3 * GROUP):
            raise NoWarpgroups(f"{threads} threads are not 1 to 3 warpgroups of {GROUP}")
        tiles = {copy.dst.buffer.name for copy in copies}
        helpers = {g: _helper(planner, g, threads // GROUP, rest, tiles) for g in gemms}
        before = names_needed(kernel, loop, (*once, *loads), around, inner)
        return Parts(loop, loads, rest, before, helpers, threads // GROUP, around, inner, once,
                     operands_of(loads, rest))

    def ring(self, planner: Planner) -> int:
        """Bytes of the tiles that the loop loads, and of their barriers."""
        stages = planner.value(self.loop.plan.stages) or 0
        tiles = {s.dst.buffer.name: s.dst.buffer for s in (*self.loads, *self.once) if isinstance(s, ir.Copy)}
        return sum((planner.value(arith.product(b.shape)) or 0) * b.dtype.bytes for b in tiles.values()) + \
            32 * stages * len(self.operands)

    def sums(self, planner: Planner) -> int:
        """Registers of a thread for all accumulators."""
        return sum(self.registers(planner, b) for b in {g.c.buffer.name: g.c.buffer for g in self.helpers}.values())

    def fragments(self, planner: Planner) -> int:
        """About the registers of a thread for all fragments. One of a row is with every thread that has its columns, a
        quarter of them in the arrangement of wgmma."""
        columns = {g.c.buffer.shape[-1] for g in self.helpers}
        total = 0
        for n in ir.walk(planner.kernel.body):
            if isinstance(n, ir.Alloc) and n.buffer.scope == "fragment":
                size = planner.value(arith.product(n.buffer.shape)) or 0
                share = GROUP * self.groups if len(n.buffer.shape) > 1 else GROUP * self.groups // 4
                total += size // (4 if len(n.buffer.shape) == 1 and n.buffer.shape[0] in columns else share)
        return total

    def registers(self, planner: Planner, buffer: ir.Buffer) -> int:
        """Registers of a thread for one of them."""
        return (planner.value(arith.product(buffer.shape)) or 0) // (GROUP * self.groups)


def the_loop(kernel: ir.Kernel) -> tuple[ir.For, ir.For | None]:
    """The pipelined loop, and the kernel's own loop over tiles around it."""
    loops = [n for n in ir.walk(kernel.body) if isinstance(n, ir.For) and n.kind == "pipelined"]
    around = next((s for s in kernel.body if isinstance(s, ir.For) and s.kind == "persistent"), None)
    if len(loops) != 1 or loops[0] not in (around.body if around else kernel.body):
        raise NoWarpgroups("it takes one pipelined loop, which is not inside of another statement than T.Persistent")
    if not isinstance(loops[0].plan, PipelinePlan) or loops[0].plan.template != "pipeline" or loops[0].plan.sync:
        raise NoWarpgroups("the loads of the pipelined loop do not run ahead")
    return loops[0], around


def once_loads(before: tuple[ir.Stmt, ...], plan: PipelinePlan, gemms: list[ir.Gemm]) -> tuple[ir.Copy, ...]:
    """The loads before the loop into shared tiles that products in it read."""
    read = {r.buffer.name for g in gemms for r in (g.a, g.b)} - set(plan.buffers)
    return tuple(s for s in before if isinstance(s, ir.Copy) and s.dst.buffer.name in read
                 and (s.src.buffer.scope, s.dst.buffer.scope) == ("global", "shared"))


def _check_tiles(kernel: ir.Kernel, copies: list[ir.Copy], gemms: list[ir.Gemm]) -> None:
    loaded = [copy.dst.buffer.name for copy in copies]
    operands = [r.buffer.name for g in gemms for r in (g.a, g.b)]
    counts = uses(kernel.body)
    for n in ir.walk(kernel.body):
        if isinstance(n, ir.Alloc) and n.buffer.scope == "shared" and n.buffer.name not in loaded:
            raise NoWarpgroups(f"{n.buffer.name} is a shared tile that is not loaded for products")
    for name in loaded:
        if counts[name] != 1 + loaded.count(name) + operands.count(name):
            raise NoWarpgroups(f"{name} is read by something else than a product")


def check_rest(kernel: ir.Kernel, copies: list[ir.Copy]) -> None:
    """Nothing else needs a barrier of the block, whose threads go separate ways."""
    for n in ir.walk(kernel.body):
        if isinstance(n, _ALONE) or isinstance(n, ir.Reduce) and n.dim != len(n.src.buffer.shape) - 1:
            raise NoWarpgroups(f"{type(n).__name__} needs all threads of the block")
        if isinstance(n, ir.Raw):
            raise NoWarpgroups("text of the target's own language")
    counts = uses(kernel.body)
    for name, loads in uses(tuple(copy.src for copy in copies)).items():
        if counts[name] != loads:
            raise NoWarpgroups(f"{name} is also read without the copy engine")


def _helper(planner: Planner, gemm: ir.Gemm, groups: int, rest, tiles: set[str]) -> str:
    """The device function of a product."""
    if not any(gemm is n for n in ir.walk(rest)):
        raise NoWarpgroups("a product stands outside of the pipelined loop")
    shared = [region for region in (gemm.a, gemm.b) if region.buffer.scope == "shared"]
    if gemm.b not in shared or gemm.a not in shared and not gemm.plan.a_in_registers or \
            not {region.buffer.name for region in shared} <= tiles:
        raise NoWarpgroups("an operand of a product is not loaded for it")
    a, b, c = (r.buffer.dtype for r in (gemm.a, gemm.b, gemm.c))
    rows, cols = (planner.value(gemm.c.extents[d]) or 0 for d in (-2, -1))
    depth = planner.value(gemm.a.extents[-2 if gemm.transpose_a else -1]) or 0
    helper = wgmma_helper(cols, a, b, c)
    if not helper:
        raise NoWarpgroups(f"wgmma has no product of {cols} columns of {a} into {c} here")
    if not turns(a) and (gemm.transpose_a or not gemm.transpose_b or len(shared) < 2):
        raise NoWarpgroups(f"wgmma takes operands of {a} from shared memory alone, with rows along the depth")
    if rows % (WGMMA_ROWS * groups):
        raise NoWarpgroups(f"{rows} rows are not made of {WGMMA_ROWS} for each of {groups} warpgroups")
    if depth % (WGMMA_DEPTH_BYTES // a.bytes):
        raise NoWarpgroups(f"a depth of {depth} is not made of steps of {WGMMA_DEPTH_BYTES // a.bytes}")
    for region in (gemm.a, gemm.b):
        whole = region.buffer.shape if len(region.extents) == 2 else (ir.Const(1), *region.buffer.shape[1:])
        if tuple(region.extents) != whole or any(o != ir.Const(0) for o in region.offsets[-2:]):
            raise NoWarpgroups(f"a product reads a part of {region.buffer.name}")
    if len(gemm.c.extents) != 2 or tuple(gemm.c.extents) != tuple(gemm.c.buffer.shape):
        raise NoWarpgroups(f"a product fills a part of {gemm.c.buffer.name}")
    return helper


def names_needed(kernel: ir.Kernel, loop: ir.For, loads, around: ir.For | None, inner) -> tuple[ir.Let, ...]:
    """The names of the kernel that the loads need, in order."""
    own = {s.var.name for s in loads if isinstance(s, ir.Let)}
    needed = arith.names((loop.start, loop.stop, *(s.value if isinstance(s, ir.Let) else s for s in loads))) - own
    if around:
        needed |= arith.names((around.start, around.stop, around.step))
    lets: list[ir.Let] = []
    outside = kernel.body[:kernel.body.index(around)] if around else ()
    for s in reversed((*outside, *inner[:inner.index(loop)])):
        if isinstance(s, ir.Let) and s.var.name in needed:
            if any(isinstance(n, ir.Load) and n.buffer.scope != "global" for n in ir.walk(s.value)):
                raise NoWarpgroups(f"the loads need {s.var.name}, which the threads compute")
            lets.insert(0, s)
            needed |= arith.names(s.value)
    known = {v.name for v in (*kernel.block_vars, *kernel.sizes, loop.var)} | {k.name for k in kernel.knobs}
    known |= {p.name for p in kernel.params} | {c.name for c in kernel.plan.constants} | {loop.plan.stage.name}
    known |= {around.var.name} if around else set()
    unknown = needed - known - {x.var.name for x in lets}
    if unknown:
        raise NoWarpgroups(f"the loads need {sorted(unknown)[0]}, which the threads compute")
    return tuple(lets)
