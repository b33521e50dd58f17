"""What the neighbours in a thread's vector have in common is computed once for all of them.

A thread holds runs of `axis.vector` neighbouring elements. A scalar that the user names and that is the
same for all elements of each run, such as the word that packed elements are taken from, moves out of the
loop over the run. Whether it is the same is found by enumerating the elements.
"""

from __future__ import annotations

from dataclasses import replace

from tilegen import arith, ir
from tilegen.layout import Axis
from tilegen.passes.planner import Planner, coordinate
from tilegen.plan import Loop

MOST_ELEMENTS = 4096                    # of an axis that is enumerated


def split_runs(planner: Planner, loop: Loop, var: ir.Var, axis: Axis, body: tuple[ir.Stmt, ...],
               used: set[str]) -> tuple[tuple[Loop, ...], ir.Expr, tuple[ir.Stmt, ...]]:
    """(loops, slot, body): a loop over runs with what a run shares, and a loop over its elements; or the loop
    and the body as they are, where nothing is shared. `loop` is over the slots of `var`'s axis."""
    common = _common(planner, var, axis, body)
    if not common:
        return (loop,), loop.var, body
    width = ir.Var(axis.vector_name, kind="knob")
    inner = ir.Var(planner.fresh("v", "in_vector", used=used | {loop.var.name}), kind="loop")
    slot = arith.add(loop.var, inner)
    first = {var.name: coordinate(axis, loop.var)}
    outer = replace(loop, step=width, lets=tuple(replace(let, value=ir.substitute(let.value, first)) for let in common))
    within = Loop(inner, ir.Const(0), width, ir.Const(1), unroll=True,
                  lets=(ir.Let(ir.Var(var.name, kind="let"), coordinate(axis, slot)),))
    return (outer, within), slot, body[len(common):]


def _common(planner: Planner, var: ir.Var, axis: Axis, body: tuple[ir.Stmt, ...]) -> tuple[ir.Let, ...]:
    """The first scalars of the body, as far as each reads memory and is the same for all elements of a run."""
    if axis.vector == 1 or not axis.vector_name or axis.padded or axis.extent > MOST_ELEMENTS:
        return ()
    found: list[ir.Let] = []
    for s in body:
        if not isinstance(s, ir.Let) or not same_in_runs(planner, s.value, var.name, axis, axis.vector):
            break
        found.append(s)
    own = [n for let in found for n in ir.walk(let.value) if isinstance(n, ir.Load)]
    varies = any(var.name in arith.names(n) for n in own)
    return tuple(found) if varies and all(n.buffer.scope in ("shared", "local") for n in own) else ()


def same_in_runs(planner: Planner, value: ir.Expr, name: str, axis: Axis, run: int) -> bool:
    """Whether a value is the same for all elements of each run of so many of an axis, which the variable `name`
    counts."""
    at = [planner.at(value, {name: ir.Const(e)}) for e in range(axis.extent)]
    return all(at[e] == at[e - e % run] for e in range(axis.extent))
