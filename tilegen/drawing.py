"""Layouts as pictures: which thread and register holds each element of a fragment, in which banks and 16-byte
pieces the elements of a shared tile lie, where a tile of the CPU has them."""

from __future__ import annotations

import html
import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from tilegen import arith, ir
from tilegen.layout import FragmentLayout, Swizzle
from tilegen.plan import KernelPlan, PlacedBuffer, SwizzledBuffer

BANKS, PIECE = 32, 16                    # banks of 4 bytes; bytes of a piece, which vectors move as a whole
TEXT_ROWS, TEXT_COLUMNS = 16, 16
SVG_ROWS, SVG_COLUMNS = 32, 32


@dataclass(frozen=True)
class Cell:
    """One element, or one 16-byte piece: what is written in it, a number for its colour, and words for its tip."""

    text: str
    tone: int
    tip: str


@dataclass(frozen=True)
class Picture:
    """The layout of one buffer: cells in rows (of the last two dimensions), the elements in a cell, and words; `cut`
    where the buffer has more cells."""

    name: str
    title: str
    legend: str
    tones: int
    each: int
    rows: tuple[tuple[Cell, ...], ...]
    cut: bool = False


def pictures(kernel: ir.Kernel) -> list[Picture]:
    """A picture for each fragment and shared tile of a planned kernel, in order of allocation; where it has several
    launches, under their names too."""
    if kernel.launches:
        return [replace(picture, name=f"{launch.name}.{picture.name}")
                for launch in kernel.launches for picture in pictures(launch)]
    plan = kernel.plan if isinstance(kernel.plan, KernelPlan) else KernelPlan()
    env = {k.name: k.value for k in kernel.knobs} | {c.name: c.value for c in plan.constants}
    placed = {p.buffer.name: p.buffer for p in plan.shared}
    found = [_of_cpu(layout, env) for layout in plan.layouts.values() if not isinstance(layout, FragmentLayout)]
    for node in ir.walk(kernel.body):
        if not isinstance(node, ir.Alloc) or isinstance(node.buffer, ir.Alias) or not node.buffer.shape:
            continue
        layout = plan.layouts.get(node.buffer.name)
        if isinstance(layout, FragmentLayout):
            found.append(_fragment(node.buffer, layout, dict(plan.notes)))
        elif layout is None and node.buffer.scope == "shared":
            found.append(_shared(placed.get(node.buffer.name, node.buffer), plan, env))
    return found


def _by_rows(shape: list[int], cell) -> tuple[tuple[tuple[Cell, ...], ...], bool]:
    """Cells of the last two dimensions, at index 0 of those before, up to the size of the larger picture; and
    whether there are more."""
    lead, (rows, columns) = (0,) * (len(shape) - 2), (1, *shape)[-2:]
    cells = tuple(tuple(cell((*lead, i, j)[-len(shape):]) for j in range(min(columns, SVG_COLUMNS)))
                  for i in range(min(rows, SVG_ROWS)))
    return cells, bool(lead) or rows > SVG_ROWS or columns > SVG_COLUMNS


# ---- Fragments -----------------------------------------------------------------------------------
def _fragment(buffer: ir.Buffer, layout: FragmentLayout, notes: dict[str, str]) -> Picture:
    shape = [axis.extent for axis in layout.axes]
    holders: dict[tuple[int, ...], list[tuple[int, int]]] = {}
    slots = [axis.slots for axis in layout.axes]
    for (thread, place), element in layout.table().items():
        register = 0
        for index, extent in zip(place, slots):
            register = register * extent + index
        holders.setdefault(element, []).append((thread, register))
    copies = len(next(iter(holders.values())))

    def cell(element: tuple[int, ...]) -> Cell:
        thread, register = holders[element][0]
        where = ", ".join(str(t) for t, _ in holders[element][:4]) + (", ..." if copies > 4 else "")
        tip = f"{buffer.name}{list(element)}: thread {where}, register {register}"
        return Cell(f"{thread}.{register}", thread, tip)

    threads = layout.threads_m * layout.threads_n
    legend = (f"thread.register of each element; {threads} threads with {layout.registers} registers each"
              + (f"; every element is in {copies} threads, of which the first is shown" if copies > 1 else ""))
    reason = notes.get(f"layout of {buffer.name}", "")
    legend += f". {reason[0].upper()}{reason[1:]}" if reason else ""
    return Picture(buffer.name, f"fragment {_size(shape)} {buffer.dtype}", legend, threads, 1, *_by_rows(shape, cell))


