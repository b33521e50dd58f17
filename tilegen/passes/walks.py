"""Loops that deal the elements of a tile to the threads of a block, and the indices inside of them."""

from __future__ import annotations

from dataclasses import replace

from tilegen import arith, ir
from tilegen.passes.planner import THREAD, THREADS, Planner
from tilegen.plan import Loop

MOST_UNROLLED = 8                       # trips of a copy loop; longer ones are unrolled by PART
PART = 4


def strided(planner: Planner, extents: list[ir.Expr], step: ir.Expr, used: set[str],
            names: tuple[str, ...] = ()) -> tuple[tuple[Loop, ...], list[ir.Expr]]:
    """Loops that deal the elements of a box to the block's threads, and the coordinates inside.
    `names` are the loop variables of the user, where there are some."""
    total = arith.product(extents)
    count = planner.value(total)
    flat = names[0] if len(extents) == 1 and names else planner.fresh(
        *(("i", "element") if len(extents) <= 1 else ("e", "element")), used=used | set(names))
    var = ir.Var(flat, kind="let")
    planner.ranges.ranges[var.name] = (0, count - 1 if count else float("inf"))
    planner.ranges.limits[var.name] = total
    loop = _stride_loop(planner, var, total, step, used | set(names))
    if len(extents) <= 1:
        return (loop,), [var] if extents else []
    words = names or tuple(
        planner.fresh(w, w + "_in_tile", used=used) for w in ("slab", "plane", "row", "col")[-len(extents):])
    lets, coordinates = [], []
    for d, word in enumerate(words):
        inner = arith.product(extents[d + 1:])
        value = arith.divide(var, inner)
        value = value if d == 0 else arith.modulo(value, extents[d])
        let = ir.Var(word, kind="let")
        extent = planner.value(extents[d])
        if not names:
            planner.ranges.ranges[word] = (0, extent - 1 if extent else float("inf"))
            planner.ranges.limits[word] = extents[d]
        lets.append(ir.Let(let, value))
        coordinates.append(let)
    return (replace(loop, lets=loop.lets + tuple(lets)),), coordinates


def _stride_loop(planner: Planner, var: ir.Var, total: ir.Expr, step: ir.Expr, used: set[str]) -> Loop:
    """The block's walk through `total` elements: a counted loop, that compilers unroll, where every
    thread has the same share; else each thread strides until the end."""
    stride, own = arith.multiply(THREADS, step), arith.multiply(THREAD, step)
    count, width = planner.value(total), planner.threads * planner.value(step)
    if count is None or count % width:
        return Loop(replace(var, kind="loop"), own, total, stride)
    planner.check_multiple(total, stride, "every thread moves the same number of elements")
    first = ir.Var(planner.fresh("first", "first_element", used=used), kind="loop")
    short = count // width <= MOST_UNROLLED
    return Loop(first, ir.Const(0), total, stride, unroll=short, pragma="" if short else f"#pragma unroll {PART}",
                lets=(ir.Let(var, arith.add(first, own)),))


def fragment_index(region: ir.Region, dims: list[int], slots: list[ir.Expr]) -> tuple[ir.Expr, ...]:
    """Indices of a fragment's registers: slots along `dims`, 0 elsewhere."""
    index: list[ir.Expr] = [ir.Const(0)] * len(region.extents)
    for d, slot in zip(dims, slots):
        index[d] = slot
    return tuple(index)


def plain_index(region: ir.Region, dims: list[int], coordinates: list[ir.Expr]) -> list[ir.Expr]:
    """Indices of an element of a region: its offsets, plus coordinates along `dims`."""
    index = list(region.offsets)
    for d, c in zip(dims, coordinates):
        index[d] = arith.add(index[d], c)
    return index
