"""pad_shared: how the rows of shared tiles lie, so that a warp does not hit one bank several times.

Precondition: layouts inferred, nothing planned yet. Effect: a shared tile whose accesses conflict gets a few more
columns, named `<TILE>_PAD`, or becomes a SwizzledBuffer (the 16-byte pieces of a row change places by the row) where
all that touches it goes by element and whole pieces. The fewest passes decide; of equals padding, since places in
padded rows differ by constants and those in swizzled ones take a register each, as long as as many blocks fit on a
multiprocessor. What the user padded stays as it is. The addresses of the first warp are enumerated for every access
and every candidate (shared_accesses.py).
Before: tile[32][32], read by columns (32 passes)    After: tile[32][32 + TILE_PAD], TILE_PAD = 1
"""

from __future__ import annotations

import math
from dataclasses import replace

from tilegen import arith, ir
from tilegen.layout import Swizzle
from tilegen.passes.planner import Planner, tile_name
from tilegen.passes.shared_accesses import Access, accesses, conflicts, passes
from tilegen.plan import EngineTile, MmaChoice, PlacedBuffer, SwizzledBuffer
from tilegen.targets.base import Target

PADS = (0, 1, 2, 4, 8)
PIECE = 16                     # bytes that a swizzle keeps together


def pad_shared(kernel: ir.Kernel, target: Target) -> ir.Kernel:
    planner = Planner(kernel, target)
    changed: dict[str, ir.Buffer] = {}
    aliased = {name for n in ir.walk(kernel.body) if isinstance(n, ir.Alias) for name in (n.name, n.base.name)}
    notes, room = [], _room(planner, kernel, target)
    for node in ir.walk(kernel.body):
        if not (isinstance(node, ir.Alloc) and node.buffer.scope == "shared" and len(node.buffer.shape) >= 2):
            continue
        if isinstance(node.buffer, (EngineTile, PlacedBuffer)):   # as an engine or the kernel asks
            continue
        if node.buffer.name in aliased:             # both names count its elements without gaps
            continue
        buffer = node.buffer
        pad, swizzled, reason = _choose(planner, kernel, buffer, room)
        notes.append((f"bank conflicts of {buffer.name}", reason))
        if swizzled:
            changed[buffer.name] = SwizzledBuffer(**vars(buffer))
        elif pad:
            name = planner.constant(
                f"{tile_name(buffer)}_PAD",
                pad,
                f"columns after each row of {buffer.name} that keep banks apart",
            )
            changed[buffer.name] = replace(buffer, shape=(*buffer.shape[:-1], arith.add(buffer.shape[-1], name)))

    def rule(node):
        return changed.get(node.name) if isinstance(node, ir.Buffer) and node.scope == "shared" else None

    body = ir.rewrite(kernel.body, rule) if changed else kernel.body
    result = planner.finish(body)
    if notes:
        notes.append(("bank conflicts", _total(result, target)))
    return replace(result, plan=replace(result.plan, notes=kernel.plan.notes + tuple(notes)))


def _total(kernel: ir.Kernel, target: Target) -> str:
    """The static count, in words."""
    found = conflicts(kernel, target)
    more = [f"{buffer} ({what}: {count + 1} passes)" for buffer, what, count in found if count]
    return f"{sum(count for *_, count in found)} in {len(found)} accesses of a warp to shared tiles" + \
        (f": {', '.join(more)}" if more else "")


def _room(planner: Planner, kernel: ir.Kernel, target: Target) -> bool:
    """Whether as many blocks fit on a multiprocessor when each row of each tile has a further piece."""
    tiles = {n.buffer.name: n.buffer for n in ir.walk(kernel.body) if isinstance(n, ir.Alloc)
             and n.buffer.scope == "shared" and not isinstance(n.buffer, ir.Alias)}
    sizes = [[planner.value(extent) or 1 for extent in tile.shape] for tile in tiles.values()]
    plain = sum(math.prod(size) * tile.dtype.bytes for size, tile in zip(sizes, tiles.values()))
    padded = plain + sum(math.prod(size[:-1]) * PIECE for size in sizes if len(size) > 1)
    return bool(plain) and target.max_shared // plain == target.max_shared // padded


