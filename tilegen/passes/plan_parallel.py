"""plan_parallel: how every T.Parallel nest runs, and safe accesses everywhere.

Precondition: layouts inferred (each Parallel has NestAxes). Effect: each Parallel has a NestPlan: over
the thread's slots of the fragments it touches, else over the box in steps of the block. Every access
to a global tensor that may miss it is guarded; plain statements of the block write shared and global
memory from one thread.
Before: for i, j in T.Parallel(BM, BN): C_local[i, j] = C_local[i, j] + bias[bx * BN + j]
After:  for r, c over the thread's slots: { j = C_col(c); C_local[r][c] += bx * BN + j < N ? bias[...] : 0 }
"""

from __future__ import annotations

from dataclasses import replace

from tilegen import arith, ir
from tilegen.errors import TilegenError
from tilegen.passes.accesses import common_guard, conjunction, guard_statements
from tilegen.passes.divergence import depends_on_thread, differing, heads
from tilegen.passes.halves import pair_halves
from tilegen.passes.plan_storage import declared
from tilegen.passes.planner import THREAD, Planner, coordinate, unit
from tilegen.passes.replicas import speaker_of
from tilegen.passes.run_lets import split_runs
from tilegen.passes.walks import strided
from tilegen.plan import Loop, NestPlan
from tilegen.targets.base import Target

_MEMORY = ("shared", "global")


def plan_parallel(kernel: ir.Kernel, target: Target) -> ir.Kernel:
    planner = Planner(kernel, target)
    return planner.finish(_block_level(planner, kernel.body, differing(kernel), False))


def _block_level(
    planner: Planner, statements: tuple[ir.Stmt, ...], own: set[str], divergent: bool
) -> tuple[ir.Stmt, ...]:
    """Statements that the whole block runs together; some of the threads only, where `divergent`. `own` are
    the names whose values differ between threads."""
    result: list[ir.Stmt] = []
    for s in statements:
        if isinstance(s, ir.Parallel):
            result.append(replace(s, plan=_nest(planner, s)))
        elif isinstance(s, (ir.For, ir.While)):
            body = _block_level(planner, s.body, own, divergent or depends_on_thread(heads(s), own))
            result.append(replace(guard_statements((replace(s, body=()),), planner.ranges)[0], body=body))
        elif isinstance(s, ir.If):
            head = guard_statements((replace(s, then=(), otherwise=()),), planner.ranges)[0]
            inside = divergent or depends_on_thread(heads(s), own)
            result.append(
                replace(
                    head,
                    then=_block_level(planner, s.then, own, inside),
                    otherwise=_block_level(planner, s.otherwise, own, inside),
                )
            )
        else:
            guarded = guard_statements((s,), planner.ranges)[0]
            result.append(guarded if divergent or depends_on_thread(s, own) else _one_thread(guarded))
    return tuple(result)


def _one_thread(s: ir.Stmt) -> ir.Stmt:
    """What the block does once, a write to memory that its threads share or a print, is done by one of them."""
    inner = s.then[0] if isinstance(s, ir.If) else s
    shared_write = isinstance(inner, (ir.Store, ir.Atomic)) and inner.buffer.scope in _MEMORY
    if not shared_write and not isinstance(inner, ir.Print):
        return s
    condition = arith.binary("==", THREAD, ir.Const(0))
    if isinstance(s, ir.If):
        return replace(s, condition=arith.both(condition, s.condition))
    return ir.If(condition, (s,), loc=s.loc)


