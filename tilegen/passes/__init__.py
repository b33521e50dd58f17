"""The passes, in order: each a pure function (Kernel, Target) -> Kernel, one a file."""

from __future__ import annotations

from collections.abc import Callable

from tilegen import ir
from tilegen.launches import each_launch
from tilegen.passes.bind_threads import bind_threads
from tilegen.passes.check_complete import check_complete
from tilegen.passes.choose_instructions import choose_instructions
from tilegen.passes.cpu_layouts import cpu_layouts
from tilegen.passes.cpu_statements import cpu_statements
from tilegen.passes.defer_sums import defer_sums
from tilegen.passes.expand_prints import expand_prints
from tilegen.passes.find_gathers import find_gathers
from tilegen.passes.hoist_operands import hoist_operands
from tilegen.passes.infer_layouts import infer_layouts
from tilegen.passes.insert_barriers import insert_barriers
from tilegen.passes.late_loads import late_loads
from tilegen.passes.name_offsets import name_offsets
from tilegen.passes.order_blocks import order_blocks
from tilegen.passes.order_pipelines import order_pipelines
from tilegen.passes.pack_products import pack_products
from tilegen.passes.pad_shared import pad_shared
from tilegen.passes.place_annotated import place_annotated
from tilegen.passes.place_shared import place_shared
from tilegen.passes.plan_atomics import plan_atomics
from tilegen.passes.plan_copies import plan_copies
from tilegen.passes.plan_engine import plan_engine
from tilegen.passes.plan_fills import plan_fills
from tilegen.passes.plan_gathers import plan_gathers
from tilegen.passes.plan_gemm import plan_gemm
from tilegen.passes.plan_mma import plan_mma
from tilegen.passes.plan_occupancy import plan_occupancy
from tilegen.passes.plan_parallel import plan_parallel
from tilegen.passes.plan_pipeline import plan_pipeline
from tilegen.passes.plan_reduce import plan_reduce
from tilegen.passes.plan_reducers import plan_reducers
from tilegen.passes.plan_scan import plan_scan
from tilegen.passes.plan_stmatrix import plan_stmatrix
from tilegen.passes.plan_storage import plan_storage
from tilegen.passes.plan_syncs import plan_syncs
from tilegen.passes.plan_votes import plan_votes
from tilegen.passes.plan_warpgroups import plan_warpgroups
from tilegen.passes.route_fragments import route_fragments
from tilegen.passes.share_places import share_places
from tilegen.passes.simplify import simplify
from tilegen.passes.single_elements import single_elements
from tilegen.passes.spare_registers import spare_registers
from tilegen.passes.stage_operands import stage_operands
from tilegen.passes.stage_reductions import stage_reductions
from tilegen.targets.base import Target

Pass = Callable[[ir.Kernel, Target], ir.Kernel]

PIPELINES: dict[str, tuple[Pass, ...]] = {
    "gpu": (simplify, bind_threads, order_pipelines, name_offsets, expand_prints, single_elements,
            plan_reducers, stage_reductions, place_annotated, route_fragments, pack_products, choose_instructions,
            stage_operands, find_gathers, plan_pipeline, plan_warpgroups, plan_engine, late_loads, infer_layouts,
            pad_shared, plan_stmatrix, plan_gathers, plan_copies, plan_fills, plan_atomics, plan_parallel, plan_mma,
            hoist_operands, spare_registers, plan_gemm, defer_sums, plan_reduce, plan_scan, plan_votes, plan_storage,
            plan_syncs, share_places, insert_barriers, place_shared, plan_occupancy, order_blocks,
            check_complete),
    "cpu": (simplify, name_offsets, plan_reducers, cpu_layouts, cpu_statements, order_blocks),
}


def run(kernel: ir.Kernel, target: Target, stop_after: str | None = None) -> ir.Kernel:
    """The kernel after the passes of the target's family, or after the one named `stop_after`; each of its
    launches is planned by itself."""
    def planned(launch: ir.Kernel) -> ir.Kernel:
        for step in PIPELINES[target.family]:
            launch = step(launch, target)
            if step.__name__ == stop_after:
                break
        return launch
    return each_launch(kernel, planned)
