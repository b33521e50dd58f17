"""pad_shared: pad the rows of shared tiles where a warp would hit one bank several times.

Precondition: layouts inferred, nothing planned yet. Effect: a shared buffer whose accesses conflict
gets a few more columns, named `<TILE>_PAD`; what the user padded stays as it is if it serves.
The addresses of the first warp are enumerated for every access and every candidate (layout.bank_conflicts).
Before: tile[32][32], read by columns (32 passes)    After: tile[32][32 + TILE_PAD], TILE_PAD = 1
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from tilegen import arith, ir
from tilegen.instructions import matrix_instruction
from tilegen.layout import FragmentLayout, bank_conflicts
from tilegen.passes.plan_gemm import along_width
from tilegen.passes.planner import Planner, tile_name, unit
from tilegen.plan import MmaChoice, PlacedBuffer
from tilegen.targets.base import Target

PADS = (0, 1, 2, 4, 8)
Access = tuple[Callable[[int], tuple[int, ...]], int]  # lane -> indices, elements at once


def pad_shared(kernel: ir.Kernel, target: Target) -> ir.Kernel:
    planner = Planner(kernel, target)
    padded: dict[str, ir.Buffer] = {}
    aliased = {name for n in ir.walk(kernel.body) if isinstance(n, ir.Alias) for name in (n.name, n.base.name)}
    notes = []
    for node in ir.walk(kernel.body):
        if not (isinstance(node, ir.Alloc) and node.buffer.scope == "shared" and len(node.buffer.shape) >= 2):
            continue
        if isinstance(node.buffer, PlacedBuffer):   # as the kernel asks
            continue
        if node.buffer.name in aliased:             # both names count its elements without gaps
            continue
        buffer = node.buffer
        pad, reason = _choose(planner, kernel, buffer)
        notes.append((f"bank conflicts of {buffer.name}", reason))
        if pad:
            name = planner.constant(
                f"{tile_name(buffer)}_PAD",
                pad,
                f"columns after each row of {buffer.name} that keep banks apart",
            )
            padded[buffer.name] = replace(buffer, shape=(*buffer.shape[:-1], arith.add(buffer.shape[-1], name)))

    def rule(node):
        return padded.get(node.name) if isinstance(node, ir.Buffer) and node.scope == "shared" else None

    body = ir.rewrite(kernel.body, rule) if padded else kernel.body
    return planner.finish(body, notes=kernel.plan.notes + tuple(notes))


def _choose(planner: Planner, kernel: ir.Kernel, buffer: ir.Buffer) -> tuple[int, str]:
    """The padding with the fewest passes, and why."""
    accesses = list(_accesses(planner, kernel, buffer))
    if not accesses:
        return 0, "only whole rows are touched: no conflict"
    shape = [planner.value(e) or 1 for e in buffer.shape]
    own = _own_padding(planner, kernel, buffer)
    if own:
        costs = [_passes(planner, accesses, shape, pad, buffer) for pad in (0, -own)]
        return 0, (f"the kernel's own padding of {own} column(s) is kept: the worst access takes {costs[0]} pass(es), "
                   f"without it {costs[1]}")
    costs = {pad: _passes(planner, accesses, shape, pad, buffer) for pad in (*PADS, 16 // buffer.dtype.bytes)}
    vectors = any(width > 1 for _, width in accesses)
    pads = (p for p in (*PADS, 16 // buffer.dtype.bytes) if not vectors or p * buffer.dtype.bytes % 16 == 0)
    best = min(pads, key=lambda p: (costs[p], p))
    if best == 0:
        return 0, f"worst access takes {costs[0]} pass(es); no padding makes it fewer"
    return best, f"{costs[0]} passes without padding, {costs[best]} with {best} more column(s)"


def _own_padding(planner: Planner, kernel: ir.Kernel, buffer: ir.Buffer) -> int:
    """Columns at the end of each row that no gemm reads, where gemms are all that reads the tile."""
    gemms = [n for n in ir.walk(kernel.body) if isinstance(n, ir.Gemm)]
    reads = [r for n in gemms for r in (n.a, n.b) if r.buffer.name == buffer.name]
    others = [n for n in ir.walk(kernel.body) if isinstance(n, ir.Load) and n.buffer.name == buffer.name]
    if others or any(r.offsets[-1] != ir.Const(0) for r in reads):
        return 0
    width = planner.value(buffer.shape[-1]) or 0
    return width - max((planner.value(r.extents[-1]) or width for r in reads), default=width)


def _passes(planner: Planner, accesses: list[Access], shape: list[int], pad: int, buffer: ir.Buffer) -> int:
    """Passes of the worst access."""
    size = buffer.dtype.bytes
    lanes = range(min(planner.target.warp_size, 32, planner.threads))

    def address(indices: tuple[int, ...]) -> int:
        flat = 0
        for index, extent in zip(indices, [*shape[:-1], shape[-1] + pad]):
            flat = flat * extent + index
        return flat * size

    return max(
        bank_conflicts([address(lane_index(lane)) for lane in lanes], size * width)
        for lane_index, width in accesses
    )


def _accesses(planner: Planner, kernel: ir.Kernel, buffer: ir.Buffer):
    for node in ir.walk(kernel.body):
        if isinstance(node, ir.Parallel):
            yield from _of_nest(planner, node, buffer)
        elif isinstance(node, ir.Gemm):
            yield from _of_gemm(planner, node, buffer)


def _of_nest(planner: Planner, nest: ir.Parallel, buffer: ir.Buffer):
    extents = [planner.value(e) or 1 for e in nest.extents]
    axes = nest.plan.axes
    layout = next(iter(planner.kernel.plan.layouts.values()), None)

    def variables(lane: int) -> dict[str, int]:
        if axes is not None:
            return {v.name: a.element(layout.digit(a, lane), 0) for v, a in zip(nest.vars, axes) if not unit(a)}
        values = {}
        for var, extent in reversed(list(zip(nest.vars, extents))):
            lane, values[var.name] = divmod(lane, extent)
        return values

    for statement in nest.body:
        for node in ir.walk(statement):
            if isinstance(node, (ir.Load, ir.Store, ir.Atomic)) and node.buffer.name == buffer.name:
                yield lambda lane, n=node: tuple(_index(i, variables(lane), planner) for i in n.indices), 1


def _index(expr: ir.Expr, variables: dict[str, int], planner: Planner) -> int:
    others = {name: 0 for name in arith.names(expr)}
    return int(arith.evaluate(expr, {**others, **planner.env, **variables}) or 0)


def _of_gemm(planner: Planner, gemm: ir.Gemm, buffer: ir.Buffer):
    layout = planner.layout(gemm.c.buffer)
    rows, cols = layout.axes[-2:]
    for region, axis, k_first in ((gemm.a, rows, gemm.transpose_a), (gemm.b, cols, not gemm.transpose_b)):
        if region.buffer.name != buffer.name:
            continue
        lead = (0,) * (len(buffer.shape) - 2)
        if isinstance(gemm.plan, MmaChoice):
            form = gemm.plan.a_form if region is gemm.a else gemm.plan.b_form
            yield _of_quads(layout, gemm, region, lead) if form == "quads" else _of_matrix(form, k_first, lead, buffer)
            continue
        width = axis.vector if k_first else min(along_width(axis.slots), 16 // buffer.dtype.bytes)

        def index(lane: int, axis=axis, k_first=k_first, lead=lead) -> tuple[int, ...]:
            at = axis.element(layout.digit(axis, lane), 0)
            return (*lead, 0, at) if k_first else (*lead, at, 0)

        yield index, width


def _of_quads(layout: FragmentLayout, gemm: ir.Gemm, region: ir.Region, lead: tuple[int, ...]) -> Access:
    """How the lanes of a warp read four neighbours of an operand of Volta's instruction."""
    instruction = matrix_instruction(gemm.plan.helper)
    fragment = instruction.a if region is gemm.a else instruction.b
    by_eights = layout.threads_m if region is gemm.a else 2 * layout.threads_n      # from 8 rows (columns) to the next
    turned = region is gemm.b and gemm.transpose_b

    def index(lane: int) -> tuple[int, ...]:
        row, col = fragment.at(lane, 0)
        at = row // 8 * by_eights + row % 8 if region is gemm.a else col // 8 * by_eights + col % 8
        return (*lead, *((at, 0) if region is gemm.a or turned else (row, at)))

    return index, 4


def _of_matrix(form: str, k_first: bool, lead: tuple[int, ...], buffer: ir.Buffer) -> Access:
    """How the lanes of a warp read an operand of a matrix instruction, see mma_operands.py."""
    packed = 4 // min(4, buffer.dtype.bytes)
    if form == "matrix":                                  # ldmatrix: eight rows of 16 bytes in one pass
        return lambda lane: (*lead, lane % 8, 0), 16 // buffer.dtype.bytes

    def index(lane: int) -> tuple[int, ...]:
        pair = lane // 4, lane % 4 * packed
        return (*lead, *(reversed(pair) if k_first else pair))

    return index, packed if form == "words" else 1
