"""plan_scan: running sums and maxima: along the runs of each thread, then across the threads of a row.

Precondition: source and result are fragments of one layout. Effect: each Scan has an OpPlan. A thread
holds runs of neighbouring elements, which alternate with those of the other threads: run by run it
combines its own elements, learns from the threads before it where its run starts, and writes it.
Before: T.cumsum(X_local, dim=1)
After:  for r: { carry = 0; for each run: { partial = its sum; running = sum_before_in_warp(partial, carry); ... } }
"""

from __future__ import annotations

from dataclasses import replace

from tilegen import arith, ir
from tilegen.dtypes import DType, int32
from tilegen.layout import Axis, thread_name
from tilegen.passes.plan_reduce import identity, scratch_room
from tilegen.passes.planner import THREAD, Planner, coordinate, unit
from tilegen.plan import Loop, OpPlan
from tilegen.targets.base import Target


def plan_scan(kernel: ir.Kernel, target: Target) -> ir.Kernel:
    planner = Planner(kernel, target)
    scratch = dict(kernel.plan.scratch)
    body = ir.rewrite(
        kernel.body, lambda n: replace(n, plan=_scan(planner, n, scratch)) if isinstance(n, ir.Scan) else None)
    return planner.finish(body, scratch=tuple(scratch.items()))


def _scan(planner: Planner, scan: ir.Scan, scratch) -> OpPlan:
    axes = planner.layout(scan.src.buffer).axes
    names = planner.slot_names(axes, set())
    slot = dict(zip([d for d, a in enumerate(axes) if not unit(a)], names))
    dtype = scan.dst.buffer.dtype.compute
    axis = axes[scan.dim]
    index: list[ir.Expr] = [ir.Var(slot[d], kind="loop") if d in slot else ir.Const(0) for d in range(len(axes))]
    runs = [] if unit(axis) else [_loop(planner.slot_loop(axis, slot[scan.dim]), scan.reverse)]
    inner: list[Loop] = []
    if axis.threads > 1 and axis.vector > 1:
        width = ir.Var(axis.vector_name, kind="knob")
        runs = [_loop(planner.slot_loop(axis, slot[scan.dim], width), scan.reverse)]
        within = ir.Var(planner.fresh("v", "within_run", used=set(names)), kind="loop")
        inner = [_loop(Loop(within, ir.Const(0), width, ir.Const(1), unroll=True), scan.reverse)]
        index[scan.dim] = arith.add(index[scan.dim], within)
    element: ir.Expr = ir.Load(scan.src.buffer, tuple(index))
    if axis.padded:
        inside = arith.less(coordinate(axis, index[scan.dim]), scan.src.extents[scan.dim])
        element = ir.Select(inside, element, identity(scan.op, dtype), dtype)
    running = ir.Var(planner.fresh("running", "running_value"), dtype)
    values = {
        "kept": [planner.slot_loop(axes[d], name) for d, name in slot.items() if d != scan.dim],
        "runs": runs,
        "identity": identity(scan.op, dtype),
        "dtype": dtype,
        "running": running,
        "update": _combine(scan.op, running, element, dtype),
        "result": ir.Load(scan.dst.buffer, tuple(index)),
    }
    if axis.threads == 1:
        return OpPlan("scan", values, "each thread holds the whole dimension")
    partial, carry = ir.Var(planner.fresh("partial", "partial_result"), dtype), ir.Var(planner.fresh("carry"), dtype)
    start, why = _before(planner, scan, axis, (partial, carry), dtype, scratch)
    values |= {"inner": inner, "partial": partial, "carry": carry, "start": start,
               "partial_update": _combine(scan.op, partial, element, dtype)}
    return OpPlan("scan_across", values, why)


def _combine(op: str, a: ir.Expr, b: ir.Expr, dtype: DType) -> ir.Expr:
    return ir.BinOp({"sum": "+"}.get(op, op), a, b, dtype)


def _loop(loop: Loop, reverse: bool) -> Loop:
    """The loop, or the same values from the last to the first."""
    if not reverse:
        return loop
    return replace(loop, start=arith.subtract(loop.stop, loop.step), stop=ir.Const(-1),
                   step=ir.UnOp("-", loop.step, int32))


def _before(planner: Planner, scan: ir.Scan, axis: Axis, operands: tuple[ir.Expr, ...], dtype: DType, scratch):
    """(where a thread's run starts, how the threads along the axis find that out)."""
    verb, backward = scan.op, ", true" if scan.reverse else ""
    power = axis.threads & (axis.threads - 1) == 0
    in_order = axis.digit != "m" and not axis.arrangement          # neighbours in one warp
    if in_order and power and axis.threads <= planner.target.warp_size:
        call = ir.Call(f"device:{verb}_before_in_warp<{axis.count_name}{backward}>", operands, dtype)
        return call, f"the {axis.threads} threads of a row exchange values inside their warp"
    room = ir.Var(scratch_room(planner, dtype, scratch), dtype)
    if in_order and axis.threads % planner.target.warp_size == 0:
        call = ir.Call(f"device:{verb}_before_across_warps<{axis.count_name}{backward}>", (*operands, room), dtype)
        return call, f"{axis.threads} threads share a row: by warp, then through shared memory"
    call = ir.Call(f"device:{verb}_before_across_threads<{axis.count_name}{backward}>",
                   (*operands, room, *_places(axis)), dtype)
    return call, f"{axis.threads} threads that are no neighbours in a warp hold parts: through shared memory"


def _places(axis: Axis) -> tuple[ir.Expr, ir.Expr, ir.Expr]:
    """Where the values of the threads along the axis lie in shared memory: the first, how far apart they
    are, and the number of this thread among them."""
    count, fast = ir.Var(axis.count_name, kind="knob"), ir.Var(axis.fast_name, kind="knob")
    if axis.digit == "all":
        return ir.Const(0), ir.Const(1), THREAD
    if axis.arrangement:
        m, n = (ir.Call(f"device:{thread_name(axis, digit)}", (), int32) for digit in "mn")
    else:
        m, n = arith.divide(THREAD, fast), arith.modulo(THREAD, fast)
    return (n, fast, m) if axis.digit == "m" else (arith.multiply(m, count), ir.Const(1), n)
