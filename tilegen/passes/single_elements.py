"""single_elements: a fragment of one element may be used as a number outside of T.Parallel.

Precondition: none. Effect: a store to the element of a fragment of one element, whose value reads no larger
fragment, becomes a nest of one iteration, which all threads that hold the element run.
Before: lse[0] = lse[0] + T.log2(total[0])    After: for i in T.Parallel(1): lse[i] = lse[i] + T.log2(total[i])
"""

from __future__ import annotations

from dataclasses import replace

from tilegen import ir
from tilegen.targets.base import Target

_ZERO, _ONE = ir.Const(0), ir.Const(1)


def single_elements(kernel: ir.Kernel, target: Target) -> ir.Kernel:
    taken = {n.name for n in ir.walk(kernel) if isinstance(n, (ir.Var, ir.Buffer))}
    var = ir.Var(ir.fresh_name(taken, "i", "only"), kind="loop")

    def block(statements: tuple[ir.Stmt, ...]) -> tuple[ir.Stmt, ...]:
        return tuple(statement(s) for s in statements)

    def statement(s: ir.Stmt) -> ir.Stmt:
        if isinstance(s, ir.Store) and _is_single(s):
            return _nest(s, var)
        if isinstance(s, (ir.For, ir.While)):
            return replace(s, body=block(s.body))
        return replace(s, then=block(s.then), otherwise=block(s.otherwise)) if isinstance(s, ir.If) else s

    return replace(kernel, body=block(kernel.body))


def _is_single(store: ir.Store) -> bool:
    touched = [n for n in ir.walk(store) if isinstance(n, (ir.Load, ir.Store)) and n.buffer.scope == "fragment"]
    return store.buffer.scope == "fragment" and all(
        set(n.buffer.shape) == {_ONE} and set(n.indices) == {_ZERO} for n in touched
    )


def _nest(store: ir.Store, var: ir.Var) -> ir.Parallel:
    def rule(node):
        if isinstance(node, (ir.Load, ir.Store)) and node.buffer.scope == "fragment":
            return replace(node, indices=(var,) + node.indices[1:])
        return None

    return ir.Parallel((var,), (_ONE,), ir.rewrite((store,), rule), loc=store.loc)
