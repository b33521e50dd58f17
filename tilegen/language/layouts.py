"""Layouts that a kernel chooses itself: T.Layout, T.Fragment, T.annotate_layout."""

from __future__ import annotations

import inspect
import itertools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tilegen import arith, ir
from tilegen.errors import Loc, TilegenError
from tilegen.language.builder import Builder, current, operation
from tilegen.language.regions import same_extent
from tilegen.language.sizes import Size
from tilegen.language.text import describe, shape_text
from tilegen.language.values import as_expr, as_number, as_shape
from tilegen.wishes import Placement

_WORDS = ("i", "j", "k", "l")
_RUNS = (16, 8, 4, 2)


@dataclass(frozen=True)
class TileLayout:
    """What T.Layout gives: the place of each element."""

    shape: tuple[ir.Expr, ...]
    function: Callable


@dataclass(frozen=True)
class ThreadLayout:
    """What T.Fragment gives: the thread and the register of each element."""

    shape: tuple[ir.Expr, ...]
    function: Callable                   # (thread, slot) of the indices and the number of the copy
    copies: int


@operation(place="scalar", takes_functions=True)
def Layout(shape, forward_fn) -> TileLayout:
    """Where the elements of a shared tile lie: `forward_fn(i, j)` gives the place of element (i, j), as one number or
    as indices of a box that is laid out row by row. A lambda, or a function of Python over + - * // % & | ^ << >>.

    Raises TG0004 for what is no function.
    """
    return TileLayout(as_shape(shape, "T.Layout", current().argument("shape")), _function(forward_fn, "T.Layout"))


@operation(place="scalar", takes_functions=True)
def Fragment(shape, forward_fn=None, forward_thread_fn=None, forward_index_fn=None, replicate=1) -> ThreadLayout:
    """Which thread holds an element of a fragment, and in which register: `forward_fn(i, j)` gives both, or
    `forward_thread_fn(i, j)` the thread and `forward_index_fn(i, j)` the register. With `replicate` above 1 each
    element is held by as many threads: the thread's function takes the number of the copy as last argument.

    Raises TG0004 for what is no function, TG0005 where a function is missing.
    """
    builder = current()
    extents = as_shape(shape, "T.Fragment", builder.argument("shape"))
    if (forward_fn is None) == (forward_thread_fn is None):
        raise TilegenError("TG0005", "T.Fragment takes forward_fn, or forward_thread_fn", builder.loc,
                           "write T.Fragment(shape, lambda i, j: (thread, register))")
    copies = as_number(replicate, "replicate", builder.argument("replicate"))
    if forward_fn is not None:
        return ThreadLayout(extents, _function(forward_fn, "T.Fragment"), copies)
    thread = _function(forward_thread_fn, "T.Fragment")
    register = forward_index_fn and _function(forward_index_fn, "T.Fragment")

    def both(*indices):
        slot = _called(register, indices[:len(extents)]) if register else None
        return _called(thread, indices), slot

    both.arity = len(extents) + (copies > 1)
    return ThreadLayout(extents, both, copies)


@operation(takes_functions=True)
def annotate_layout(layout_map) -> None:
    """The layouts of tiles, as `{tile: T.Layout(...), fragment: T.Fragment(...)}`; a lambda stands for T.Layout.

    A shared tile lies as the function says, on GPU targets: it has to give each element a place of its own, with no
    place left over (TG0206). A fragment is spread over the threads as the function says; which register of a thread
    an element gets is the planner's choice, as long as the function gives each of a thread's elements one of its own.
    Where other operations need the fragment otherwise, or no layout of the planner is like it, TG0203 shows both.
    No layout changes a result; `cpu` has its own.
    """
    builder = current()
    if not isinstance(layout_map, dict):
        raise TilegenError("TG0004", f"T.annotate_layout takes a dict, not {describe(layout_map)}", builder.loc,
                           "write T.annotate_layout({A_shared: T.Layout(A_shared.shape, lambda i, j: ...)})")
    for buffer, layout in layout_map.items():
        scope = "fragment" if isinstance(layout, ThreadLayout) else "shared"
        if not isinstance(buffer, ir.Buffer) or buffer.scope != scope or isinstance(buffer, ir.Alias):
            kind = "T.Fragment" if scope == "fragment" else "T.Layout"
            raise TilegenError("TG0103", f"T.annotate_layout: {kind} is for a {scope} tile, not {describe(buffer)}",
                               builder.loc, "T.Layout places shared tiles, T.Fragment spreads fragments")
        if callable(layout) and not isinstance(layout, (TileLayout, ThreadLayout)):
            layout = TileLayout(buffer.shape, _function(layout, "T.annotate_layout"))
        if not isinstance(layout, (TileLayout, ThreadLayout)):
            raise TilegenError("TG0004", f"T.annotate_layout: {describe(layout)} is no layout", builder.loc,
                               "T.Layout, T.Fragment, or a lambda")
        builder.wishes.append(_placement(builder, buffer, layout))


