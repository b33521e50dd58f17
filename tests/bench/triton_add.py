"""z = x + y in Triton, for host.py: Triton reads its kernels from a file."""

import triton
import triton.language as tl


@triton.jit
def add(x, y, z, n, BLOCK: tl.constexpr):
    place = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(z + place, tl.load(x + place, place < n) + tl.load(y + place, place < n), place < n)
