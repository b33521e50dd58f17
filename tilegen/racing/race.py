"""Races callables fairly: round by round, each in turn; medians with intervals that assume no distribution."""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from tilegen.errors import TilegenError
from tilegen.timing import Clock

CONFIDENCE = 0.95
LEAST_ROUNDS = 6            # fewer samples have no interval of 95 %


@dataclass(frozen=True)
class Interval:
    """A median, and the two samples between which the median of all calls lies with 95 % confidence."""

    median: float
    low: float
    high: float


def race(candidates: Mapping[str, Callable[[], object]], clock: Clock, rounds: int = 31,
         budget: float = math.inf) -> dict[str, list[float]]:
    """{name: seconds of each round}. A round times every candidate once, beginning with another one each time, so that
    clock rates, temperature and neighbours hit all alike. Each was called once before. After `budget` seconds no round
    begins, once there are six.

    Raises TG0506 for less than six rounds, which have no interval of 95 %.
    """
    if rounds < LEAST_ROUNDS:
        raise TilegenError("TG0506", f"{rounds} rounds have no interval of 95 %", hint=f"take {LEAST_ROUNDS} or more")
    for call in candidates.values():
        clock(call)
    times: dict[str, list[float]] = {name: [] for name in candidates}
    names, end = list(candidates), time.perf_counter() + budget
    for turn in range(rounds):
        if turn >= LEAST_ROUNDS and time.perf_counter() > end:
            break
        first = turn % len(names)
        for name in names[first:] + names[:first]:
            times[name].append(clock(candidates[name]))
    return times


def interval(samples: Sequence[float]) -> Interval:
    """The median with its interval of 95 % from order statistics: of n samples in order, the k-th from either end,
    where k is the largest number for which 2 P(Binomial(n, 1/2) < k) is at most 5 %.

    Source: David and Nagaraja, Order Statistics, 3rd edition, section 7.1.
    """
    ordered, count = sorted(samples), len(samples)
    k, outside = 0, 0.0
    while 2 * (outside := outside + math.comb(count, k) / 2**count) <= 1 - CONFIDENCE:
        k += 1
    k = max(k, 1)
    return Interval(statistics.median(ordered), ordered[k - 1], ordered[count - k])


def speedup(samples: Sequence[float], others: Sequence[float]) -> Interval:
    """How many times as fast as `others` the `samples` are, round by round: above 1 they are faster."""
    return interval([other / own for own, other in zip(samples, others)])
