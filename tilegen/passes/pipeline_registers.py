"""The register-staged form of a pipelined loop, for GPUs without asynchronous copies.

Each thread loads its elements of the next step into registers, computes this step, and then puts the
registers into the other stage: the loads are on their way while it computes. One barrier a step. Where two
stages do not fit into shared memory there is one, between two barriers.
Before: copy(A[ko], A_shared[stage]); gemm(A_shared[stage])
After:  fetch(ko + 1): A -> A_next; gemm(A_shared[stage]); keep(ko + 1): A_next -> A_shared[other stage]
"""

from __future__ import annotations

from dataclasses import replace
from math import prod

from tilegen import arith, ir
from tilegen.passes.layout_classes import short
from tilegen.passes.pipeline_loads import Loads, copies
from tilegen.targets.base import Target

MOST_REGISTERS = 64                      # of 32 bits, for elements on their way
MOST_OF_A_THREAD = 256                   # that a thread has, however few threads there are
SHARE_WITH_TILES = 0.75                  # of what a thread has: for elements on their way and fragments
ROOM_FOR_PADDING = 1.07                  # of a shared tile


def register_room(kernel: ir.Kernel, target: Target, loads: Loads, env: dict) -> tuple[str, int]:
    """(why the loads cannot go through registers, 0), or ('', the stages that fit into shared memory).
    `env`: the values of knobs."""
    threads = prod(arith.evaluate(e, env) or 1 for e in kernel.threads)
    missing = f"{target.name} {target.arch} has no asynchronous copies from global to shared memory, and "
    tiles = {c.dst.buffer.name: c for c in copies(loads.ahead)}
    if any(isinstance(s, ir.If) for s in loads.ahead):
        return missing + "what is loaded under a condition does not go through registers", 0
    registers = 0
    for copy in tiles.values():
        count = prod(arith.evaluate(e, env) or 1 for e in copy.dst.buffer.shape)
        if count % threads:
            return missing + f"the {threads} threads have no equal shares of {copy.dst.buffer.name}", 0
        registers += -(-count // threads * copy.src.buffer.dtype.bytes // 4)
    if registers > MOST_REGISTERS:
        return missing + f"the next step's elements would take {registers} registers of each thread", 0
    held = _fragments(kernel, threads, env)
    room = _of_a_thread(kernel, target, threads, env)
    if registers + held > SHARE_WITH_TILES * room:
        return missing + f"fragments take {held} of the {room} registers that a thread has, so that {registers} more " \
                         "are too many", 0
    return "", 2 if _shared(kernel, tiles, env) <= target.max_shared else 1


def _of_a_thread(kernel: ir.Kernel, target: Target, threads: int, env: dict) -> int:
    """Registers of a thread with as many blocks on an SM as the kernel asks for."""
    if not target.register_file:
        return MOST_OF_A_THREAD
    blocks = next((arith.evaluate(w.value, env) or 1 for w in kernel.wishes if w.name == "min_blocks"), 1)
    return min(MOST_OF_A_THREAD, target.register_file // (threads * blocks))


def _shared(kernel: ir.Kernel, tiles, env: dict) -> int:
    """Bytes of shared memory with two stages of `tiles`, with room for padding."""
    buffers = [n.buffer for n in ir.walk(kernel.body) if isinstance(n, ir.Alloc) and n.buffer.scope == "shared"
               and not isinstance(n.buffer, ir.Alias)]
    sizes = [prod(arith.evaluate(e, env) or 1 for e in b.shape) * b.dtype.bytes * (2 if b.name in tiles else 1)
             for b in buffers]
    return int(sum(sizes) * ROOM_FOR_PADDING)


def _fragments(kernel: ir.Kernel, threads: int, env: dict) -> int:
    """Registers of a thread for all fragments, if each were spread evenly."""
    found = {n.buffer.name: n.buffer for n in ir.walk(kernel.body) if isinstance(n, ir.Alloc)
             and n.buffer.scope == "fragment"}
    return sum(-(-prod(arith.evaluate(e, env) or 1 for e in b.shape) * max(4, b.dtype.bytes) // (4 * threads))
               for b in found.values())


def _where(keep: tuple[ir.Stmt, ...]) -> tuple[ir.Stmt, ...]:
    """The second half of the loads, with the names that say where in their tiles they go, and no others."""
    kept: list[ir.Stmt] = []
    used: set[str] = set()
    for s in reversed(keep):
        if isinstance(s, ir.Let) and s.var.name not in used:
            continue
        used |= arith.names(s.value if isinstance(s, ir.Let) else s.dst if isinstance(s, ir.Copy) else s)
        kept.insert(0, s)
    return tuple(kept)


def through_registers(loop: ir.For, taken: set[str], stages: int) -> tuple[tuple[ir.Stmt, ...], ir.For]:
    """(the registers' declarations, the loop with its loads in two halves)."""
    plan = loop.plan
    registers: dict[str, ir.Buffer] = {}
    for copy in copies(loop.body[:plan.producers]):
        tile = copy.dst.buffer
        name = ir.take_name(taken, f"{short(tile.name.removesuffix('_shared').removesuffix('_smem'))}_next")
        registers[tile.name] = ir.Buffer(name, (ir.Const(0),), copy.src.buffer.dtype, "local", loc=copy.loc)

    def half(which: str):
        def rule(node):
            if not isinstance(node, ir.Copy):
                return None
            return replace(node, options=((which, registers[node.dst.buffer.name]),))
        return ir.rewrite(loop.body[:plan.producers], rule)

    fetch, keep = half("fetch"), _where(half("keep"))
    names = ", ".join(dict.fromkeys(c.dst.buffer.name for c in copies(fetch)))
    where = "the other stage after it; " if stages == 2 else "their tiles after it (two stages do not fit); "
    reason = f"registers: the next step's {names} are loaded while this one computes, and put into {where}" \
             f"there are no asynchronous copies; {'one barrier' if stages == 2 else 'two barriers'} a step"
    template = "pipeline_registers" if stages == 2 else "pipeline_registers_single"
    plan = replace(plan, keepers=len(keep), template=template, reason="; ".join([reason, *plan.reason.split("; ")[3:]]),
                   load=ir.take_name(taken, "fetch_step", f"fetch_{loop.var.name}_step"),
                   keep=ir.take_name(taken, "keep_step", f"keep_{loop.var.name}_step"))
    allocs = tuple(ir.Alloc(b) for b in registers.values())
    return allocs, replace(loop, body=fetch + keep + loop.body[plan.producers:], plan=plan)