def _choose(planner: Planner, kernel: ir.Kernel, buffer: ir.Buffer, room: bool) -> tuple[int, bool, str]:
    """(columns of padding, whether to swizzle, why): the fewest passes; of equals padding where there is `room`."""
    found = list(accesses(planner, kernel, buffer))
    if not found:
        return 0, False, "only whole rows are touched: no conflict"
    own = _own_padding(planner, kernel, buffer)
    if own:
        costs = [_cost(planner, found, buffer, pad) for pad in (0, -own)]
        return 0, False, (f"the kernel's own padding of {own} column(s) is kept: the worst access takes "
                          f"{max(costs[0])} pass(es), without it {max(costs[1])}")
    plain = _words(planner, found, buffer)
    if max(_cost(planner, found, buffer, 0)) == 1:
        return 0, False, f"none: {plain}"
    pad, costs = _best_pad(planner, found, buffer)
    swizzle, why_not = _swizzle(planner, kernel, buffer)
    if swizzle:
        cost = _cost(planner, found, buffer, 0, swizzle)
        if cost < costs[pad] or cost == costs[pad] and not room:
            words = _words(planner, found, buffer, swizzle)
            return 0, True, (f"swizzled: the 16-byte pieces of a row change places in groups of {swizzle.group}, by "
                             f"the row; {words} (plain rows: {plain})")
        why_not = f"a swizzle takes {max(cost)} too, and a register for each place" if cost == costs[pad] else \
            f"a swizzle takes {max(cost)}"
    if pad == 0:
        return 0, False, f"worst access takes {max(costs[0])} pass(es); no padding makes it fewer, and {why_not}"
    return pad, False, (f"{max(costs[0])} passes without padding, {max(costs[pad])} with {pad} more column(s); "
                        f"no swizzle: {why_not}")


def _best_pad(planner: Planner, found: list[Access], buffer: ir.Buffer) -> tuple[int, dict[int, tuple[int, int]]]:
    """The padding with the fewest passes, and the passes of all; vectors keep their alignment."""
    size = buffer.dtype.bytes
    vectors = any(access.width > 1 for access in found if access.work)
    pads = [p for p in (*PADS, PIECE // size) if not vectors or p * size % PIECE == 0]
    costs = {pad: _cost(planner, found, buffer, pad) for pad in pads}
    return min(pads, key=lambda p: (costs[p], p)), costs


def _own_padding(planner: Planner, kernel: ir.Kernel, buffer: ir.Buffer) -> int:
    """Columns at the end of each row that no gemm reads, where gemms are all that reads the tile."""
    gemms = [n for n in ir.walk(kernel.body) if isinstance(n, ir.Gemm)]
    reads = [r for n in gemms for r in (n.a, n.b) if r.buffer.name == buffer.name]
    others = [n for n in ir.walk(kernel.body) if isinstance(n, ir.Load) and n.buffer.name == buffer.name]
    if others or any(r.offsets[-1] != ir.Const(0) for r in reads):
        return 0
    width = planner.value(buffer.shape[-1]) or 0
    return width - max((planner.value(r.extents[-1]) or width for r in reads), default=width)


def _cost(planner: Planner, found: list[Access], buffer: ir.Buffer, pad: int,
          swizzle: Swizzle | None = None) -> tuple[int, int]:
    """Passes of the worst access that is the kernel's work, then of the worst copy of a tile."""
    counts = [(passes(planner, access, buffer, pad, swizzle), access.work) for access in found]
    return max((n for n, work in counts if work), default=1), max((n for n, work in counts if not work), default=1)


def _words(planner: Planner, found: list[Access], buffer: ir.Buffer, swizzle: Swizzle | None = None) -> str:
    """`ldmatrix 1 pass, copies of the block 2 passes`"""
    worst: dict[str, int] = {}
    for access in found:
        worst[access.what] = max(worst.get(access.what, 1), passes(planner, access, buffer, 0, swizzle))
    return ", ".join(f"{what} {n} pass{'es' if n > 1 else ''}" for what, n in worst.items())


def _swizzle(planner: Planner, kernel: ir.Kernel, buffer: ir.Buffer) -> tuple[Swizzle | None, str]:
    """The swizzle of a tile, or None and why it can have none."""
    size, cols = buffer.dtype.bytes, planner.value(buffer.shape[-1]) or 1
    if cols * size % PIECE:
        return None, f"rows of {cols * size} bytes are not made of {PIECE}-byte pieces"
    swizzle = Swizzle.of(cols, PIECE // size)
    if swizzle.group == 1:
        return None, f"a row has {cols * size // PIECE} pieces, an odd number"
    for node in ir.walk(kernel.body):
        if isinstance(node, ir.Gemm):
            for region, form in zip((node.a, node.b), _forms(node)):
                if region.buffer.name == buffer.name and (not form or form == "column" and size < 4):
                    return None, "an operand is read along several pieces"
        if isinstance(node, (ir.Reduce, ir.Scan, ir.Vote)) and _touches(node, buffer) or \
                isinstance(node, ir.UnOp) and node.op == "&" and _touches(node, buffer) or \
                isinstance(node, ir.Raw) and buffer.name in node.text:
            return None, "not all that touches it goes by element"
    return swizzle, ""


def _forms(gemm: ir.Gemm) -> tuple[str, str]:
    return (gemm.plan.a_form, gemm.plan.b_form) if isinstance(gemm.plan, MmaChoice) else ("", "")


def _touches(node: ir.Node, buffer: ir.Buffer) -> bool:
    return any(isinstance(n, ir.Buffer) and n.name == buffer.name for n in ir.walk(node))
