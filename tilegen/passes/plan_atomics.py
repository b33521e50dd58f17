"""plan_atomics: an instruction for each atomic update, else a loop of compare-and-swap.

Precondition: none. Effect: each Atomic has an OpPlan, but for contributions to reducers in registers. TG0204
for elements of 8 bits, which no GPU updates atomically.
Before: T.atomic_max(H[i], x)
After:  atomicMax(&H[i], x);    or for floats    atomic_update<unsigned>(&H[i], [&](float old) { ... });
"""

from __future__ import annotations

from dataclasses import replace

from tilegen import ir
from tilegen.dtypes import DType
from tilegen.errors import TilegenError
from tilegen.passes.planner import Planner
from tilegen.plan import OpPlan
from tilegen.targets.base import Target

_WORDS = {32: "<unsigned>", 64: "<unsigned long long>"}


def plan_atomics(kernel: ir.Kernel, target: Target) -> ir.Kernel:
    planner = Planner(kernel, target)
    return replace(
        kernel,
        body=ir.rewrite(
            kernel.body,
            lambda n: replace(n, plan=_plan(planner, n)) if isinstance(n, ir.Atomic) and n.buffer.scope != "fragment"
            else None,
        ),
    )


def _plan(planner: Planner, s: ir.Atomic) -> OpPlan:
    dtype = s.buffer.dtype
    if dtype.bits < 16:
        raise TilegenError(
            "TG0204",
            f"target {planner.target.name} has no atomic {s.op} of {dtype}",
            s.loc,
            hint="keep the results in int32 or float32",
        )
    before = f"{s.previous.name} = " if s.previous else ""
    function = planner.target.atomics.get(dtype.name, {}).get(s.op)
    if function is not None:
        as_unsigned = dtype.name == "int64" and s.op in ("add", "or")  # two's complement: the same bits
        return OpPlan("atomic", {"function": function, "as_unsigned": as_unsigned, "before": before}, "one instruction")
    old = ir.Var(planner.fresh("old", "old_value"), dtype)
    update = "atomic_update_16" if dtype.bits == 16 else "atomic_update" + _WORDS[dtype.bits]
    return OpPlan(
        "atomic_update",
        {"function": update, "before": before, "old": old, "changed": lambda s: _changed(s, old, dtype)},
        f"no instruction for {dtype}: compare and swap until nobody interferes",
    )


def _changed(s: ir.Atomic, old: ir.Var, dtype: DType) -> ir.Expr:
    return ir.BinOp(s.operator, old, s.value, dtype.compute)
