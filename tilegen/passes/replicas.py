"""Who writes a value that several threads hold."""

from __future__ import annotations

from tilegen import arith, ir
from tilegen.layout import Axis, FragmentLayout, thread_name
from tilegen.passes.planner import THREAD, Planner


def speaker(planner: Planner, layout: FragmentLayout, buffer: ir.Buffer) -> ir.Expr | None:
    """The condition under which a thread writes its part of `buffer`: None where no two threads hold
    the same element."""
    return speaker_of(planner, layout.axes, layout.threads_m, layout.threads_n)


def speaker_of(planner: Planner, axes: tuple[Axis | None, ...], threads_m: int, threads_n: int) -> ir.Expr | None:
    digits = {axis.digit for axis in axes if axis is not None}
    if "all" in digits or {"m", "n"} <= digits:
        return None
    if not digits & {"m", "n"}:
        return arith.binary("==", THREAD, ir.Const(0))
    arranged = next((axis for axis in axes if axis is not None and axis.arrangement and axis.digit), None)
    if arranged is not None:
        other = "m" if "n" in digits else "n"
        return arith.binary("==", ir.Call(f"device:{thread_name(arranged, other)}", (), ir.const(0).dtype), ir.Const(0))
    across = ir.Var(next(axis.fast_name for axis in axes if axis is not None and axis.digit), kind="knob")
    if "n" in digits:
        return arith.less(THREAD, across) if threads_m > 1 else None
    return arith.binary("==", arith.modulo(THREAD, across), ir.Const(0)) if threads_n > 1 else None
