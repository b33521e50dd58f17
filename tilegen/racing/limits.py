"""The roof over a kernel: the least time that its arithmetic and its traffic can take on the device at hand.

On a GPU arithmetic is bounded by the table below at the highest clock rate, and traffic by the memory's bus. On a CPU
both are what BLAS and a copy by all threads reached a moment before, since a processor does not tell.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy

from tilegen import ir
from tilegen.launches import launches_of
from tilegen.runtime.arrays import require_cupy

_BUDGET = 1.0           # seconds for each side of the roof of a CPU
_BLAS_SIZE = 1024
_COPY_BYTES = 128 << 20

# Dense flops of an SM in a cycle, by compute capability: of matrix units by the dtype of their operands, and of plain
# cores ("core float32"). Source: NVIDIA's architecture white papers (V100, A100, H100).
_PER_SM = {
    "70": {"core float32": 128, "core float64": 64, "float16": 1024},
    "80": {"core float32": 128, "core float64": 64, "float64": 128, "tfloat32": 1024, "float16": 2048,
           "bfloat16": 2048, "int8": 4096, "uint8": 4096},
    "90": {"core float32": 256, "core float64": 128, "float64": 256, "tfloat32": 2048, "float16": 4096,
           "bfloat16": 4096, "int8": 8192, "uint8": 8192, "float8_e4m3": 8192, "float8_e5m2": 8192},
}


@dataclass(frozen=True)
class Limits:
    """Flops and bytes a second that the device cannot exceed, None where they are not known, and where they are
    from."""

    flops: float | None
    bytes: float | None
    words: str

    def share(self, flops: float | None, moved: float | None, seconds: float) -> tuple[float | None, str]:
        """The share of the roof that `flops` and `moved` bytes in `seconds` reach, and which side of it bounds:
        "arithmetic" or "memory". None where neither is known."""
        sides = [(amount / limit / seconds, name) for amount, limit, name in
                 ((flops, self.flops, "arithmetic"), (moved, self.bytes, "memory")) if amount and limit]
        return max(sides, default=(None, ""))


def unit_of(kernel: ir.Kernel) -> str:
    """What does the arithmetic of a kernel: the dtype of its products' operands, else "core" and a type."""
    launches = [launch.body for launch in launches_of(kernel)]
    products = [node for body in launches for node in ir.walk(body) if isinstance(node, ir.Gemm)]
    if products:
        dtype = products[0].a.buffer.dtype
        return dtype.name if dtype.name != "float32" else "core float32"
    wide = any(p.buffer is not None and p.buffer.dtype.name == "float64" for p in kernel.params)
    return "core float64" if wide else "core float32"


def of_gpu(unit: str) -> Limits:
    """Of CuPy's current GPU, for arithmetic by `unit`."""
    device = require_cupy("the limits of a GPU").cuda.Device()
    attributes, capability = device.attributes, device.compute_capability
    hertz = 1e3 * attributes["ClockRate"]
    per_sm = _PER_SM.get(capability, {}).get(unit)
    flops = per_sm and per_sm * attributes["MultiProcessorCount"] * hertz
    moved = 2 * 1e3 * attributes["MemoryClockRate"] * attributes["GlobalMemoryBusWidth"] / 8
    words = [f"{flops / 1e12:.0f} TFLOP/s of {unit} at {hertz / 1e9:.2f} GHz" if flops else
             f"arithmetic of {unit} on sm_{capability}: not known", f"{moved / 1e12:.2f} TB/s of memory bus"]
    return Limits(flops or None, moved or None, ", ".join(words))


def of_cpu(unit: str) -> Limits:
    """Of this processor, measured now with the threads that NumPy's BLAS and this process may use."""
    dtype = _computed_in(unit)
    a = numpy.ones((_BLAS_SIZE, _BLAS_SIZE), dtype)
    out = numpy.empty_like(a)
    flops = 2 * _BLAS_SIZE**3 / _best(lambda: numpy.matmul(a, a, out=out))
    threads = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    parts = [numpy.ones(_COPY_BYTES // threads, numpy.uint8) for _ in range(threads)]
    copies = [numpy.empty_like(part) for part in parts]
    with ThreadPoolExecutor(threads) as pool:
        moved = 2 * threads * parts[0].nbytes / _best(lambda: list(pool.map(numpy.copyto, copies, parts)))
    return Limits(flops, moved, f"{flops / 1e9:.0f} GFLOP/s by BLAS in {numpy.dtype(dtype)}, {moved / 1e9:.1f} GB/s by "
                  f"a copy of {threads} thread{'s' if threads > 1 else ''}, measured here")


def _computed_in(unit: str) -> type:
    """What a CPU computes in."""
    return numpy.float64 if "float64" in unit else numpy.float32


def _best(call: Callable[[], object]) -> float:
    """The least seconds of the calls that fit into the budget."""
    best, end = float("inf"), time.perf_counter() + _BUDGET
    while time.perf_counter() < end:
        started = time.perf_counter()
        call()
        best = min(best, time.perf_counter() - started)
    return best