def _nest(planner: Planner, nest: ir.Parallel) -> NestPlan:
    _refuse_scalars(nest)
    axes = nest.plan.axes
    if axes is None:
        return _strided_nest(planner, nest)
    used = {n.name for s in nest.body for n in ir.walk(s) if isinstance(n, ir.Var)}
    names = iter(planner.slot_names(axes, used))
    loops: list[Loop] = []
    slots: dict[str, ir.Expr] = {}
    units: dict[str, ir.Expr] = {}
    guards: list[ir.Expr] = []
    touches = _touches_memory(nest)
    for var, extent, axis in zip(nest.vars, nest.extents, axes):
        if unit(axis):
            units[var.name] = ir.Const(0)
            continue
        loop = planner.slot_loop(axis, next(names))
        let = ir.Let(ir.Var(var.name, kind="let"), coordinate(axis, loop.var))
        loops.append(replace(loop, lets=(let,)))
        slots[var.name] = loop.var
        partial = planner.value(extent) != axis.extent
        if partial or (axis.padded and touches):
            guards.append(arith.less(let.var, extent))
    body = nest.body if not units else arith.fold(ir.substitute(nest.body, units))
    guard, body = common_guard(guard_statements(body, planner.ranges))
    if loops and guard is None and not guards and nest.vars[-1].name in slots:
        original = body
        runs, slot, body = split_runs(planner, loops[-1], nest.vars[-1], axes[-1], body, used)
        runs, slot, body = pair_halves(planner, runs, slot, nest.vars[-1], axes[-1], body, original)
        loops, slots[nest.vars[-1].name] = [*loops[:-1], *runs], slot
    body = _with_declarations(planner, _to_slots(body, slots))
    if guard is not None:
        guards.append(_to_slots((ir.Assert(guard),), slots)[0].condition)
    whole = conjunction(guards)
    whole, loops = _by_row(whole, _drop_unused(loops, body, whole), body)
    once = speaker_of(planner, axes, *_component_threads(planner, nest)) if touches == "write" else None
    if once is not None and any(_is_fragment_write(n) for n in ir.walk(nest.body)):
        body, once = _spoken(body, once), None
    reason = "each thread computes the elements of the fragments that it holds"
    return NestPlan(tuple(loops), _contributed(body), guard=whole, once=once, reason=reason, why=_why(nest))


def _why(nest: ir.Parallel) -> str:
    """What an earlier pass has to say to the reader about a nest."""
    return dict(nest.options).get("why", "")


def _contributed(body: tuple[ir.Stmt, ...]) -> tuple[ir.Stmt, ...]:
    """Updates of a reducer in registers as what they are there: each thread adds to its own contributions."""

    def rule(node):
        if not _is_contribution(node):
            return None
        old = ir.Load(node.buffer, node.indices)
        value = ir.BinOp(node.operator, old, node.value, node.buffer.dtype)
        return ir.Store(node.buffer, node.indices, value, loc=node.loc)

    return ir.rewrite(body, rule)


def _is_contribution(node: ir.Node) -> bool:
    return isinstance(node, ir.Atomic) and node.buffer.scope == "fragment"


def _is_fragment_write(node: ir.Node) -> bool:
    return isinstance(node, ir.Store) and node.buffer.scope == "fragment"


def _spoken(body: tuple[ir.Stmt, ...], once: ir.Expr) -> tuple[ir.Stmt, ...]:
    """Each thread writes its own copy of a fragment, one of them what all threads share, and contributes."""

    def rule(node):
        shared = isinstance(node, (ir.Store, ir.Atomic)) and node.buffer.scope in _MEMORY or _is_contribution(node)
        return ir.If(once, (node,), loc=node.loc) if shared or isinstance(node, ir.Print) else None

    return ir.rewrite(body, rule)


def _by_row(guard: ir.Expr | None, loops: list[Loop], body) -> tuple[ir.Expr | None, list[Loop]]:
    """A condition on values of a fragment that is the same for a whole row is tested once for the row, so that
    a branch leaves out the row. Other guards stay where they are: (guard, loops)."""
    read = {n.buffer.name for n in ir.walk(guard) if isinstance(n, ir.Load)} if guard is not None else set()
    written = {n.buffer.name for s in body for n in ir.walk(s) if isinstance(n, (ir.Store, ir.Atomic))}
    if len(loops) < 2 or not read or read & written:
        return guard, loops
    inner = {loops[-1].var.name} | {let.var.name for let in loops[-1].lets}
    if arith.names(guard) & inner:
        return guard, loops
    return None, [*loops[:-2], replace(loops[-2], guard=guard), loops[-1]]


