"""expand_prints: the print of a tile becomes the print of each of its elements.

Precondition: none. Effect: a Print has only scalars. Each element is printed by a thread that holds it, with
its indices, since the lines of different threads come in any order.
Before: T.print(C_local)    After: for row, col in T.Parallel(BM, BN): T.print("C_local[{}, {}] = {}")
"""

from __future__ import annotations

from dataclasses import replace

from tilegen import arith, ir
from tilegen.targets.base import Target

_NAMES = ("slab", "plane", "row", "col")


def expand_prints(kernel: ir.Kernel, target: Target) -> ir.Kernel:
    return replace(
        kernel, body=ir.rewrite(kernel.body, lambda n: _expanded(n) if isinstance(n, ir.Print) else None)
    )


def _expanded(s: ir.Print) -> tuple[ir.Stmt, ...]:
    pieces = s.message.split("{}")
    texts, values = pieces[0], []
    result: list[ir.Stmt] = []
    for value, after in zip(s.values, pieces[1:]):
        if isinstance(value, ir.Region):
            result.append(replace(s, message=texts, values=tuple(values)))
            result.append(_elements(value, s))
            texts, values = after, []
        else:
            texts, values = texts + "{}" + after, [*values, value]
    if texts or not result:
        result.append(replace(s, message=texts, values=tuple(values)))
    return tuple(result)


def _elements(region: ir.Region, s: ir.Print) -> ir.Parallel:
    """`C_local[3, 5] = 0.25` for every element of the region."""
    kept = [d for d, extent in enumerate(region.extents) if extent != ir.Const(1)]
    names = dict(zip(kept, _NAMES[-len(kept) :] if len(kept) > 1 else ("i",)))
    variables = {d: ir.Var(name, kind="loop") for d, name in names.items()}
    index = tuple(
        arith.add(offset, variables[d]) if d in variables else offset
        for d, offset in enumerate(region.offsets)
    )
    text = f"{region.buffer.name}[{', '.join('{}' for _ in index)}] = {{}}"
    element = ir.Print(text, (*index, ir.Load(region.buffer, index)), loc=s.loc)
    return ir.Parallel(
        tuple(variables.values()), tuple(region.extents[d] for d in kept), (element,), loc=s.loc
    )
