"""plan_reduce: a reduction inside each thread, then across the threads that share a row (or column).

Precondition: source and result are fragments. Effect: each Reduce has an OpPlan, and each Finalize a NestPlan.
Before: T.reduce_max(S_local, m_local, dim=1)
After:  for r: { partial = max over c of S_local[r][c]; m_local[r] = max_in_warp<THREADS_N>(partial) }
"""

from __future__ import annotations

from dataclasses import replace

from tilegen import arith, ir
from tilegen.dtypes import DType, int32
from tilegen.layout import Axis, FragmentLayout, thread_name
from tilegen.passes.planner import Planner, coordinate, memory_name, unit
from tilegen.plan import DeferredSum, KernelPlan, NestPlan, OpPlan
from tilegen.targets.base import Target

_ACROSS = {"sum": "sum", "abssum": "sum", "max": "max", "absmax": "max", "min": "min", "bitand": "bitand",
           "bitor": "bitor", "bitxor": "bitxor"}
_OPERATORS = {"sum": "+", "abssum": "+", "max": "max", "absmax": "max", "min": "min", "bitand": "&", "bitor": "|",
              "bitxor": "^"}


def plan_reduce(kernel: ir.Kernel, target: Target) -> ir.Kernel:
    planner = Planner(kernel, target)
    scratch: dict[str, tuple[DType, int]] = {}

    def attach(node):
        if isinstance(node, ir.Reduce):
            return replace(node, plan=_reduce(planner, node, scratch))
        return replace(node, plan=_finalize(planner, node, scratch)) if isinstance(node, ir.Finalize) else None

    kernel = planner.finish(ir.rewrite(kernel.body, attach))
    plan: KernelPlan = kernel.plan
    return replace(kernel, plan=replace(plan, scratch=tuple(scratch.items())))


def _reduce(planner: Planner, reduce: ir.Reduce, scratch) -> OpPlan:
    layout = planner.layout(reduce.src.buffer)
    axes = layout.axes
    kept = [d for d in range(len(axes)) if d != reduce.dim and not unit(axes[d])]
    names = planner.slot_names(tuple(a for a in axes), set())
    slot = dict(zip([d for d, a in enumerate(axes) if not unit(a)], names))
    index: list[ir.Expr] = [ir.Const(0)] * len(axes)
    for d, name in slot.items():
        index[d] = ir.Var(name, kind="loop")
    dtype = reduce.dst.buffer.dtype.compute
    partial = ir.Var(planner.fresh("partial", "partial_result"), dtype)
    element: ir.Expr = ir.Load(reduce.src.buffer, tuple(index))
    if reduce.op in ("absmax", "abssum"):
        element = ir.Call("abs", (element,), element.dtype.compute)
    axis = axes[reduce.dim]
    values = {
        "kept": [planner.slot_loop(axes[d], slot[d]) for d in kept],
        "along": [] if unit(axis) else [planner.slot_loop(axis, slot[reduce.dim])],
        "partial": partial,
        "identity": identity(reduce.op, dtype),
        "dtype": dtype,
        "update": _combine(reduce.op, partial, element, dtype),
        "guard": arith.less(coordinate(axis, index[reduce.dim]), reduce.src.extents[reduce.dim])
        if axis.padded
        else None,
        "result": _result(reduce, index),
        **_across(planner, reduce, axis, partial, dtype, scratch),
    }
    combined = values.pop("combined")
    values["stored"] = combined if reduce.clear else _combine(reduce.op, values["result"], combined, dtype)
    return OpPlan("reduce", values, values.pop("why"))


def _result(reduce: ir.Reduce, index: list[ir.Expr]) -> ir.Load:
    kept = [i for d, i in enumerate(index) if d != reduce.dim]
    if len(reduce.dst.buffer.shape) == len(index):
        kept.insert(reduce.dim, ir.Const(0))
    return ir.Load(reduce.dst.buffer, tuple(kept) or (ir.Const(0),))


def identity(op: str, dtype: DType) -> ir.Const:
    """The value that changes nothing."""
    if op == "bitand":
        return ir.Const(2 ** dtype.bits - 1 if dtype.kind == "uint" else -1, dtype)
    if op in ("sum", "abssum", "absmax", "bitor", "bitxor"):
        return ir.Const(0.0 if dtype.is_float else 0, dtype)
    if dtype.is_float:
        return ir.Const(float("-inf") if op == "max" else float("inf"), dtype)
    low = 0 if dtype.kind == "uint" else -(2 ** (dtype.bits - 1))
    high = 2 ** (dtype.bits - (dtype.kind != "uint")) - 1
    return ir.Const(low if op == "max" else high, dtype)


def _combine(op: str, a: ir.Expr, b: ir.Expr, dtype: DType) -> ir.Expr:
    return ir.BinOp(_OPERATORS[op], a, b, dtype)


