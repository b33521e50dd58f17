"""How the first warp of a block touches a shared tile: one entry for each access of the kernel's text.

Precondition: layouts inferred. An access knows the element that each lane starts at and how many it takes at
once; layout.bank_conflicts turns the addresses into passes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from tilegen import arith, ir
from tilegen.instructions import matrix_instruction
from tilegen.layout import FragmentLayout, Swizzle, bank_conflicts
from tilegen.passes.layout_classes import dimensions
from tilegen.passes.plan_copies import block_width, register_width
from tilegen.passes.plan_gemm import along_width
from tilegen.passes.plan_stmatrix import stores_matrices
from tilegen.passes.planner import Planner, unit
from tilegen.plan import EngineTile, MmaChoice, OpPlan, PlacedBuffer, SwizzledBuffer
from tilegen.targets.base import Target

Indices = tuple[int, ...]


@dataclass(frozen=True)
class Access:
    """`what` in words, the element that a lane starts at, elements at once, and whether it is the work of the
    kernel itself (an operand, an element) rather than a copy of a tile as a whole."""

    what: str
    element: Callable[[int], Indices]
    width: int
    work: bool = True


def passes(planner: Planner, access: Access, buffer: ir.Buffer, pad: int = 0, swizzle: Swizzle | None = None) -> int:
    """How often shared memory is asked for one access of a warp; 1 means no bank conflict. `pad` columns follow
    each row, or the pieces of a row change places by `swizzle`. Where a pitch leaves a copy no vectors, it goes by
    neighbouring elements, in neighbouring banks."""
    size = buffer.dtype.bytes
    shape = [planner.value(e) or 1 for e in buffer.shape]
    if not access.work and (shape[-1] + pad) % access.width:
        return 1
    lanes = range(min(planner.target.warp_size, 32, planner.threads))

    def address(indices: Indices) -> int:
        if isinstance(buffer, EngineTile):
            return _in_engine_order(indices, shape, size)
        if swizzle:
            indices = (*indices[:-1], swizzle.place(*indices[-2:]))
        flat = 0
        for index, extent in zip(indices, [*shape[:-1], shape[-1] + pad]):
            flat = flat * extent + index
        return flat * size

    return bank_conflicts([address(access.element(lane)) for lane in lanes], size * access.width)


def _in_engine_order(indices: Indices, shape: list[int], size: int) -> int:
    """Where an element of a tile of the copy engine lies in bytes, as the device function engine_place says."""
    *lead, row, col = indices
    rows, piece, chunk = shape[-2], 128 // size, 16 // size
    stage = 0
    for index, extent in zip(lead, shape):
        stage = stage * extent + index
    place = (col // piece * rows + row) * piece + (col % piece // chunk ^ row % 8) * chunk + col % chunk
    return (stage * rows * shape[-1] + place) * size


def accesses(planner: Planner, kernel: ir.Kernel, buffer: ir.Buffer) -> Iterator[Access]:
    """Every access to `buffer`, in the order of the statements."""
    for node in ir.walk(kernel.body):
        if isinstance(node, ir.Parallel):
            yield from _of_nest(planner, node, buffer)
        elif isinstance(node, ir.Gemm):
            yield from _of_gemm(planner, node, buffer)
        elif isinstance(node, ir.Copy) and buffer.name in (node.src.buffer.name, node.dst.buffer.name):
            yield from _of_copy(planner, node, buffer)


def _of_nest(planner: Planner, nest: ir.Parallel, buffer: ir.Buffer) -> Iterator[Access]:
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
                yield Access("elements", lambda lane, n=node: tuple(
                    _index(i, variables(lane), planner) for i in n.indices), 1)


def _index(expr: ir.Expr, variables: dict[str, int], planner: Planner) -> int:
    others = {name: 0 for name in arith.names(expr)}
    return int(arith.evaluate(expr, {**others, **planner.env, **variables}) or 0)


# ---- Copies ---------------------------------------------------------------------------------------
def _of_copy(planner: Planner, copy: ir.Copy, buffer: ir.Buffer) -> Iterator[Access]:
    scopes = {copy.src.buffer.scope, copy.dst.buffer.scope}
    mine, other = (copy.src, copy.dst) if copy.src.buffer.name == buffer.name else (copy.dst, copy.src)
    if "local" in scopes or not dimensions(mine) or isinstance(copy.plan, OpPlan):    # the engine's own work
        return
    if stores_matrices(planner.target, planner.kernel.plan.layouts, copy, planner.env):
        yield Access("stmatrix", lambda lane: (lane % 8, 0), 16 // buffer.dtype.bytes)
        return
    if "fragment" in scopes:
        yield from _of_registers(planner, mine, other)
        return
    extents = [planner.value(mine.extents[d]) or 1 for d in dimensions(mine)]
    width = block_width(planner, copy, [mine.extents[d] for d in dimensions(mine)])

    def element(lane: int) -> Indices:
        at, index = lane * width, [0] * len(mine.extents)
        for d, extent in reversed(list(zip(dimensions(mine), extents))):
            at, index[d] = divmod(at, extent)
        return tuple(index)

    yield Access("copies of the block", element, width, work=False)


def _of_registers(planner: Planner, mine: ir.Region, fragment: ir.Region) -> Iterator[Access]:
    layout = planner.layout(fragment.buffer)
    own, its = dimensions(mine), dimensions(fragment)

    def element(lane: int) -> Indices:
        index = [0] * len(mine.extents)
        for d, axis in zip(own, (layout.axes[d] for d in its)):
            index[d] = axis.element(layout.digit(axis, lane), 0)
        return tuple(index)

    yield Access("registers", element, register_width(planner, fragment, mine, layout.axes))


# ---- Operands of products -------------------------------------------------------------------------
def _of_gemm(planner: Planner, gemm: ir.Gemm, buffer: ir.Buffer) -> Iterator[Access]:
    layout = planner.layout(gemm.c.buffer)
    rows, cols = layout.axes[-2:]
    for region, axis, k_first in ((gemm.a, rows, gemm.transpose_a), (gemm.b, cols, not gemm.transpose_b)):
        if region.buffer.name != buffer.name:
            continue
        lead = (0,) * (len(buffer.shape) - 2)
        if isinstance(gemm.plan, MmaChoice):
            form = gemm.plan.a_form if region is gemm.a else gemm.plan.b_form
            yield _of_quads(layout, gemm, region, lead) if form == "quads" else \
                operand_access(form, k_first, lead, buffer)
            continue
        width = axis.vector if k_first else min(along_width(axis.slots), 16 // buffer.dtype.bytes)

        def index(lane: int, axis=axis, k_first=k_first, lead=lead) -> Indices:
            at = axis.element(layout.digit(axis, lane), 0)
            return (*lead, 0, at) if k_first else (*lead, at, 0)

        yield Access("an operand", index, width)


def _of_quads(layout: FragmentLayout, gemm: ir.Gemm, region: ir.Region, lead: Indices) -> Access:
    """How the lanes of a warp read four neighbours of an operand of Volta's instruction."""
    instruction = matrix_instruction(gemm.plan.helper)
    fragment = instruction.a if region is gemm.a else instruction.b
    by_eights = layout.threads_m if region is gemm.a else 2 * layout.threads_n      # from 8 rows (columns) to the next
    turned = region is gemm.b and gemm.transpose_b

    def index(lane: int) -> Indices:
        row, col = fragment.at(lane, 0)
        at = row // 8 * by_eights + row % 8 if region is gemm.a else col // 8 * by_eights + col % 8
        return (*lead, *((at, 0) if region is gemm.a or turned else (row, at)))

    return Access("an operand by quads", index, 4)


