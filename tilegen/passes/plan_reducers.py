"""plan_reducers: the contributions to a reducer stay in the registers of each thread until it is finalized.

Precondition: a checked kernel. Effect on GPUs: a reducer becomes two fragments, the contributions of each thread
and the result; an Atomic on the first is an update by the thread alone, and Finalize lets all threads meet. So the
order of a sum is fixed. Where the planner cannot tell which thread contributes to an element, the reducer stays a
shared tile with atomic updates, with the reason in the source. On a CPU one thread contributes everything.
Before: result = shared (32,); for i, j in T.Parallel(16, 32): atomic result[j] += A[i, j]; T.finalize_reducer(result)
After:  for i, j: result_partial[j] += A[i, j] (each thread its own); result = sum over threads of result_partial
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from tilegen import arith, ir
from tilegen.language.reducers import UPDATES, starting_value
from tilegen.passes.divergence import depends_on_thread, differing, heads
from tilegen.passes.ranges import knob_values
from tilegen.passes.route_fragments import route_fragments
from tilegen.passes.routes import whole_of
from tilegen.passes.served import unserved, whole
from tilegen.passes.stage_reductions import stage_reductions
from tilegen.plan import KernelPlan
from tilegen.targets.base import Target
from tilegen.wishes import Placement

MOST_REGISTERS = 64                      # of a thread, for the contributions to one reducer


@dataclass(frozen=True)
class Reducer:
    """A reducer as the kernel has it, and the fragments that it becomes."""

    op: str
    tile: ir.Buffer
    partial: ir.Buffer                   # what each thread has contributed, in the type that sums are computed in
    result: ir.Buffer


def plan_reducers(kernel: ir.Kernel, target: Target) -> ir.Kernel:
    found = {n.dst.buffer.name: n for n in ir.walk(kernel.body) if isinstance(n, ir.Finalize)}
    if not found:
        return kernel
    if target.family == "cpu":
        return _without(kernel, set(found), {})
    taken = {n.name for n in ir.walk(kernel) if isinstance(n, (ir.Buffer, ir.Var))}
    reducers = {name: _reducer(node, taken) for name, node in found.items()}
    refused = {name: why for name, r in reducers.items() if (why := _why_shared(kernel, r))}
    while True:
        kept = {name: r for name, r in reducers.items() if name not in refused}
        made = _in_registers(_without(kernel, set(refused), refused), kept)
        moved = _moved(made, kept, target)
        if not moved:
            return made
        refused |= moved


def _reducer(node: ir.Finalize, taken: set[str]) -> Reducer:
    tile = node.dst.buffer
    name = ir.take_name(taken, f"{tile.name.removesuffix('_shared')}_partial")
    partial = ir.Buffer(name, tile.shape, tile.dtype.compute, "fragment", loc=tile.loc)
    return Reducer(node.op, tile, partial, replace(tile, scope="fragment"))


def _without(kernel: ir.Kernel, names: set[str], reasons: dict[str, str]) -> ir.Kernel:
    """`kernel` with these reducers as plain shared tiles, and the reasons beside their updates."""
    def rule(node):
        if isinstance(node, ir.Finalize) and node.dst.buffer.name in names:
            return ()
        if isinstance(node, ir.Parallel):
            why = next((reasons[n.buffer.name] for n in ir.walk(node.body)
                        if isinstance(n, ir.Atomic) and n.buffer.name in reasons), "")
            return replace(node, options=(*node.options, ("why", f"atomic updates: {why}"))) if why else None
        return None

    plan = kernel.plan or KernelPlan()
    notes = tuple((f"reducer {name}", f"a shared tile with atomic updates, in no fixed order: {why}")
                  for name, why in reasons.items())
    plan = replace(plan, notes=(*plan.notes, *notes)) if notes else kernel.plan
    return replace(kernel, body=ir.rewrite(kernel.body, rule), plan=plan)


# ---- What cannot stay in registers ---------------------------------------------------------------
def _why_shared(kernel: ir.Kernel, reducer: Reducer) -> str:
    """Why the contributions cannot stay in registers; '' where they can."""
    env, name = knob_values(kernel), reducer.tile.name
    if any(isinstance(w, Placement) and w.buffer == name for w in kernel.wishes):
        return f"T.annotate_layout says where {name} lies"
    threads = arith.evaluate(arith.product(kernel.threads), env) or 1
    each = -(-(arith.evaluate(arith.product(reducer.tile.shape), env) or 0) // threads)
    if each > MOST_REGISTERS:
        return f"{each} registers of each thread would be too many"
    for node in ir.walk(kernel.body):
        if why := _why_not_of(node, reducer):
            return why
    return _why_not_in(kernel.body, reducer, env, differing(kernel), False)


def _why_not_of(node: ir.Node, reducer: Reducer) -> str:
    """Why a statement does not fit to contributions in registers, wherever it stands."""
    tile = reducer.tile
    match node:
        case ir.Alloc(buffer=ir.Alias(base=base)) if ir.owner(base).name == tile.name:
            return f"{node.buffer.name} is {tile.name} in another shape"
        case ir.Fill(dst=dst) if dst.buffer.name == tile.name:
            return "" if whole(dst) and node.value == starting_value(reducer.op, tile.dtype) else \
                f"a fill gives {tile.name} another value than a reducer starts with"
        case ir.Atomic() if node.buffer.name == tile.name:
            plain = node.op == UPDATES[reducer.op] and node.previous is None and node.order == "relaxed"
            return "" if plain else f"{tile.name} has other atomic updates too"
        case ir.Store() if node.buffer.name == tile.name:
            return f"elements of {tile.name} are stored too"
        case ir.Copy() | ir.Reduce() | ir.Scan() if node.dst.buffer.name == tile.name:
            return f"whole values are written to {tile.name} too"
        case ir.Raw() if any(r.buffer.name == tile.name for r in node.writes):
            return f"T.Raw writes {tile.name}"
    return ""


def _why_not_in(statements, reducer: Reducer, env: dict, own: set[str], divergent: bool) -> str:
    """Why the threads that contribute are not known: the first reason among these statements."""
    for s in statements:
        inside = divergent or depends_on_thread(heads(s), own)
        why = ""
        if isinstance(s, ir.Parallel):
            why = next(filter(None, (unserved(n, s, env) for n in ir.walk(s.body)
                                     if isinstance(n, ir.Atomic) and n.buffer.name == reducer.tile.name)), "")
        elif isinstance(s, (ir.For, ir.While)):
            why = _why_not_in(s.body, reducer, env, own, inside)
        elif isinstance(s, ir.If):
            why = _why_not_in(s.then + s.otherwise, reducer, env, own, inside)
        elif isinstance(s, ir.Atomic) and s.buffer.name == reducer.tile.name:
            why = "single threads contribute" if inside or depends_on_thread(s, own) else ""
        elif isinstance(s, ir.Finalize) and inside and s.dst.buffer.name == reducer.tile.name:
            why = "not all threads come to T.finalize_reducer"
        if why:
            return why
    return ""


def _moved(kernel: ir.Kernel, reducers: dict[str, Reducer], target: Target) -> dict[str, str]:
    """The reducers whose updates have no layout beside the other fragments of the kernel, with the reason."""
    if not reducers:
        return {}
    routed = route_fragments(stage_reductions(kernel, target), target)
    kept = [n.buffer.name for n in ir.walk(routed.body) if isinstance(n, ir.Atomic)]
    wanted = [n.buffer.name for n in ir.walk(kernel.body) if isinstance(n, ir.Atomic)]
    return {name: f"the threads that contribute to {name} hold other elements than its layout gives them"
            for name, r in reducers.items() if kept.count(r.partial.name) != wanted.count(r.partial.name)}


# ---- What can ------------------------------------------------------------------------------------
def _in_registers(kernel: ir.Kernel, reducers: dict[str, Reducer]) -> ir.Kernel:
    """`kernel` with these reducers as fragments."""
    taken = {n.name for n in ir.walk(kernel) if isinstance(n, (ir.Var, ir.Buffer))}

    def statement(s: ir.Stmt) -> tuple[ir.Stmt, ...]:
        match s:
            case ir.For() | ir.While():
                return (replace(s, body=block(s.body)),)
            case ir.If():
                return (replace(s, then=block(s.then), otherwise=block(s.otherwise)),)
            case ir.Parallel():
                return (ir.rewrite(s, lambda n: _update(n, reducers)),)
            case ir.Atomic() if s.buffer.name in reducers:
                return (_by_the_block(_update(s, reducers), taken),)
            case ir.Alloc() if s.buffer.name in reducers:
                reducer = reducers[s.buffer.name]
                return (replace(s, buffer=reducer.result), replace(s, buffer=reducer.partial))
            case ir.Fill() if s.dst.buffer.name in reducers:
                partial = reducers[s.dst.buffer.name].partial
                start = starting_value(reducers[s.dst.buffer.name].op, partial.dtype)
                return (replace(s, dst=whole_of(partial), value=start),)
            case ir.Finalize():
                return (replace(s, src=whole_of(reducers[s.dst.buffer.name].partial)),)
        return (s,)

    def block(statements: tuple[ir.Stmt, ...]) -> tuple[ir.Stmt, ...]:
        return tuple(new for s in statements for new in statement(s))

    def result(node):
        return reducers[node.name].result if type(node) is ir.Buffer and node.name in reducers else None

    return replace(kernel, body=ir.rewrite(block(kernel.body), result))


def _update(node: ir.Node, reducers: dict[str, Reducer]) -> ir.Atomic | None:
    if not isinstance(node, ir.Atomic) or node.buffer.name not in reducers:
        return None
    return replace(node, buffer=reducers[node.buffer.name].partial)


def _by_the_block(update: ir.Atomic, taken: set[str]) -> ir.Parallel:
    """An update that the block does once, by the thread that holds the element."""
    names = [ir.fresh_name(taken, wanted, f"{wanted}_at") for wanted in "ijklmn"]
    loops = tuple(ir.Var(name, kind="loop") for name, _ in zip(names, update.indices))
    there = None
    for var, index, extent in zip(loops, update.indices, update.buffer.shape):
        if extent != ir.Const(1):
            there = arith.both(there, arith.binary("==", var, index))
    inside = replace(update, indices=loops)
    body = inside if there is None else ir.If(there, (inside,), loc=update.loc)
    return ir.Parallel(loops, update.buffer.shape, (body,), loc=update.loc)
