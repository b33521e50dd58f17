"""stage_reductions: reductions and scans from or to shared memory go through fragments.

Precondition: a checked kernel. Effect: the operands of every Reduce and Scan are fragments. Each new buffer is
named after the old one.
Before: T.reduce_max(X_shared, top, dim=1)
After:  X_local = alloc_fragment; T.copy(X_shared, X_local); T.reduce_max(X_local, top, dim=1)
"""

from __future__ import annotations

from dataclasses import replace

from tilegen import ir
from tilegen.targets.base import Target


class Staging:
    """Buffers in another memory, one for each buffer, scope and shape."""

    def __init__(self, kernel: ir.Kernel) -> None:
        self.taken = {b.name for b in ir.walk(kernel) if isinstance(b, ir.Buffer)}
        self.staged: dict[tuple, ir.Buffer] = {}

    def stage(self, region: ir.Region, scope: str, whole: bool = False) -> ir.Region:
        """The same values in `scope`; with `whole`, in a buffer that they fill."""
        old = region.buffer
        if whole:
            region = replace(region, offsets=(ir.Const(0),) * len(region.extents))
            old = replace(old, shape=region.extents)
        key = (old.name, scope, old.shape)
        new = self.staged.get(key)
        if new is None:
            suffix = {"shared": "_staged", "fragment": "_local"}[scope]
            name = ir.take_name(self.taken, _base(old.name) + suffix)
            self.staged[key] = new = ir.Buffer(name, old.shape, old.dtype, scope, loc=region.loc or old.loc)
        return replace(region, buffer=new)

    def finish(self, kernel: ir.Kernel, body: tuple[ir.Stmt, ...]) -> ir.Kernel:
        """`kernel` with the body, after the allocations."""
        return replace(kernel, body=tuple(ir.Alloc(buffer, loc=None) for buffer in self.staged.values()) + body)


def stage_reductions(kernel: ir.Kernel, target: Target) -> ir.Kernel:
    staging = Staging(kernel)

    def rule(node):
        if isinstance(node, ir.Reduce) and {node.src.buffer.scope, node.dst.buffer.scope} & {"shared", "global"}:
            return _stage_reduce(node, staging)
        if isinstance(node, ir.Scan) and "shared" in (node.src.buffer.scope, node.dst.buffer.scope):
            return _stage_scan(node, staging)
        return None

    return staging.finish(kernel, ir.rewrite(kernel.body, rule))


def _stage_reduce(reduce: ir.Reduce, staging: Staging):
    before, after, changes = [], [], {}
    if reduce.src.buffer.scope != "fragment":
        changes["src"] = staging.stage(reduce.src, "fragment", whole=True)
        before.append(ir.Copy(reduce.src, changes["src"], loc=reduce.loc))
    if reduce.dst.buffer.scope != "fragment":
        changes["dst"] = new = staging.stage(reduce.dst, "fragment", whole=True)
        if not reduce.clear:
            before.append(ir.Copy(reduce.dst, new, loc=reduce.loc))
        after.append(ir.Copy(new, reduce.dst, loc=reduce.loc))
    return (*before, replace(reduce, **changes), *after)


def _stage_scan(scan: ir.Scan, staging: Staging):
    """Parts of shared tiles become fragments of their own."""
    before, after, changes = [], [], {}
    if scan.src.buffer.scope == "shared":
        changes["src"] = staging.stage(scan.src, "fragment", whole=True)
        before.append(ir.Copy(scan.src, changes["src"], loc=scan.loc))
    if scan.dst.buffer.scope == "shared":
        changes["dst"] = staging.stage(scan.dst, "fragment", whole=True)
        after.append(ir.Copy(changes["dst"], scan.dst, loc=scan.loc))
    return (*before, replace(scan, **changes), *after)


def _base(name: str) -> str:
    for suffix in ("_local", "_shared", "_fragment", "_frag"):
        name = name.removesuffix(suffix)
    return name
