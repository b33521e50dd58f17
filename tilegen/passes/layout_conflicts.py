"""Which wishes about layouts exclude each other: found by trying, the strictest first."""

from __future__ import annotations

import math

from tilegen import arith, ir
from tilegen.errors import TilegenError
from tilegen.passes.layout_classes import Classes, Key, Members, Relation
from tilegen.passes.layout_relations import collect_classes, relations, unrelated
from tilegen.passes.layout_threads import digits_of, divisors, extents_of, refuse_turned, registers, whole_groups
from tilegen.passes.ranges import knob_values

MOST_TIMES = 2                           # the registers that dimensions in one thread may cost, beside an even spread
MOST_WHOLE = 256                         # elements along a dimension that one thread may hold all of


def conflicts(kernel: ir.Kernel) -> list[tuple[Relation, str]]:
    """The relations that cannot hold beside the stricter ones, each with the reason; nests are numbered."""
    threads = arith.evaluate(arith.product(kernel.threads), knob_values(kernel)) or 1
    try:
        _check(collect_classes(kernel), threads)
        return []
    except TilegenError:
        pass
    refused: list[tuple[Relation, str]] = []
    kept: list[Relation] = []
    for relation in sorted(relations(kernel), key=lambda r: (r.strictness, _reads_only(r))):
        classes = unrelated(kernel)
        try:
            for other in (*kept, relation):
                classes.apply(other)
            _check(classes, threads)
            kept.append(relation)
        except TilegenError:
            refused.append((relation, _reason(relation)))
    return refused


def _reason(relation: Relation) -> str:
    """Why this relation was given up, for the reader of the emitted file."""
    match relation.node:
        case ir.Parallel():
            return f"the threads that run this loop hold other elements of {relation.buffer}"
        case ir.Gemm(a=a):
            return f"{a.buffer.name} is spread otherwise than the product"
        case ir.Alloc(buffer=alias):
            return f"{alias.name} is {alias.base.name} in another shape"
        case ir.Copy(src=src, dst=dst) | ir.Reduce(src=src, dst=dst) | ir.Scan(src=src, dst=dst) | \
                ir.Finalize(src=src, dst=dst):
            return f"{dst.buffer.name} is spread otherwise than {src.buffer.name}"
    raise AssertionError(f"no relation of {type(relation.node).__name__}")


def _reads_only(relation: Relation) -> bool:
    """In a nest the fragments that are written come first."""
    if not isinstance(relation.node, ir.Parallel):
        return False
    return not any(isinstance(n, (ir.Store, ir.Atomic)) and n.buffer.name == relation.buffer
                   for n in ir.walk(relation.node.body))


def _check_groups(classes: Classes, members: Members, digits: dict[Key, str], threads: int) -> None:
    """TG0203 where threads would have to share a group of a dimension that is also seen as groups, or would hold many
    more elements than an even spread gives them."""
    groups = any(classes.of(*s.coarse) in members.roots for s in classes.splits)
    if not groups and not classes.whole & set(members.roots):
        return
    grids = [(1, threads)]
    if "m" in digits.values():
        grids = [(threads // n, n) for n in divisors(threads)
                 if n & (n - 1) == 0 and (not members.gemms or 4 <= n <= threads // 4)]
    grids = [grid for grid in grids if whole_groups(classes, digits, *grid)]
    fewest = sum(-(-math.prod(extents_of(classes, b)) // threads) for b in members.buffers)
    choose = max if members.gemms else min             # a product chooses its grid for itself
    most = choose((registers(classes, members, digits, *grid) for grid in grids), default=math.inf)
    if groups and members.gemms or most > MOST_TIMES * fewest + MOST_WHOLE // 8:
        raise TilegenError("TG0203", f"one thread would hold too much of {members.label}")


def _check(classes: Classes, threads: int) -> None:
    """TG0203 where a component has no grid of threads that serves all of its members."""
    for members in classes.components():
        digits = digits_of(classes, members)
        refuse_turned(classes, members, digits)
        _check_groups(classes, members, digits, threads)
    for root in classes.whole:
        extent = arith.evaluate(classes.extents[root], classes.env)
        if extent is None or extent > MOST_WHOLE or _pinned(classes, root):
            what = classes.describe(root)
            raise TilegenError("TG0203", f"one thread cannot hold all {what}", classes.forced.get(root))


def _pinned(classes: Classes, root: Key) -> bool:
    """Whether a product spreads this dimension over the threads."""
    return any(root == classes.of(g.c.buffer.name, d) and g.c.buffer.shape[d] != ir.Const(1)
               for g in classes.gemms for d in range(len(g.c.buffer.shape)))


