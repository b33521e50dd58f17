"""The time of a prepared call: the median of many, after a warm-up; and the clocks that races are timed with."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from pathlib import Path

import numpy

from tilegen.runtime.arrays import require_cupy

Clock = Callable[[Callable[[], object]], float]

_BUDGET = 0.3           # seconds of measuring
_MOST, _LEAST = 1000, 3
_DISTURBED = 0.02       # the share of a sample that its process may have waited for a processor
_ATTEMPTS = 3           # samples that are taken in vain before the best of them counts
_CACHE = 64 << 20       # bytes of the last cache where the machine does not tell
_TASKS = Path("/proc/self/task")
_CACHES = Path("/sys/devices/system/cpu/cpu0/cache")


def on_host(call: Callable[[], object]) -> float:
    """Median seconds of `call`, which returns when its work is done."""
    call()
    return statistics.median(_measured(lambda: _host_seconds(call)))


def on_gpu(call: Callable[[], object]) -> float:
    """Median seconds of the work that `call` puts on CuPy's current stream."""
    clock = gpu_clock(flush=False)
    for _ in range(_LEAST):
        clock(call)
    return statistics.median(_measured(lambda: clock(call)))


def host_clock(flush: bool = True) -> Clock:
    """A clock for calls that return when their work is done: seconds of one call.

    With `flush` a memory of twice the last cache is written before the call, so that every call finds the same cold
    cache. A sample counts if the process waited for a processor during less than 2 % of it, where Linux tells; after
    three others the best of them does.
    """
    cold = numpy.zeros(2 * _last_cache() if flush else 0, numpy.uint8)

    def seconds(call: Callable[[], object]) -> float:
        best = float("inf")
        for _ in range(_ATTEMPTS):
            cold.fill(1)
            before = _waited()
            best = min(best, took := _host_seconds(call))
            if _waited() - before < _DISTURBED * took:
                return took
        return best
    return seconds


def gpu_clock(flush: bool = True) -> Clock:
    """A clock for calls that put work on CuPy's current stream: seconds between two events around it.

    With `flush` a memory of twice the L2 cache, at least 256 MB, is written on the stream before the first event: the
    caches are cold, and the launch is on its way before the GPU is free for it. Raises TG0304 without CuPy.
    """
    cupy = require_cupy("timing on a GPU")
    start, stop = cupy.cuda.Event(), cupy.cuda.Event()
    cold = None
    if flush:
        cold = cupy.empty(max(2 * cupy.cuda.Device().attributes["L2CacheSize"], 256 << 20), "uint8")

    def seconds(call: Callable[[], object]) -> float:
        if cold is not None:
            cold.fill(1)
        start.record()
        call()
        stop.record()
        stop.synchronize()
        return 1e-3 * cupy.cuda.get_elapsed_time(start, stop)
    return seconds


def _host_seconds(call: Callable[[], object]) -> float:
    started = time.perf_counter()
    call()
    return time.perf_counter() - started


def _measured(seconds: Callable[[], float]) -> list[float]:
    """Samples until the budget is used, at least three."""
    samples: list[float] = []
    end = time.perf_counter() + _BUDGET
    while len(samples) < _LEAST or len(samples) < _MOST and time.perf_counter() < end:
        samples.append(seconds())
    return samples


def _waited() -> float:
    """Seconds that the threads of this process have been ready and waiting for a processor; 0 where nothing tells."""
    try:
        return 1e-9 * sum(int(task.read_text().split()[1]) for task in _TASKS.glob("*/schedstat"))
    except (OSError, ValueError, IndexError):
        return 0.0


def _last_cache() -> int:
    """Bytes of the processor's largest cache."""
    sizes = []
    for file in _CACHES.glob("index*/size"):
        text = file.read_text().strip()
        sizes.append(int(text[:-1]) << {"K": 10, "M": 20}[text[-1]] if text[-1:] in ("K", "M") else int(text))
    return max(sizes, default=_CACHE)
