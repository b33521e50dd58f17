"""plan_copies: how every copy runs.

Precondition: layouts inferred. Effect: each Copy has a NestPlan: loops over a thread's part
of a fragment, or over a tile in steps of the block, with the widest vector that is legal.
Before: T.copy(A[by * BM, ko * BK], A_shared)
After:  for e = threadIdx.x * A_VEC; e < BM * BK; e += THREADS * A_VEC: copy_inside<A_VEC>(...)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tilegen import arith, ir
from tilegen.passes.accesses import conditions, conjunction, zero
from tilegen.passes.layout_classes import dimensions
from tilegen.passes.planner import THREAD, THREADS, Planner, coordinate
from tilegen.passes.register_copies import same_registers
from tilegen.passes.replicas import speaker
from tilegen.passes.place_annotated import stay_together
from tilegen.passes.walks import fragment_index, plain_index, strided
from tilegen.passes.whole_rows import fast_path, whole_rows
from tilegen.plan import Loop, Move, NestPlan, OpPlan
from tilegen.strided import has_rows
from tilegen.targets.base import Target

LEAST_ASYNCHRONOUS = 4                  # bytes of one cp.async


def plan_copies(kernel: ir.Kernel, target: Target) -> ir.Kernel:
    planner = Planner(kernel, target)
    held: dict[str, ir.Buffer] = {}                       # registers between the halves of a copy

    def rule(node):
        if isinstance(node, ir.Copy) and node.plan is None:
            plan, why = _copy(planner, node, held), dict(node.options).get("why", "")
            if not why and same_registers(planner, node):
                return replace(node, plan=OpPlan("copy_registers", {}, plan.reason))
            return replace(node, plan=replace(plan, why=why))
        return None

    body = ir.rewrite(kernel.body, rule)
    return planner.finish(ir.rewrite(body, lambda n: replace(n, buffer=held[n.buffer.name]) if isinstance(n, ir.Alloc)
                                     and n.buffer.name in held else None) if held else body)


def _copy(planner: Planner, copy: ir.Copy, held: dict[str, ir.Buffer]) -> NestPlan:
    for half in ("fetch", "keep"):
        if half in dict(copy.options):
            return _half(planner, copy, half, held)
    scopes = {copy.src.buffer.scope, copy.dst.buffer.scope}
    if "fragment" in scopes:
        return _through_registers(planner, copy)
    if "local" in scopes:
        return _each_thread(planner, copy)
    return _by_the_block(planner, copy)


# ---- Between shared and global memory: the block walks the tile ----------------------------------
def _by_the_block(planner: Planner, copy: ir.Copy) -> NestPlan:
    src_dims, dst_dims = dimensions(copy.src), dimensions(copy.dst)
    tile = copy.dst if copy.dst.buffer.scope == "shared" else copy.src
    extents = [tile.extents[d] for d in dimensions(tile)]
    width = block_width(planner, copy, extents)
    step = planner.vector(tile.buffer, width)
    loops, coordinates = strided(planner, extents, step, set())
    lets: list[ir.Let] = []
    src = _indices(planner, copy.src, src_dims, coordinates, lets, loops)
    dst = _indices(planner, copy.dst, dst_dims, coordinates, lets, loops)
    if extents:
        planner.check_multiple(extents[-1], step, "rows are made of whole vectors")
        for buffer in (copy.src.buffer, copy.dst.buffer):
            if buffer.scope == "shared":
                planner.check_multiple(buffer.shape[-1], step, "rows are made of whole vectors")
    last = loops[-1]
    loops = (*loops[:-1], replace(last, lets=last.lets + tuple(lets)))
    reason = f"the block walks the tile, {width} elements ({width * tile.buffer.dtype.bytes} bytes) per thread and step"
    plan = finished(planner, copy, src, dst, step, width, NestPlan(loops, (), reason=reason))
    return fast_path(planner, copy, plan, step, width) if width > 1 else plan


def _half(planner: Planner, copy: ir.Copy, half: str, held: dict[str, ir.Buffer]) -> NestPlan:
    """A copy from global to shared memory in two halves: "fetch" into a thread's registers, "keep" from them."""
    registers, tile = dict(copy.options)[half], copy.dst
    extents = [tile.extents[d] for d in dimensions(tile)]
    width, total = block_width(planner, copy, extents), planner.value(arith.product(extents))
    while total % (width * planner.threads):
        width //= 2
    step = planner.vector(tile.buffer, width)
    (loop,), coordinates = strided(planner, extents, step, set())
    registers = replace(registers, shape=(arith.divide(arith.product(extents), THREADS),))
    held[registers.name] = registers
    box = ir.Region(registers, (ir.Const(0),), registers.shape)
    copy = replace(copy, dst=box) if half == "fetch" else replace(copy, src=box)
    outer, lets = copy.src if half == "fetch" else copy.dst, []
    index = _indices(planner, outer, dimensions(outer), coordinates, lets, (loop,))
    slot = (arith.divide(loop.var, THREADS),)
    src, dst = (index, slot) if half == "fetch" else (slot, index)
    planner.check_multiple(extents[-1], step, "rows are made of whole vectors")
    plan = NestPlan((replace(loop, lets=loop.lets + tuple(lets), unroll=True, pragma=""),), (), reason="each thread "
                    f"moves its share of the next step's tile through registers, {width} elements at a time")
    plan = finished(planner, copy, src, dst, step, width, plan)
    return fast_path(planner, copy, plan, step, width) if width > 1 else plan


