"""pack_products: products of 4-bit integers by the instructions that take them as they lie.

Precondition: a checked kernel, in which unpack_nibbles has put unpacked tiles before each gemm of int4 or uint4.
Effect: where the arch has such an instruction for all of them, gemms read the packed tiles, and the unpacked ones
are gone; else unpacked tiles are ordinary ones from here on.
Before: A_unpacked[i, j] = ... A_shared[i, j / 2] ...; T.gemm(A_unpacked, B_unpacked, C_local, transpose_B=True)
After:  T.gemm(A_shared, B_shared, C_local, transpose_B=True), of int4
"""

from __future__ import annotations

from dataclasses import replace

from tilegen import arith, ir
from tilegen.passes.choose_instructions import choose_instructions
from tilegen.passes.ranges import knob_values
from tilegen.plan import MmaChoice, UnpackedBuffer
from tilegen.targets.base import Target


def pack_products(kernel: ir.Kernel, target: Target) -> ir.Kernel:
    unpacked = {n.name for n in ir.walk(kernel.body) if isinstance(n, UnpackedBuffer)}
    if not unpacked:
        return kernel
    direct = _direct(kernel, unpacked)
    if direct is not None:
        gemms = [n for n in ir.walk(choose_instructions(direct, target).body) if isinstance(n, ir.Gemm) and n.packed]
        if all(isinstance(gemm.plan, MmaChoice) for gemm in gemms):
            return direct
    return replace(kernel, body=ir.rewrite(kernel.body, _plain))


def _plain(node: ir.Node) -> ir.Buffer | None:
    if isinstance(node, UnpackedBuffer):
        return ir.Buffer(node.name, node.shape, node.dtype, node.scope, loc=node.loc)
    return None


def _direct(kernel: ir.Kernel, unpacked: set[str]) -> ir.Kernel | None:
    """The kernel with gemms of packed tiles; None where a gemm reads one in a way that no instruction does."""
    env = knob_values(kernel)
    bytes_ = {n.name: n for n in ir.walk(kernel.body) if isinstance(n, ir.Buffer) and n.name not in unpacked}
    gemms = [n for n in ir.walk(kernel.body) if isinstance(n, ir.Gemm) and n.a.buffer.name in unpacked]
    for gemm in gemms:
        even = all(arith.multiple_of(e, env) % 2 == 0 for r in (gemm.a, gemm.b) for e in (r.offsets[-1], r.extents[-1]))
        if gemm.transpose_a or not gemm.transpose_b or not even:         # both have to lie along the depth
            return None

    def halved(region: ir.Region) -> ir.Region:
        return replace(region, buffer=bytes_[region.buffer.source],
                       offsets=(*region.offsets[:-1], arith.divide(region.offsets[-1], 2)),
                       extents=(*region.extents[:-1], arith.divide(region.extents[-1], 2)))

    def rule(node):
        match node:
            case ir.Gemm() if node.a.buffer.name in unpacked:
                return replace(node, a=halved(node.a), b=halved(node.b), packed=node.a.buffer.elements)
            case ir.Parallel(body=(ir.Store(buffer=buffer),)) if buffer.name in unpacked:
                return ()
            case ir.Alloc() if node.buffer.name in unpacked:
                return ()
        return None
    return replace(kernel, body=ir.rewrite(kernel.body, rule))