def operand_access(form: str, k_first: bool, lead: Indices, buffer: ir.Buffer) -> Access:
    """How the lanes of a warp read an operand of a matrix instruction, see mma_operands.py."""
    packed = 4 // min(4, buffer.dtype.bytes)
    if form == "matrix":                                  # eight rows of 16 bytes in one pass
        return Access("ldmatrix", lambda lane: (*lead, lane % 8, 0), 16 // buffer.dtype.bytes)

    def index(lane: int) -> Indices:
        pair = lane // 4, lane % 4 * packed
        return (*lead, *(reversed(pair) if k_first else pair))

    return Access(f"an operand by {form}s", index, packed if form == "words" else 1)


def conflicts(kernel: ir.Kernel, target: Target) -> list[tuple[str, str, int]]:
    """(buffer, what, passes beyond the first) of every access of a warp to shared memory, from a kernel that has
    come as far as pad_shared: the static count of bank conflicts. Tiles that lie as the kernel asks are left out."""
    planner = Planner(kernel, target)
    found = []
    for node in ir.walk(kernel.body):
        if not (isinstance(node, ir.Alloc) and node.buffer.scope == "shared") or isinstance(node.buffer, PlacedBuffer):
            continue
        cols = planner.value(node.buffer.shape[-1]) or 1
        swizzle = Swizzle.of(cols, 16 // node.buffer.dtype.bytes) if isinstance(node.buffer, SwizzledBuffer) else None
        found += [(node.buffer.name, access.what, passes(planner, access, node.buffer, swizzle=swizzle) - 1)
                  for access in accesses(planner, kernel, node.buffer)]
    return found