def block_width(planner: Planner, copy: ir.Copy, extents: list[ir.Expr]) -> int:
    """Elements that a thread moves at once where the block walks a tile."""
    if not extents or not (_rows_match(copy.src) and _rows_match(copy.dst)):
        return 1
    if copy.src.buffer.scope == copy.dst.buffer.scope == "global":
        return 1                        # either side may be unaligned or end early
    widest = max(copy.src.buffer.dtype.bytes, copy.dst.buffer.dtype.bytes)
    width = planner.target.vector_bytes // widest
    total = planner.value(arith.product(extents)) or 0
    least = LEAST_ASYNCHRONOUS // widest if _asynchronous(planner, copy) else 1     # few threads rather than a wait
    while width > 1 and (total // width < planner.threads and width > least
                         or not _divides(planner, copy, extents[-1], width)):
        width //= 2
    return max(1, width)


def _asynchronous(planner: Planner, copy: ir.Copy) -> bool:
    """Whether this copy runs ahead of its use, as far as its dtypes and the target go."""
    return dict(copy.options).get("asynchronous", False) and planner.target.async_copies \
        and copy.src.buffer.dtype == copy.dst.buffer.dtype


def _divides(planner: Planner, copy: ir.Copy, extent: ir.Expr, width: int) -> bool:
    value = planner.value(extent)
    if value is None or value % width:
        return False
    return all(_aligned(planner, region, width) for region in (copy.src, copy.dst))


def _aligned(planner: Planner, region: ir.Region, width: int) -> bool:
    """Whether vectors of `width` elements serve a box. In shared memory they have to start at multiples of
    it. Global addresses are tested where they are used, but a vector must not straddle the start of a row."""
    offset = planner.multiple_of(region.offsets[-1])
    if not has_rows(region.buffer):
        return False
    if region.buffer.scope != "shared":
        return offset % width == 0 or planner.ranges.natural(region.offsets[-1])
    pitch = planner.value(region.buffer.shape[-1])
    return pitch is not None and pitch % width == 0 and offset % width == 0 and stay_together(region.buffer, width)


def _rows_match(region: ir.Region) -> bool:
    """Whether the last dimension of the box is the contiguous one of the buffer."""
    return bool(region.extents) and dimensions(region)[-1:] == [len(region.extents) - 1]


# ---- Between registers and memory, or between fragments -------------------------------------------
def _through_registers(planner: Planner, copy: ir.Copy) -> NestPlan:
    loads = copy.dst.buffer.scope == "fragment"
    tile, other = (copy.dst, copy.src) if loads else (copy.src, copy.dst)
    axes = planner.layout(tile.buffer).axes
    tile_dims, other_dims = [d for d, e in enumerate(tile.buffer.shape) if e != ir.Const(1)], dimensions(other)
    both_fragments = other.buffer.scope == "fragment"
    width = 1 if both_fragments else register_width(planner, tile, other, axes)
    names = planner.slot_names(tuple(axes[d] for d in tile_dims), set())
    loops, slots, coordinates, guards = [], [], [], []
    for position, d in enumerate(tile_dims):
        axis = axes[d]
        step: ir.Expr = ir.Const(1)
        if width > 1 and d == len(axes) - 1:
            step = ir.Var(axis.vector_name, kind="knob") if width == axis.vector else planner.vector(tile.buffer, width)
        loops.append(planner.slot_loop(axis, names[position], step))
        slots.append(loops[-1].var)
        coordinates.append(coordinate(axis, loops[-1].var))
    tile_index = fragment_index(tile, tile_dims, slots)
    if both_fragments:
        other_index = fragment_index(other, other_dims, slots)
    else:
        other_index, guards = _memory_index(planner, tile, other, axes, tile_dims, other_dims, coordinates, loops)
    src, dst = (other_index, tile_index) if loads else (tile_index, other_index)
    once = None if loads or both_fragments else speaker(planner, planner.layout(tile.buffer), tile.buffer)
    plan = NestPlan(tuple(loops), (), guard=conjunction(guards), once=once,
                    reason=f"each thread moves its own part of {tile.buffer.name}, "
                    + (f"{width} elements at a time" if width > 1 else "element by element"))
    step = loops[-1].step if loops and width > 1 else ir.Const(1)
    plan = finished(planner, copy, src, dst, step, width, plan)
    if guards or width == 1:
        return plan
    whole = whole_rows(planner, other, plan, step)
    if whole is None and width * other.buffer.dtype.bytes == planner.target.vector_bytes:
        return fast_path(planner, copy, plan, step, width)
    return whole or plan