def _across(planner: Planner, reduce: ir.Reduce, axis: Axis, partial: ir.Var, dtype: DType, scratch) -> dict:
    """How the partial results of the threads along the axis meet."""
    if isinstance(reduce.plan, DeferredSum):
        return {"combined": partial, "why": "each thread keeps its own part until the loop is over"}
    return meeting(planner, _ACROSS[reduce.op], axis, partial, dtype, scratch)


def meeting(planner: Planner, verb: str, axis: Axis, partial: ir.Expr, dtype: DType, scratch) -> dict:
    """`combined`: the values of the threads along an axis, combined, in each of them; and `why` it is done so."""
    if axis.threads == 1:
        return {"combined": partial, "why": "each thread holds the whole dimension"}
    power = axis.threads & (axis.threads - 1) == 0
    call = inside_warp(axis, verb, partial, dtype, planner.target.warp_size)
    if call is not None:
        return {"combined": call, "why": f"the {axis.threads} threads of a row exchange values inside their warp"}
    room = ir.Var(scratch_room(planner, dtype, scratch), dtype)
    if axis.digit == "m" and axis.arrangement:
        at = tuple(ir.Call(f"device:{thread_name(axis, digit)}", (), int32) for digit in "mn")
        name = f"device:{verb}_over_rows<{axis.count_name}, {axis.fast_name}>"
        return {"combined": ir.Call(name, (partial, room, *at), dtype),
                "why": f"{axis.threads} rows of threads hold parts of a column: through shared memory"}
    if axis.digit != "m" and power:
        call = ir.Call(f"device:{verb}_across_warps<{axis.count_name}>", (partial, room), dtype)
        return {"combined": call, "why": f"{axis.threads} threads share a row: by warp, then through shared memory"}
    stride = axis.fast_name if axis.digit == "m" else "1"
    call = ir.Call(f"device:{verb}_across_threads<{axis.count_name}, {stride}>", (partial, room), dtype)
    return {"combined": call, "why": f"{axis.threads} threads hold parts of a column: through shared memory"}


def _finalize(planner: Planner, node: ir.Finalize, scratch) -> NestPlan:
    """The contributions of the threads that hold the same elements meet, element by element."""
    source, result = node.src.buffer, node.dst.buffer
    layout = planner.layout(source)
    names = iter(planner.slot_names(layout.axes, set()))
    loops = [None if unit(axis) else planner.slot_loop(axis, next(names)) for axis in layout.axes]
    index = tuple(ir.Const(0) if loop is None else loop.var for loop in loops)
    met = meeting(planner, node.op, _sharing(planner, layout), ir.Load(source, index), source.dtype.compute, scratch)
    body = (ir.Store(result, index, met["combined"]),)
    return NestPlan(tuple(loop for loop in loops if loop), body, reason=met["why"])


def _sharing(planner: Planner, layout: FragmentLayout) -> Axis:
    """The threads that hold the same elements of a fragment, as an axis of their numbers."""
    digits = {axis.digit for axis in layout.axes}
    spread = next((axis for axis in layout.axes if axis.digit), None)
    if "all" in digits or {"m", "n"} <= digits:
        return Axis("", "", 1, "", 1)
    if spread is None:
        return Axis("", "", planner.threads, "all", planner.threads, count_name="THREADS")
    other = "m" if "n" in digits else "n"
    count = layout.threads_m if other == "m" else layout.threads_n
    rows = spread.fast_name.replace("_N", "_M", 1)
    return Axis("", "", count, other, count, count_name=rows if other == "m" else spread.fast_name,
                fast_name=spread.fast_name, arrangement=spread.arrangement, warps_name=spread.warps_name)


def inside_warp(axis: Axis, verb: str, value: ir.Expr, dtype: DType, lanes: int) -> ir.Call | None:
    """`value` of all threads along an axis, combined inside of warps of so many lanes; None where one warp does not
    hold them all."""
    if axis.digit == "m" or axis.threads == 1 or axis.threads & (axis.threads - 1) or axis.threads > lanes:
        return None
    quads = axis.arrangement == "quad" and axis.digit == "n" and axis.threads == 4
    name = f"{verb}_over_quads" if quads else f"{verb}_in_warp<{axis.count_name}>"
    return ir.Call(f"device:{name}", (value,), dtype)


def scratch_room(planner: Planner, dtype: DType, scratch) -> str:
    """The member of Smem for values of `dtype` on their way between threads."""
    if dtype.name not in scratch:
        wanted = ("scratch", f"scratch_{dtype.name}") if not scratch else (f"scratch_{dtype.name}",)
        scratch[dtype.name] = (f"{memory_name(planner.kernel)}.{planner.fresh(*wanted)}", planner.threads)
    return scratch[dtype.name][0]
