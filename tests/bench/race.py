"""What the benchmarks print of a race, see `tilegen.racing.race`."""

from __future__ import annotations

from collections.abc import Callable

from tilegen.racing import race as racing
from tilegen.racing.race import interval, speedup
from tilegen.timing import Clock


def race(candidates: dict[str, Callable[[], object]], clock: Clock, rounds: int = 15) -> dict[str, list[float]]:
    """{name: times in microseconds}, from interleaved rounds."""
    return {name: [1e6 * s for s in samples] for name, samples in racing.race(candidates, clock, rounds).items()}


def report(title: str, times: dict[str, list[float]], flops: float = 0, moved: float = 0) -> list[dict]:
    """Prints one line per candidate, with the interval of 95 %; the ratio is to the first: above 1 is faster."""
    first = next(iter(times.values()))
    rows = []
    for name, samples in times.items():
        time, ratio = interval(samples), speedup(samples, first).median
        rate = f"{flops / time.median * 1e-6:9.2f} TFLOP/s" if flops else f"{moved / time.median * 1e-6:9.3f} TB/s"
        print(f"{title:32s} {name:22s} {time.median:10.1f} us  {time.low:10.1f} .. {time.high:10.1f}  {rate}  "
              f"{ratio:6.3f}x", flush=True)
        rows.append({"work": title, "name": name, "median_us": time.median, "low_us": time.low, "high_us": time.high,
                     "tflops": flops / time.median * 1e-6 if flops else None,
                     "tbs": moved / time.median * 1e-6 if moved else None, "ratio": ratio})
    return rows
