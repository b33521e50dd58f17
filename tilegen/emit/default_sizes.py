"""Sizes for a self-test that is started without any: large enough to time, small enough for plain loops."""

from __future__ import annotations

import itertools
import math

from tilegen import arith, ir
from tilegen.emit import work

SIZES_BY_RANK, SIZE_OF_HIGH_RANK, LEAST = {0: 1024, 1: 2**20, 2: 1024}, 256, 8
MOST_ELEMENTS, MOST_FLOPS = 2**24, 5e9       # of one tensor; of the kernel, a few seconds of plain loops


def default_sizes(kernel: ir.Kernel) -> dict[str, int]:
    """{size: number} that keeps the kernel's requirements where simple numbers do."""
    rank = max((len(p.buffer.shape) for p in kernel.params if p.buffer is not None), default=1)
    start = SIZES_BY_RANK.get(rank, SIZE_OF_HIGH_RANK)
    knobs = {k.name: k.value for k in kernel.knobs}
    while start > LEAST and not _is_modest(kernel, knobs | {v.name: start for v in kernel.sizes}):
        start //= 2
    return _satisfying(kernel, knobs, start)


def _is_modest(kernel: ir.Kernel, env: dict) -> bool:
    buffers = [p.buffer for p in kernel.params if p.buffer is not None]
    shapes = ([arith.evaluate(extent, env) for extent in b.shape] for b in buffers)
    largest = max((math.prod(shape) for shape in shapes if None not in shape), default=0)
    return largest <= MOST_ELEMENTS and (work.value(work.flops(kernel), env) or 0) <= MOST_FLOPS


def _satisfying(kernel: ir.Kernel, knobs: dict, start: int) -> dict[str, int]:
    """The first numbers that keep every requirement: `start`, their constants, powers of two."""
    names = [v.name for v in kernel.sizes]
    nodes = [n for r in kernel.requires for n in ir.walk(r)]
    constants = [n.value for n in nodes if isinstance(n, ir.Const)]
    constants += [knobs[n.name] for n in nodes if isinstance(n, ir.Var) and n.name in knobs]
    powers = [2**n for n in range(int(math.log2(start)), -1, -1)]
    candidates = dict.fromkeys([start, *(c for c in constants if type(c) is int and 0 < c <= start), *powers])
    free = [n for n in names if any(n in arith.names(r) for r in kernel.requires)]
    for numbers in itertools.islice(itertools.product(candidates, repeat=len(free)), 20000):
        sizes = {name: start for name in names} | dict(zip(free, numbers))
        if all(arith.evaluate(r, knobs | sizes) is not False for r in kernel.requires):
            return sizes
    return {name: start for name in names}