def _placement(builder: Builder, buffer: ir.Buffer, layout: TileLayout | ThreadLayout) -> Placement:
    same = len(layout.shape) == len(buffer.shape) and all(
        same_extent(a, b, builder.numbers) for a, b in zip(layout.shape, buffer.shape))
    if not same or len(buffer.shape) > len(_WORDS):
        raise TilegenError("TG0101", f"T.annotate_layout: the layout is for {shape_text(layout.shape)}, {buffer.name} "
                           f"is {shape_text(buffer.shape)}", builder.loc)
    if any(isinstance(w, Placement) and w.buffer == buffer.name for w in builder.wishes):
        raise TilegenError("TG0005", f"T.annotate_layout: a second layout for {buffer.name}", builder.loc, "keep one")
    names = tuple(ir.Var(word, kind="loop") for word in _WORDS[:len(buffer.shape)])
    if isinstance(layout, ThreadLayout):
        copy = (ir.Var("copy", kind="loop"),) if layout.copies > 1 else ()
        thread, slot = _called(layout.function, names + copy)
        slot = ir.Const(-1) if slot is None else as_expr(slot)
        return Placement("layout", as_expr(thread), buffer.name, names + copy, slot, layout.copies, loc=builder.loc)
    result = _called(layout.function, names)
    place, run = _place(builder, buffer, names, result if isinstance(result, (tuple, list)) else (result,))
    return Placement("layout", place, buffer.name, names, run=run, loc=builder.loc)


def _place(builder: Builder, buffer: ir.Buffer, names, results) -> tuple[ir.Expr, int]:
    """The place of an element, checked to be a bijection, and how many neighbours of a row stay together."""
    outputs = [as_expr(r) for r in results]
    extents = [builder.number(e) for e in buffer.shape]
    tables = [_table(builder, o, names, extents) for o in outputs]
    sizes = [max(t) + 1 for t in tables]
    place: ir.Expr = ir.Const(0)
    flat = [0] * len(tables[0])
    for output, table, size in zip(outputs, tables, sizes):
        symbol = next((e for e, n in zip(buffer.shape, extents) if n == size), ir.Const(size))
        place = arith.add(arith.multiply(place, symbol), output) if output is not outputs[0] else output
        flat = [f * size + t for f, t in zip(flat, table)]
    if min(min(t) for t in tables) < 0 or sorted(flat) != list(range(len(flat))):
        raise _no_bijection(builder, buffer, extents, flat)
    width = extents[-1]
    for run in _RUNS:
        starts = range(0, len(flat), run)
        if width % run == 0 and all(flat[s] % run == 0 and
                                    all(flat[s + x] == flat[s] + x for x in range(run)) for s in starts):
            return place, run
    return place, 1


def _no_bijection(builder: Builder, buffer: ir.Buffer, extents, flat: list[int]) -> TilegenError:
    elements = list(itertools.product(*(range(e) for e in extents)))
    first: dict[int, tuple] = {}
    for element, place in zip(elements, flat):
        if place in first:
            return TilegenError("TG0206", f"T.annotate_layout: {buffer.name}{list(first[place])} and "
                                f"{buffer.name}{list(element)} both get place {place}", builder.loc,
                                "the function has to give each element a place of its own")
        first[place] = element
    outside = next(p for p in sorted(first) if not 0 <= p < len(flat))
    return TilegenError("TG0206", f"T.annotate_layout: {buffer.name}{list(first[outside])} gets place {outside} of "
                        f"{len(flat)}", builder.loc, f"the places are 0 to {len(flat) - 1}, without a gap")


def _table(builder: Builder, value: ir.Expr, names, extents) -> list[int]:
    """The value for every element, in the order of rows."""
    env = dict(builder.numbers)
    found = []
    for point in itertools.product(*(range(e) for e in extents)):
        env.update(zip((v.name for v in names), point))
        number = arith.evaluate(value, env)
        if number is None:
            raise TilegenError("TG0109", "T.annotate_layout: the function uses what is known at launch only",
                               builder.loc, "use the indices, constants and knobs")
        found.append(int(number))
    return found


def _function(value: Any, name: str) -> Callable:
    if not callable(value):
        raise TilegenError("TG0004", f"{name} takes a function of the indices, not {describe(value)}", current().loc,
                           "write lambda i, j: ...")
    return value


def _called(function: Callable, arguments: tuple[ir.Expr, ...]) -> Any:
    """The results of a function of the kernel, or of one of Python, for indices."""
    loc: Loc | None = current().loc
    arity = getattr(function, "arity", None)
    if arity is None:
        arity = len(inspect.signature(function).parameters)
    if arity != len(arguments):
        raise TilegenError("TG0005", f"the function of a layout takes {arity} indices, and the tile has "
                           f"{len(arguments)} (with copies one more)", loc, "give it one argument for each dimension")
    if hasattr(function, "arity"):
        return function(*arguments)
    result = function(*(Size(a) for a in arguments))
    parts = [r.expr if isinstance(r, Size) else r for r in (result if isinstance(result, (tuple, list)) else (result,))]
    return tuple(parts) if isinstance(result, (tuple, list)) else parts[0]
