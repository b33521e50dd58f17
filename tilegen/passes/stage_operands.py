"""stage_operands: bring operands to the memory where the target's operation can read them.

Precondition: a checked kernel. Effect: a fragment that the scalar gemm multiplies is first copied to
shared memory (each thread needs whole rows of it); a reduction from or to shared memory goes through
a fragment. Each new buffer is named after the old one.
Before: T.gemm(P_local, V_shared, O_local)
After:  P_staged = alloc_shared; T.copy(P_local, P_staged); T.gemm(P_staged, V_shared, O_local)
"""

from __future__ import annotations

from dataclasses import replace

from tilegen import ir
from tilegen.plan import MmaChoice
from tilegen.targets.base import Target


def stage_operands(kernel: ir.Kernel, target: Target) -> ir.Kernel:
    taken = {b.name for b in ir.walk(kernel) if isinstance(b, ir.Buffer)}
    staged: dict[tuple, ir.Buffer] = {}

    def stage(region: ir.Region, scope: str, whole: bool = False) -> tuple[ir.Region, ir.Buffer | None]:
        """The same values in `scope`, and the buffer if it is new; with `whole`, a buffer that they fill."""
        old = region.buffer
        if whole:
            region = replace(region, offsets=(ir.Const(0),) * len(region.extents))
            old = replace(old, shape=region.extents)
        key = (old.name, scope, old.shape)
        new = staged.get(key)
        if new is None:
            suffix = {"shared": "_staged", "fragment": "_local"}[scope]
            name = ir.fresh_name(taken, _base(old.name) + suffix)
            taken.add(name)
            staged[key] = new = ir.Buffer(name, old.shape, old.dtype, scope, loc=region.loc or old.loc)
        return replace(region, buffer=new), new

    def rule(node):
        if isinstance(node, ir.Gemm):
            return _stage_gemm(node, stage)
        if isinstance(node, ir.Reduce) and {node.src.buffer.scope, node.dst.buffer.scope} & {"shared", "global"}:
            return _stage_reduce(node, stage)
        if isinstance(node, ir.Scan) and "shared" in (node.src.buffer.scope, node.dst.buffer.scope):
            return _stage_scan(node, stage)
        return None

    body = ir.rewrite(kernel.body, rule)
    allocations = tuple(ir.Alloc(buffer, loc=None) for buffer in staged.values())
    return replace(kernel, body=allocations + body) if allocations else replace(kernel, body=body)


def _stage_gemm(gemm: ir.Gemm, stage):
    before, changes = [], {}
    for name in ("a", "b"):
        region = getattr(gemm, name)
        if name == "a" and isinstance(gemm.plan, MmaChoice) and gemm.plan.a_in_registers:
            continue
        if region.buffer.scope == "fragment":
            new, _ = stage(region, "shared")
            before.append(ir.Copy(region, new, loc=gemm.loc))
            changes[name] = new
    return (*before, replace(gemm, **changes)) if changes else None


def _stage_reduce(reduce: ir.Reduce, stage):
    before, after, changes = [], [], {}
    if reduce.src.buffer.scope != "fragment":
        new, _ = stage(reduce.src, "fragment")
        before.append(ir.Copy(reduce.src, new, loc=reduce.loc))
        changes["src"] = new
    if reduce.dst.buffer.scope != "fragment":
        new, _ = stage(reduce.dst, "fragment")
        if not reduce.clear:
            before.append(ir.Copy(reduce.dst, new, loc=reduce.loc))
        after.append(ir.Copy(new, reduce.dst, loc=reduce.loc))
        changes["dst"] = new
    return (*before, replace(reduce, **changes), *after)


def _stage_scan(scan: ir.Scan, stage):
    """Parts of shared tiles become fragments of their own."""
    before, after, changes = [], [], {}
    if scan.src.buffer.scope == "shared":
        changes["src"] = stage(scan.src, "fragment", whole=True)[0]
        before.append(ir.Copy(scan.src, changes["src"], loc=scan.loc))
    if scan.dst.buffer.scope == "shared":
        changes["dst"] = stage(scan.dst, "fragment", whole=True)[0]
        after.append(ir.Copy(changes["dst"], scan.dst, loc=scan.loc))
    return (*before, replace(scan, **changes), *after)


def _base(name: str) -> str:
    for suffix in ("_local", "_shared", "_fragment", "_frag"):
        name = name.removesuffix(suffix)
    return name