def _memory_index(planner, tile, other, axes, tile_dims, other_dims, coordinates, loops):
    """Indices into memory for a thread's slots; named coordinates go into the loops' lets."""
    guards, named = [], []
    words = {1: ["i"], 2: ["row", "col"]}.get(len(tile_dims), ["slab", "plane", "row", "col"][-len(tile_dims):])
    paired = dimensions(tile)
    for position, d in enumerate(tile_dims):
        axis, value = axes[d], coordinates[position]
        word = planner.fresh(words[position], words[position] + "_in_tile")
        planner.ranges.ranges[word] = (0, axis.extent - 1)          # guarded where it may pass that
        planner.ranges.limits[word] = tile.buffer.shape[d]
        let = ir.Var(word, kind="let")
        loops[position] = replace(loops[position], lets=(ir.Let(let, value),))
        partial = planner.value(tile.extents[d]) != axis.extent or tile.offsets[d] != ir.Const(0)
        if d not in paired:                             # a single row or column
            guards.append(arith.binary("==", let, tile.offsets[d]))
            continue
        if partial and tile.offsets[d] != ir.Const(0):
            guards.append(arith.binary(">=", let, tile.offsets[d]))
        if partial or axis.padded:
            guards.append(arith.less(let, arith.add(tile.offsets[d], tile.extents[d])))
        named.append(arith.subtract(let, tile.offsets[d]))
    lets: list[ir.Let] = []
    index = _indices(planner, other, other_dims, named, lets, loops)
    _place_lets(loops, lets)
    return index, guards


def _place_lets(loops: list[Loop], lets: list[ir.Let]) -> None:
    """Each let goes into the outermost loop in which its names are known; a coordinate that only
    feeds one let is written there."""
    for let in lets:
        used = arith.names(let.value)
        position = 0
        for i, loop in enumerate(loops):
            if used & ({loop.var.name} | {x.var.name for x in loop.lets}):
                position = i
        if loops:
            loops[position] = replace(loops[position], lets=loops[position].lets + (let,))


def register_width(planner: Planner, tile: ir.Region, other: ir.Region, axes) -> int:
    """Elements that a thread moves at once between its part of the fragment `tile` and `other` in memory."""
    dims = dimensions(tile)
    if not dims or not _rows_match(other) or dims[-1] != len(axes) - 1 or axes[-1].vector == 1:
        return 1
    if planner.multiple_of(tile.offsets[-1]) % axes[-1].vector or \
            (planner.value(tile.extents[dims[-1]]) or 1) % axes[-1].vector:
        return 1
    width = axes[-1].vector
    while width > 1 and (width * other.buffer.dtype.bytes > planner.target.vector_bytes
                         or not _aligned(planner, other, width)):
        width //= 2
    return width


# ---- In each thread -------------------------------------------------------------------------------
def _each_thread(planner: Planner, copy: ir.Copy) -> NestPlan:
    src_dims, dst_dims = dimensions(copy.src), dimensions(copy.dst)
    box = copy.dst if copy.dst.buffer.scope == "local" else copy.src
    loops, coordinates = [], []
    for d in dimensions(box):
        var = ir.Var(planner.fresh("ijkl"[len(loops)], "ijkl"[len(loops)] + "_local"), kind="loop")
        loops.append(Loop(var, ir.Const(0), box.extents[d], ir.Const(1), unroll=True))
        coordinates.append(var)
    src = tuple(plain_index(copy.src, src_dims, coordinates))
    dst = tuple(plain_index(copy.dst, dst_dims, coordinates))
    once = None
    if copy.dst.buffer.scope in ("shared", "global"):
        once = arith.binary("==", THREAD, ir.Const(0))
    return finished(planner, copy, src, dst, ir.Const(1), 1,
                   NestPlan(tuple(loops), (), once=once, reason="every thread has its own copy"))


