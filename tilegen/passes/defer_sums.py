"""defer_sums: running sums that the threads of a row complete once, after the loop.

Precondition: layouts inferred. Effect: a sum over a dimension that several lanes share, which a loop only adds
to a running sum, gets the plan DeferredSum: each thread keeps the sum of its own elements, and a Nest after the
loop adds those of the lanes. That needs a running sum that starts at 0, that the loop changes by
x = x * factor + sum alone, and that nothing else in the loop reads.
Before: for kb: { T.reduce_sum(S, part, dim=1); for i: total[i] = total[i] * factor[i] + part[i] }
After:  the same without shuffles in the loop; for r: total[r] = sum_in_warp<THREADS_N>(total[r]) behind it
"""

from __future__ import annotations

from dataclasses import replace

from tilegen import ir
from tilegen.layout import Axis
from tilegen.passes.plan_reduce import inside_warp
from tilegen.passes.planner import Planner, unit
from tilegen.plan import DeferredSum, Nest, NestPlan
from tilegen.targets.base import Target

_WHY = "each thread has the sum of its own columns until here; the threads of a row meet once"


def defer_sums(kernel: ir.Kernel, target: Target) -> ir.Kernel:
    planner = Planner(kernel, target)
    return planner.finish(_sequence(planner, kernel.body))


def _sequence(planner: Planner, statements: tuple[ir.Stmt, ...]) -> tuple[ir.Stmt, ...]:
    result: list[ir.Stmt] = []
    for s in statements:
        if isinstance(s, ir.For):
            s, meetings = _loop(planner, replace(s, body=_sequence(planner, s.body)), result)
            result += [s, *meetings]
        elif isinstance(s, ir.If):
            result.append(replace(s, then=_sequence(planner, s.then), otherwise=_sequence(planner, s.otherwise)))
        else:
            result.append(s)
    return tuple(result)


def _loop(planner: Planner, loop: ir.For, before: list[ir.Stmt]) -> tuple[ir.For, list[ir.Stmt]]:
    """The loop with its sums deferred, and what completes them."""
    meetings: list[ir.Stmt] = []
    for reduce in [s for s in loop.body if isinstance(s, ir.Reduce)]:
        total = _total(planner, loop, reduce)
        if total is not None and _starts_at_zero(before, total):
            body = tuple(replace(s, plan=DeferredSum()) if s is reduce else s for s in loop.body)
            loop = replace(loop, body=body)
            meetings.append(_meeting(planner, reduce, total))
    return loop, meetings


def _total(planner: Planner, loop: ir.For, reduce: ir.Reduce) -> ir.Buffer | None:
    """The running sum that a reduction of the loop ends in, if nothing else is done with either."""
    part, axis = reduce.dst.buffer, planner.layout(reduce.src.buffer).axes[reduce.dim]
    element = ir.Load(part, (ir.Const(0),) * len(part.shape))
    if reduce.op not in ("sum", "abssum") or reduce.dst.extents != part.shape or \
            _whole(planner, axis, element) is None:
        return None
    stores = [n for n in ir.walk(loop.body) if isinstance(n, ir.Store)]
    readers = {n.buffer for n in stores if part.name in {x.name for x in _loads(n.value)}}
    total = part if not reduce.clear else readers.pop() if len(readers) == 1 else None
    if total is None or total.scope != "fragment" or planner.layout(total) != planner.layout(part):
        return None
    names = {part.name, total.name}
    proportional = [n for n in stores if n.buffer.name == total.name and _linear(n.value, names)]
    inside = sum(b.name in names for b in _mentions(loop.body))
    allowed = 1 + sum(1 + sum(b.name in names for b in _loads(n.value)) for n in proportional)
    everywhere = sum(b.name == part.name for b in _mentions(planner.kernel.body))
    own = sum(b.name == part.name for b in _mentions(loop.body))
    private = total is part or everywhere == own + 1                    # the other one is its Alloc
    return total if inside == allowed and private else None


def _mentions(body: tuple[ir.Stmt, ...]) -> list[ir.Buffer]:
    return [n for n in ir.walk(body) if isinstance(n, ir.Buffer)]


def _loads(expr: ir.Expr) -> list[ir.Buffer]:
    return [n.buffer for n in ir.walk(expr) if isinstance(n, ir.Load)]


def _linear(e: ir.Expr, names: set[str]) -> bool:
    """Whether a value is a sum of multiples of elements of these buffers, so that parts may be added later."""
    def free(x: ir.Expr) -> bool:
        return not names & {b.name for b in _loads(x)}
    match e:
        case ir.Load():
            return e.buffer.name in names
        case ir.BinOp(op="+" | "-"):
            return _linear(e.a, names) and _linear(e.b, names)
        case ir.BinOp(op="*"):
            return _linear(e.a, names) and free(e.b) or free(e.a) and _linear(e.b, names)
        case ir.BinOp(op="/"):
            return _linear(e.a, names) and free(e.b)
        case ir.UnOp(op="-"):
            return _linear(e.a, names)
    return False


def _starts_at_zero(before: list[ir.Stmt], total: ir.Buffer) -> bool:
    """Whether the last statement that mentions the running sum clears it."""
    last = next((s for s in reversed(before) if any(b.name == total.name for b in _mentions((s,)))), None)
    return isinstance(last, ir.Fill) and isinstance(last.value, ir.Const) and last.value.value == 0 and \
        last.dst.extents == total.shape


def _meeting(planner: Planner, reduce: ir.Reduce, total: ir.Buffer) -> Nest:
    """for r: total[r] = sum_in_warp<THREADS_N>(total[r])"""
    axes = planner.layout(total).axes
    names = iter(planner.slot_names(tuple(axes), set()))
    loops = [None if unit(axis) else planner.slot_loop(axis, next(names)) for axis in axes]
    element = ir.Load(total, tuple(ir.Const(0) if loop is None else loop.var for loop in loops))
    whole = _whole(planner, planner.layout(reduce.src.buffer).axes[reduce.dim], element)
    body = (ir.Store(total, element.indices, whole),)
    return Nest(NestPlan(tuple(x for x in loops if x), body, reason=_WHY, why=_WHY))


def _whole(planner: Planner, axis: Axis, element: ir.Load) -> ir.Call | None:
    """The sum of an element over the lanes of a row; None where these are not in one warp."""
    return inside_warp(axis, "sum", element, element.dtype.compute, planner.target.warp_size)
