"""The pieces of a kernel whose loads the copy engine can make for products of warps, or why it cannot."""

from __future__ import annotations

from dataclasses import dataclass

from tilegen import arith, ir
from tilegen.passes.engine_copies import why_boxes_differ, why_no_engine
from tilegen.passes.layout_relations import collect_classes, number_nests
from tilegen.passes.pipeline_loads import uses
from tilegen.passes.planner import Planner
from tilegen.passes.shared_accesses import operand_access, passes
from tilegen.passes.warpgroup_parts import NoWarpgroups, check_rest, names_needed, once_loads, the_loop
from tilegen.plan import EngineTile, MmaChoice, PipelinePlan

_ALIGNED = 1024                                 # bytes that a tile of the engine starts at a multiple of


class NoEngine(NoWarpgroups):
    """Why the threads load the tiles themselves."""


@dataclass
class EngineParts:
    """The pieces of a kernel whose pipelined loop can have its tiles loaded by the copy engine."""

    loop: ir.For
    loads: tuple[ir.Stmt, ...]
    rest: tuple[ir.Stmt, ...]
    before: tuple[ir.Let, ...]                  # names that the loads need
    around: ir.For | None                       # the kernel's own loop over tiles
    once: tuple[ir.Copy, ...]                   # loads of tiles that all steps of the loop read

    @staticmethod
    def of(planner: Planner, gemms: list[ir.Gemm]) -> EngineParts:
        """The parts; raises NoWarpgroups or NoEngine with a reason."""
        kernel = planner.kernel
        loop, around = the_loop(kernel)
        inner = around.body if around else kernel.body
        plan: PipelinePlan = loop.plan
        loads, rest = loop.body[:plan.ahead], loop.body[plan.ahead:]
        if any(not isinstance(s, (ir.Copy, ir.Let)) for s in loads):
            raise NoEngine("loads under a condition")
        copies = [s for s in loads if isinstance(s, ir.Copy)]
        once = tuple(s for s in once_loads(inner[:inner.index(loop)], plan, gemms)
                     if not why_no_engine(planner, s) and not why_boxes_differ([*copies, s])
                     and not _other_reader(kernel, s.dst.buffer.name, [s], gemms))
        _check_loads(planner, copies, gemms)
        check_rest(kernel, [*copies, *once])
        _check_reductions(kernel)
        for gemm in gemms:
            _check_reads(planner, gemm, {s.dst.buffer.name for s in (*copies, *once)})
        _check_room(planner, {s.dst.buffer.name for s in (*copies, *once)}, plan)
        return EngineParts(loop, loads, rest, names_needed(kernel, loop, (*once, *loads), around, inner), around, once)


def _check_loads(planner: Planner, copies: list[ir.Copy], gemms: list[ir.Gemm]) -> None:
    for copy in copies:
        if reason := why_no_engine(planner, copy):
            raise NoEngine(reason)
    if reason := why_boxes_differ(copies):
        raise NoEngine(reason)
    for name in (copy.dst.buffer.name for copy in copies):
        if _other_reader(planner.kernel, name, copies, gemms):
            raise NoEngine(f"{name} is read by something else than a product")


def _other_reader(kernel: ir.Kernel, name: str, copies: list[ir.Copy], gemms: list[ir.Gemm]) -> bool:
    """Whether anything but products uses a tile that these copies fill."""
    operands = [r.buffer.name for g in gemms for r in (g.a, g.b)]
    loaded = [copy.dst.buffer.name for copy in copies]
    return uses(kernel.body)[name] != 1 + loaded.count(name) + operands.count(name)


def _check_reductions(kernel: ir.Kernel) -> None:
    """Rows are summed inside of a warp: through shared memory it would take a barrier of the whole block."""
    within = {b.name for members in collect_classes(number_nests(kernel)).components() for b in members.buffers
              if any(isinstance(g.plan, MmaChoice) and g.plan.warps_n == 1 for g in members.gemms)}
    for n in ir.walk(kernel.body):
        if isinstance(n, ir.Reduce) and n.src.buffer.name not in within:
            raise NoEngine(f"a row of {n.src.buffer.name} is not certain to be in one warp when it is reduced")


def _check_reads(planner: Planner, gemm: ir.Gemm, tiles: set[str]) -> None:
    """Every operand that the engine brings is read without conflicts of banks, in the order that it has."""
    if not isinstance(gemm.plan, MmaChoice):
        raise NoEngine(f"the product into {gemm.c.buffer.name} has no matrix instruction")
    sides = (gemm.a, gemm.plan.a_form, gemm.transpose_a), (gemm.b, gemm.plan.b_form, not gemm.transpose_b)
    for region, form, k_first in sides:
        if region.buffer.name not in tiles:
            continue
        if form == "column" and region.buffer.dtype.bytes < 4:
            raise NoEngine(f"{region.buffer.name} is gathered by columns, which the engine's order of pieces breaks up")
        tile = EngineTile(**vars(region.buffer))
        lead = (0,) * (len(tile.shape) - 2)
        if (count := passes(planner, operand_access(form, k_first, lead, tile), tile)) > 1:
            raise NoEngine(f"{region.buffer.name} would be read in {count} passes in the engine's order")


def _check_room(planner: Planner, tiles: set[str], plan: PipelinePlan) -> None:
    """That the tiles still fit when those of the engine start at multiples of 1024 bytes and have barriers."""
    total = 16 * (planner.value(plan.stages) or 0) + 16
    for n in ir.walk(planner.kernel.body):
        if isinstance(n, ir.Alloc) and n.buffer.scope == "shared" and not isinstance(n.buffer, ir.Alias):
            size = (planner.value(arith.product(n.buffer.shape)) or 0) * n.buffer.dtype.bytes
            total += -(-size // _ALIGNED) * _ALIGNED if n.buffer.name in tiles else -(-size // 16) * 16
    if -(-total // _ALIGNED) * _ALIGNED > planner.target.max_shared:
        raise NoEngine(f"{total} bytes of tiles and barriers do not fit in {planner.target.max_shared}")

