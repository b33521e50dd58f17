"""plan_storage: how fragments, local arrays and scalars are declared.

Precondition: layouts inferred. Effect: each Alloc outside of shared memory has an OpPlan with its
extents in registers; an Alloc and the T.clear that follows it become one declaration.
Before: C_local = T.alloc_fragment((BM, BN)); T.clear(C_local)    After: float C_local[C_ROWS][C_COLS] = {};
"""

from __future__ import annotations

from dataclasses import replace

from tilegen import ir
from tilegen.plan import OpPlan
from tilegen.targets.base import Target


def plan_storage(kernel: ir.Kernel, target: Target) -> ir.Kernel:
    def attach(node):
        if isinstance(node, ir.Alloc) and isinstance(node.buffer, ir.Alias):
            return replace(node, plan=alias_plan(kernel, node.buffer, _registers(kernel, node.buffer)))
        if isinstance(node, ir.Alloc) and node.buffer.scope != "shared" and node.plan is None:
            return declared(kernel, node)
        return None
    return replace(kernel, body=ir.rewrite(_merge_clears(kernel, kernel.body), attach))


def declared(kernel: ir.Kernel, alloc: ir.Alloc) -> ir.Alloc:
    """An Alloc of registers with its plan."""
    return replace(alloc, plan=_declaration(kernel, alloc, zeroed=False))


def _merge_clears(kernel: ir.Kernel, statements: tuple[ir.Stmt, ...]) -> tuple[ir.Stmt, ...]:
    """Moves each Alloc to the clear that follows it in the same list, where nothing uses it between."""
    result = [replace(s, body=_merge_clears(kernel, s.body)) if isinstance(s, ir.For) and s.kind == "persistent" else s
              for s in statements]
    for alloc in [s for s in statements if isinstance(s, ir.Alloc) and s.buffer.scope in ("fragment", "local")
                  and not isinstance(s.buffer, ir.Alias)]:
        start = result.index(alloc)
        first = next((s for s in result[start + 1:] if _mentions(s, alloc.buffer)), None)
        if isinstance(first, ir.Fill) and _clears_all(first):
            result[result.index(first)] = replace(alloc, plan=_declaration(kernel, alloc, zeroed=True), loc=first.loc)
            result.remove(alloc)
    return tuple(result)


def _mentions(s: ir.Stmt, buffer: ir.Buffer) -> bool:
    return any(isinstance(n, ir.Buffer) and n.name == buffer.name for n in ir.walk(s))


def _clears_all(fill: ir.Fill) -> bool:
    return isinstance(fill.value, ir.Const) and fill.value.value == 0 and fill.dst.extents == fill.dst.buffer.shape


def _declaration(kernel: ir.Kernel, alloc: ir.Alloc, zeroed: bool) -> OpPlan:
    values = {"shape": _registers(kernel, alloc.buffer), "zeroed": zeroed,
              "aligned": 4 if _paired(kernel, alloc) else 0}
    return OpPlan("alloc", values, "registers of each thread")


def _paired(kernel: ir.Kernel, alloc: ir.Alloc) -> bool:
    """Whether a matrix instruction takes pairs of its elements as registers: sums of 16 bits."""
    return alloc.buffer.dtype.bits == 16 and any(
        isinstance(n, ir.Gemm) and n.c.buffer.name == alloc.buffer.name and n.plan.template == "gemm_mma"
        for n in ir.walk(kernel.body))


def _registers(kernel: ir.Kernel, buffer: ir.Buffer) -> tuple[ir.Expr, ...]:
    """The extents of a buffer as each thread, or the block, has it."""
    if buffer.scope != "fragment":
        return buffer.shape
    axes = kernel.plan.layouts[buffer.name].axes
    return tuple(ir.Const(1) if extent == ir.Const(1) else ir.Var(axis.slots_name, kind="knob")
                 for axis, extent in zip(axes, buffer.shape))


def alias_plan(kernel: ir.Kernel, alias: ir.Alias, shape: tuple[ir.Expr, ...]) -> OpPlan:
    """A second name for memory: a pointer to a tensor, or a reference to an array of `shape`."""
    if alias.scope == "global":
        reads = any(p.buffer is not None and p.name == alias.base.name and p.access == "read" for p in kernel.params)
        return OpPlan("alias_tensor", {"alias": alias, "constant": reads}, "the same memory")
    return OpPlan("alias", {"alias": alias, "shape": shape}, "the same memory")