# ---- Common ends ----------------------------------------------------------------------------------
def _indices(planner: Planner, region: ir.Region, dims: list[int], coordinates: list[ir.Expr],
             lets: list[ir.Let], loops: Sequence[Loop]) -> tuple[ir.Expr, ...]:
    """Indices of an element inside of `loops`; those of a global tensor get names: m for a dimension M."""
    inside = {name for loop in loops for name in (loop.var.name, *(let.var.name for let in loop.lets))}
    index = plain_index(region, dims, coordinates)
    if region.buffer.scope != "global":
        return tuple(index)
    for d, value in enumerate(index):
        if isinstance(value, (ir.Const, ir.Var)):
            continue
        extent = region.buffer.shape[d]
        used = inside | {let.var.name for let in lets}
        word = "col" if d == len(index) - 1 else "row"
        wanted = [extent.name.lower()] if isinstance(extent, ir.Var) and extent.name.lower() != extent.name else []
        var = ir.Var(planner.fresh(*wanted, f"{region.buffer.name}_{word}", used=used), kind="let")
        known = next((x.var for x in lets if x.value == value), None)
        if known is None:
            planner.ranges.ranges[var.name] = arith.bounds(value, planner.ranges.ranges)
            planner.ranges.values[var.name] = value
            planner.ranges.limits.pop(var.name, None)
            lets.append(ir.Let(var, value))
        index[d] = known or var
    return tuple(index)


def finished(planner: Planner, copy: ir.Copy, src, dst, step: ir.Expr, width: int, plan: NestPlan) -> NestPlan:
    """The body: a vector move, a guarded element, or one in the background where it has enough bytes for that."""
    source, target = ir.Load(copy.src.buffer, src), ir.Load(copy.dst.buffer, dst)
    ahead = _asynchronous(planner, copy) and plan.guard is None
    if width > 1 or ahead and source.dtype.bytes >= LEAST_ASYNCHRONOUS:
        return replace(plan, body=(_vector_move(planner, source, target, step, ahead),))
    value: ir.Expr = source
    outside = conditions(source.buffer, src, planner.ranges) if source.buffer.scope == "global" else []
    if outside:
        value = ir.Select(conjunction(outside), source, zero(source.dtype), source.dtype.compute)
    guard = plan.guard
    if target.buffer.scope == "global":
        guard = arith.both(guard, conjunction(conditions(target.buffer, dst, planner.ranges)))
    return replace(plan, guard=guard, body=(ir.Store(copy.dst.buffer, dst, value),))


def _vector_move(planner: Planner, source: ir.Load, target: ir.Load, step: ir.Expr, ahead: bool) -> Move:
    registers = {"fragment", "local"}
    outer = source if source.buffer.scope == "global" else target if target.buffer.scope == "global" else None
    size = arith.multiply(ir.Const(source.dtype.bytes), step)
    asynchronous = ahead and planner.value(size) >= LEAST_ASYNCHRONOUS
    verb = ("load" if target.buffer.scope in registers else "store" if source.buffer.scope in registers else "copy")
    if outer is None:
        return Move(f"{verb}_vector", target, source, step)
    if verb == "copy":
        verb = "store" if outer is target else "copy"
    rows = conjunction(conditions(outer.buffer, outer.indices, planner.ranges, last=False))
    index, extent = outer.indices[-1], outer.buffer.shape[-1]
    inside: ir.Expr = arith.subtract(extent, index)
    if _whole(planner, index, extent, step):
        inside = step
    if rows is not None:
        inside = ir.Select(rows, inside, ir.Const(0), ir.const(0).dtype)
    if asynchronous:
        least = ir.Const(LEAST_ASYNCHRONOUS)
        planner.check(arith.binary(">=", size, least), f"cp.async moves at least {LEAST_ASYNCHRONOUS} bytes")
    return Move("copy_async" if asynchronous else f"{verb}_inside", target, source, step, inside)


def _whole(planner: Planner, index: ir.Expr, extent: ir.Expr, step: ir.Expr) -> bool:
    """Whether the vector that starts at `index`, a multiple of `step`, certainly exists as a whole."""
    limit, width = planner.value(extent), planner.value(step)
    return limit is not None and width is not None and limit % width == 0 and planner.ranges.below(index, extent)
