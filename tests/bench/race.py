"""Races callables fairly: in turn, round by round, each over the same flushed cache; medians and ratios."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable


def race(candidates: dict[str, Callable[[], object]], clock: Callable[[Callable[[], object]], float],
         rounds: int = 15) -> dict[str, list[float]]:
    """{name: times in microseconds}. Each round times every candidate once, in turn, so that clocks,
    temperature and neighbours hit all alike. `clock(f)` is the time of one call in seconds."""
    for f in candidates.values():
        f()
    times: dict[str, list[float]] = {name: [] for name in candidates}
    names = list(candidates)
    for turn in range(rounds):
        for name in names[turn % len(names):] + names[:turn % len(names)]:
            times[name].append(1e6 * clock(candidates[name]))
    return times


def report(title: str, times: dict[str, list[float]], flops: float = 0, moved: float = 0) -> list[dict]:
    """Prints one line per candidate; the ratio is to the first: above 1 is faster than it."""
    first = statistics.median(next(iter(times.values())))
    rows = []
    for name, samples in times.items():
        median = statistics.median(samples)
        low, high = sorted(samples)[len(samples) // 10], sorted(samples)[-1 - len(samples) // 10]
        rate = f"{flops / median * 1e-6:9.2f} TFLOP/s" if flops else f"{moved / median * 1e-6:9.3f} TB/s"
        print(f"{title:32s} {name:22s} {median:10.1f} us  {low:10.1f} .. {high:10.1f}  {rate}  {first / median:6.3f}x",
              flush=True)
        rows.append({"work": title, "name": name, "median_us": median, "low_us": low, "high_us": high,
                     "tflops": flops / median * 1e-6 if flops else None, "tbs": moved / median * 1e-6 if moved else None,
                     "ratio": first / median})
    return rows


def wall_clock(f: Callable[[], object]) -> float:
    """Seconds of one call on the CPU."""
    start = time.perf_counter()
    f()
    return time.perf_counter() - start