def _strided_nest(planner: Planner, nest: ir.Parallel) -> NestPlan:
    names = tuple(var.name for var in nest.vars)
    used = {n.name for s in nest.body for n in ir.walk(s) if isinstance(n, ir.Var)}
    loops, _ = strided(planner, list(nest.extents), ir.Const(1), used, names)
    body = guard_statements(nest.body, planner.ranges)
    guard, body = common_guard(body)
    loops = tuple(_drop_unused(list(loops), body, guard))
    return NestPlan(
        loops,
        _contributed(_with_declarations(planner, body)),
        guard=guard,
        reason="no fragment: the block walks the box, neighbours in one warp",
        why=_why(nest),
    )


def _with_declarations(planner: Planner, body: tuple[ir.Stmt, ...]) -> tuple[ir.Stmt, ...]:
    """With plans for the scalars and arrays that an iteration has for itself."""
    return ir.rewrite(body, lambda n: declared(planner.kernel, n) if isinstance(n, ir.Alloc) else None)


def _refuse_scalars(nest: ir.Parallel) -> None:
    for s in nest.body:
        for node in ir.walk(s):
            if (
                isinstance(node, ir.Store)
                and node.buffer.scope == "var"
                and not _declared_inside(nest, node.buffer)
            ):
                raise TilegenError(
                    "TG0208",
                    f"T.Parallel writes the scalar {node.buffer.name}, which all its iterations share",
                    node.loc or nest.loc,
                    hint="use T.reduce_*, an atomic on shared memory, or a serial loop",
                )


def _declared_inside(nest: ir.Parallel, buffer: ir.Buffer) -> bool:
    return any(isinstance(n, ir.Alloc) and n.buffer == buffer for s in nest.body for n in ir.walk(s))


def _touches_memory(nest: ir.Parallel) -> str:
    """'write', 'read' or '': what the nest does to shared and global memory. A print and a contribution to a
    reducer count as writes: they have to happen once."""
    nodes = [n for s in nest.body for n in ir.walk(s)]
    if any(
        isinstance(n, (ir.Print, ir.Raw)) or _is_contribution(n)
        or isinstance(n, (ir.Store, ir.Atomic)) and n.buffer.scope in _MEMORY
        for n in nodes
    ):
        return "write"
    return "read" if any(isinstance(n, ir.Load) and n.buffer.scope in _MEMORY for n in nodes) else ""


def _to_slots(body: tuple[ir.Stmt, ...], slots: dict[str, ir.Expr]) -> tuple[ir.Stmt, ...]:
    """Elements of fragments by the thread's slot instead of the tile's index."""

    def rule(node):
        if isinstance(node, (ir.Load, ir.Store, ir.Atomic)) and node.buffer.scope == "fragment":
            return replace(
                node, indices=tuple(slots.get(i.name, i) if isinstance(i, ir.Var) else i for i in node.indices)
            )
        return None

    return ir.rewrite(body, rule)


def _drop_unused(loops: list[Loop], body, guard: ir.Expr | None) -> list[Loop]:
    """Without the coordinates that nothing reads."""
    used = arith.names(body) | (arith.names(guard) if guard is not None else set())
    result: list[Loop] = []
    for loop in reversed(loops):
        kept = []
        for let in reversed(loop.lets):
            if let.var.name in used:
                kept.insert(0, let)
                used |= arith.names(let.value)
        result.insert(0, replace(loop, lets=tuple(kept)))
    return result


def _component_threads(planner: Planner, nest: ir.Parallel) -> tuple[int, int]:
    buffers = [
        n.buffer
        for s in nest.body
        for n in ir.walk(s)
        if isinstance(n, (ir.Load, ir.Store, ir.Atomic)) and n.buffer.scope == "fragment"
    ]
    layout = planner.layout(buffers[0])
    return layout.threads_m, layout.threads_n