# ---- Shared tiles --------------------------------------------------------------------------------
def _shared(buffer: ir.Buffer, plan: KernelPlan, env: dict) -> Picture:
    shape = [int(arith.evaluate(e, env)) for e in buffer.shape]
    size = buffer.dtype.bytes
    each = max(1, PIECE // size)
    wish = plan.places.get(buffer.accessor) if isinstance(buffer, PlacedBuffer) else None
    if shape[-1] % each or (wish is not None and wish.run % each):
        each = 1

    swizzle = Swizzle.of(shape[-1], each) if isinstance(buffer, SwizzledBuffer) else None

    def address(element: tuple[int, ...]) -> int:
        if swizzle is not None:
            element = (*element[:-1], swizzle.place(element[-2], element[-1]))
        if wish is None:
            return _flat(element, shape) * size
        own = element[-len(wish.vars):]
        lead = _flat(element[:-len(wish.vars)], shape[:-len(wish.vars)]) * math.prod(shape[-len(wish.vars):])
        return (lead + arith.evaluate(wish.value, env | dict(zip((v.name for v in wish.vars), own)))) * size

    def cell(element: tuple[int, ...]) -> Cell:
        first = (*element[:-1], element[-1] * each)
        start = address(first)
        bank, piece = start // 4 % BANKS, start // PIECE % (BANKS * 4 // PIECE)
        last = (start + max(4, size * each) - 1) // 4 % BANKS
        what = f"{buffer.name}{list(first)}" + (f" and {each - 1} more" if each > 1 else "")
        return Cell(f"{piece}/{bank}", bank, f"{what}: byte {start}, piece {piece}, banks {bank} to {last}")

    what = f"each {each} elements, which are 16 bytes" if each > 1 else "each element"
    legend = f"piece/bank of {what}: which 16 bytes of a line of {BANKS} banks, and the first of its banks"
    cells = [*shape[:-1], shape[-1] // each]
    return Picture(buffer.name, f"shared {_size(shape)} {buffer.dtype}", legend, BANKS, each,
                   *_by_rows(cells, cell))


def _flat(element: tuple[int, ...], shape: list[int]) -> int:
    place = 0
    for index, extent in zip(element, shape):
        place = place * extent + index
    return place


# ---- Tiles of the CPU ------------------------------------------------------------------------------
def _of_cpu(layout: Any, env: dict) -> Picture:
    buffer = layout.buffer
    shape = [int(arith.evaluate(e, env)) for e in buffer.shape]
    stored = [int(arith.evaluate(e, env)) for e in layout.storage.shape]

    def cell(element: tuple[int, ...]) -> Cell:
        *lead, row, col = (0, *element)[-max(2, len(element)):]
        split = {"tiles": lambda: (row // stored[-2], col // stored[-1], row % stored[-2], col % stored[-1]),
                 "rows": lambda: element[len(lead):] if len(element) > 1 else (col,),
                 "panels": lambda: (row // stored[-1], col, row % stored[-1]) if layout.split == -2 else
                 (col // stored[-1], row, col % stored[-1])}
        place = _flat((*lead, *split[layout.kind]()), stored)
        return Cell(str(place), place // 8, f"{buffer.name}{list(element)}: element {place} in memory")

    legend = f"place of each element in the thread's memory; {layout.reason}"
    return Picture(buffer.name, f"{buffer.scope} {_size(shape)} {buffer.dtype}", legend, 16, 1, *_by_rows(shape, cell))


def _size(shape: list[int]) -> str:
    return " x ".join(str(e) for e in shape)


# ---- As text ---------------------------------------------------------------------------------------
def text(kernel: ir.Kernel) -> str:
    """All pictures for a terminal: the upper left corner of each, with the numbers of rows and columns."""
    return "\n".join(line for picture in pictures(kernel) for line in [*_lines(picture), ""])


def _lines(picture: Picture) -> Iterator[str]:
    yield f"{picture.name}: {picture.title}"
    yield from (f"    {line}" for line in _folded(picture.legend, 92))
    corner = [row[:TEXT_COLUMNS] for row in picture.rows[:TEXT_ROWS]]
    width = max(len(cell.text) for row in corner for cell in row)
    width = max(width, len(str(len(corner[0]) * picture.each)))
    more = " ..." if len(picture.rows[0]) > len(corner[0]) else ""
    yield "    " + " " * 4 + " ".join(f"{j * picture.each:>{width}}" for j in range(len(corner[0]))) + more
    for i, row in enumerate(corner):
        yield f"    {i:>3} " + " ".join(f"{cell.text:>{width}}" for cell in row) + more
    if len(picture.rows) > len(corner):
        yield "    ..."


# ---- As SVG ------------------------------------------------------------------------------------------
LEFT, TOP, HEIGHT = 44, 78, 20
_STYLE = "g text { text-anchor: middle; fill: #1c2430 } .n { text-anchor: middle; fill: #8a94a3 } rect { rx: 2px }"


def svgs(kernel: ir.Kernel) -> dict[str, str]:
    """{buffer: picture}, each a self-contained SVG with a tip on every cell."""
    return {picture.name: svg(picture) for picture in pictures(kernel)}


def svg(picture: Picture) -> str:
    """One picture: cells coloured by thread (or bank), rows and columns numbered."""
    rows, columns = len(picture.rows), len(picture.rows[0])
    shown = f" The first {rows} x {columns} cells are shown." if picture.cut else ""
    width = max(26, 7 * max(len(c.text) for row in picture.rows for c in row) + 8)
    legend = _folded(html.escape(picture.legend + shown), max(60, (columns * width) // 6))
    top = TOP + 14 * (len(legend) - 1)
    size = max(LEFT + columns * width + 12, 420), top + rows * HEIGHT + 12
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{size[0]}" height="{size[1]}" '
             f'viewBox="0 0 {size[0]} {size[1]}" role="img" aria-label="layout of {picture.name}" '
             'font-family="ui-monospace, Menlo, Consolas, monospace" font-size="11">',
             f"<style>{_STYLE}</style>", '<rect width="100%" height="100%" fill="#ffffff"/>',
             f'<text x="12" y="22" font-size="15" font-weight="600" fill="#1c2430">{picture.name}</text>',
             f'<text x="{26 + 9 * len(picture.name)}" y="22" font-size="12" fill="#5b6675">{picture.title}</text>']
    parts += [f'<text x="12" y="{42 + 14 * n}" fill="#5b6675">{line}</text>' for n, line in enumerate(legend)]
    parts += [f'<text x="{LEFT + j * width + width / 2:g}" y="{top - 6}" class="n">{j * picture.each}</text>'
              for j in range(columns)]
    for i, row in enumerate(picture.rows):
        y = top + i * HEIGHT
        parts.append(f'<text x="{LEFT - 8}" y="{y + 14}" text-anchor="end" fill="#8a94a3">{i}</text>')
        for j, cell in enumerate(row):
            x = LEFT + j * width
            parts.append(f'<g><title>{cell.tip}</title><rect x="{x}" y="{y}" width="{width - 1}" height="{HEIGHT - 1}" '
                         f'fill="{_colour(cell.tone, picture.tones)}"/><text x="{x + (width - 1) / 2:g}" y="{y + 14}">'
                         f"{cell.text}</text></g>")
    return "\n".join([*parts, "</svg>"])


def _folded(words: str, width: int) -> list[str]:
    lines = [""]
    for word in words.split():
        if lines[-1] and len(lines[-1]) + 1 + len(word) > width:
            lines.append("")
        lines[-1] += (" " if lines[-1] else "") + word
    return lines


def _colour(tone: int, tones: int) -> str:
    """Hues go round once for the threads of a warp (or the banks); warps differ in lightness."""
    group, place = divmod(tone, min(tones, BANKS))
    return f"hsl({place * 360 // min(tones, BANKS)}, 62%, {84 - group % 4 * 5}%)"
