"""The time of a prepared call: the median of many, after a warm-up."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable

from tilegen.runtime.arrays import require_cupy

_BUDGET = 0.3           # seconds of measuring
_MOST, _LEAST = 1000, 3


def on_host(call: Callable[[], object]) -> float:
    """Median seconds of `call`, which returns when its work is done."""
    call()
    return statistics.median(_measured(lambda: _host_seconds(call)))


def on_gpu(call: Callable[[], object]) -> float:
    """Median seconds of the work that `call` puts on CuPy's current stream."""
    cupy = require_cupy("timing on a GPU")
    start, stop = cupy.cuda.Event(), cupy.cuda.Event()

    def seconds() -> float:
        start.record()
        call()
        stop.record()
        stop.synchronize()
        return 1e-3 * cupy.cuda.get_elapsed_time(start, stop)

    for _ in range(_LEAST):
        seconds()
    return statistics.median(_measured(seconds))


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
