"""plan_occupancy: how many blocks an SM shall hold, which bounds the registers of a thread.

Precondition: fragments and gemms planned, shared memory placed. Effect: MIN_BLOCKS, for
__launch_bounds__, on targets that count registers by SM. The estimate of a thread's registers is what
its fragments hold at the same time (from first to last use), plus the operands of a gemm and its
addresses, plus 12 (32 for small blocks); measured on an H200, the block counts that follow were the
fastest or within 2 % of it for GEMM, softmax and layernorm.
"""

from __future__ import annotations

from dataclasses import replace
from math import prod

from tilegen import arith, ir
from tilegen.errors import TilegenError
from tilegen.instructions import matrix_instruction
from tilegen.passes.ranges import knob_values
from tilegen.plan import Constant, KernelPlan, OpPlan
from tilegen.targets.base import Target

_OTHER_REGISTERS = 12
_OTHER_OF_SMALL_BLOCKS = 32          # of up to 64 threads, for which an SM has more room than blocks to put there
_GEMM_REGISTERS = 24                 # addresses and loads in flight of a gemm
_SCAN_REGISTERS = 24                 # values on their way between the threads of a scan
_WAITING_REGISTERS = 8               # addresses of what is on its way to a thread
_LEAST_REGISTERS = 40
_PARTS = 4                           # of an SM, each with its share of the registers for whole warps


def plan_occupancy(kernel: ir.Kernel, target: Target) -> ir.Kernel:
    plan: KernelPlan = kernel.plan
    wish = next((w for w in kernel.wishes if w.name == "min_blocks"), None)
    if not target.register_file:
        note = (("registers", f"T.annotate_min_blocks_per_sm changes nothing on {target.name}"),) if wish else ()
        return replace(kernel, plan=replace(plan, notes=plan.notes + note))
    numbers = {c.name: c.value for c in plan.constants}
    loaders = numbers[plan.loaders] if plan.loaders else 0
    if loaders > target.warp_size:
        return kernel                                      # one block, whose threads exchange registers
    threads = numbers["THREADS"] + loaders
    other = _OTHER_OF_SMALL_BLOCKS if threads <= 64 else _OTHER_REGISTERS
    needed = max(_LEAST_REGISTERS, _live(kernel) + _held(kernel) + _operands(kernel) + other)
    blocks = min(_fitting(target, threads, needed), target.resident_blocks)
    shared = plan.shared_bytes
    if shared:
        blocks = min(blocks, target.max_shared // (shared + 1024))
    blocks = max(1, blocks)
    note = f"about {needed} per thread, so {blocks} block(s) of {threads} threads on an SM"
    expr = None
    if wish:
        blocks, expr = _asked(kernel, target, wish, threads), None if isinstance(wish.value, ir.Const) else wish.value
        note = f"{blocks} block(s) on an SM, as T.annotate_min_blocks_per_sm asks; the estimate was {note}"
    constant = Constant("MIN_BLOCKS", blocks, "blocks at once on an SM: bounds a thread's registers", expr=expr,
                        knob=expr is None)
    note = ("registers", note)
    return replace(kernel, plan=replace(plan, constants=plan.constants + (constant,), notes=plan.notes + (note,)))


def _fitting(target: Target, threads: int, registers: int) -> int:
    """How many blocks have room for so many registers a thread: each part of an SM holds whole warps."""
    warps = -(-threads // target.warp_size)
    of_a_part = target.register_file // _PARTS // (target.warp_size * (-(-registers // 8) * 8))
    return min(_PARTS * of_a_part // warps, target.resident_threads // (warps * target.warp_size))


def _asked(kernel: ir.Kernel, target: Target, wish: ir.Wish, threads: int) -> int:
    """The number of blocks that the kernel asks for. TG0202 where an SM cannot hold as many threads."""
    blocks = arith.evaluate(wish.value, knob_values(kernel))
    if blocks * threads > target.resident_threads:
        raise TilegenError("TG0202", f"{blocks} blocks of {threads} threads are more than the "
                           f"{target.resident_threads} threads that an SM of {target.arch} holds", wish.loc,
                           f"ask for {max(1, target.resident_threads // threads)} at most, or lower threads=")
    return blocks


def _live(kernel: ir.Kernel) -> int:
    """The most registers that fragments hold at once, by first and last top-level statement."""
    layouts = kernel.plan.layouts
    spans: dict[str, list[int]] = {}
    sizes: dict[str, int] = {}
    for position, s in enumerate(kernel.body):
        if isinstance(s, ir.Alloc) and not _is_zeroed(s):
            continue
        for node in ir.walk(s):
            if isinstance(node, ir.Buffer) and node.name in layouts:
                spans.setdefault(node.name, [position, position])[1] = position
                sizes[node.name] = layouts[node.name].registers * max(4, node.dtype.bytes) // 4
    return max((sum(sizes[n] for n, (first, last) in spans.items() if first <= p <= last)
                for p in range(len(kernel.body))), default=0)


def _held(kernel: ir.Kernel) -> int:
    """Registers for the elements of a pipeline's next step, where they wait in a thread."""
    env = knob_values(kernel) | {c.name: c.value for c in kernel.plan.constants}
    waiting = {dict(c.options)["keep"].name for c in ir.walk(kernel.body)
               if isinstance(c, ir.Copy) and "keep" in dict(c.options)}
    arrays = [n.buffer for n in ir.walk(kernel.body) if isinstance(n, ir.Alloc) and n.buffer.name in waiting]
    count = sum(-(-prod(arith.evaluate(e, env) or 1 for e in b.shape) * b.dtype.bytes // 4) for b in arrays)
    return count + _WAITING_REGISTERS if arrays else 0


def _is_zeroed(s: ir.Alloc) -> bool:
    return isinstance(s.plan, OpPlan) and bool(s.plan.values.get("zeroed"))


def _operands(kernel: ir.Kernel) -> int:
    """Registers for the operands of the largest gemm step, or for a scan."""
    def count(gemm: ir.Gemm) -> int:
        if isinstance(gemm.plan, OpPlan) and "operand_registers" in gemm.plan.values:
            return gemm.plan.values["operand_registers"] + _GEMM_REGISTERS
        axes = kernel.plan.layouts[gemm.c.buffer.name].axes[-2:]
        if gemm.plan.template == "gemm_mma" and gemm.a.buffer.dtype.bits == 64:
            instruction = matrix_instruction(gemm.plan.values["helper"])
            tiles = (8 * axes[0].slots // instruction.m, 4 * axes[1].slots // instruction.n)
            return 2 * (tiles[0] * instruction.a.registers + tiles[1] * instruction.b.registers) + _GEMM_REGISTERS
        return sum(axis.slots for axis in axes) + _GEMM_REGISTERS
    nodes = list(ir.walk(kernel.body))
    scans = any(isinstance(n, ir.Scan) and n.plan.template == "scan_across" for n in nodes)
    return max((count(n) for n in nodes if isinstance(n, ir.Gemm)), default=_SCAN_REGISTERS if scans else 0)
