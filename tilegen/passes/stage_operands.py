"""stage_operands: bring operands of products to the memory where the target's operation can read them.

Precondition: instructions chosen. Effect: a fragment that the scalar gemm multiplies is first copied to
shared memory (each thread needs whole rows of it). Each new buffer is named after the old one.
Before: T.gemm(P_local, V_shared, O_local)
After:  P_staged = alloc_shared; T.copy(P_local, P_staged); T.gemm(P_staged, V_shared, O_local)
"""

from __future__ import annotations

from dataclasses import replace

from tilegen import ir
from tilegen.passes.stage_reductions import Staging
from tilegen.plan import MmaChoice
from tilegen.targets.base import Target


def stage_operands(kernel: ir.Kernel, target: Target) -> ir.Kernel:
    staging = Staging(kernel)
    body = ir.rewrite(kernel.body, lambda n: _stage_gemm(n, staging) if isinstance(n, ir.Gemm) else None)
    return staging.finish(kernel, body)


def _stage_gemm(gemm: ir.Gemm, staging: Staging):
    before, changes = [], {}
    for name in ("a", "b"):
        region = getattr(gemm, name)
        if name == "a" and isinstance(gemm.plan, MmaChoice) and gemm.plan.a_in_registers:
            continue
        if region.buffer.scope == "fragment":
            changes[name] = staging.stage(region, "shared")
            before.append(ir.Copy(region, changes[name], loc=gemm.loc))
    return (*before, replace(gemm, **changes)) if changes else None
