"""The result of a race: rows, their shares of the roof, and a verdict in words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tilegen.racing.entrants import Field
from tilegen.racing.limits import Limits
from tilegen.racing.race import Interval, interval, speedup


@dataclass(frozen=True)
class Row:
    """One entrant: seconds of a call, how many times as fast as the subject it is, and its share of the roof, which
    `side` (arithmetic or memory) bounds."""

    name: str
    words: str
    time: Interval
    ratio: Interval
    share: float | None
    side: str


def rows(field: Field, times: Mapping[str, Sequence[float]], limits: Limits) -> list[Row]:
    """The rows in the order of the entrants. `times` are seconds by name."""
    subject = times[field.entrants[0].name]
    found = []
    for entrant in field.entrants:
        samples = times[entrant.name]
        time = interval(samples)
        found.append(Row(entrant.name, entrant.words, time, speedup(samples, subject),
                         *limits.share(field.flops, field.bytes, time.median)))
    return found


def verdict(found: Sequence[Row]) -> list[str]:
    """A sentence for each other entrant: whether the first is faster, and by how much with 95 % confidence."""
    subject, *others = found
    lines = [f"{subject.name} {_against(other)}" for other in others]
    if subject.share is not None:
        lines.append(f"{subject.name} reaches {100 * subject.share:.0f} % of what {subject.side} allows")
    if any(row.share is not None and row.share > 1 for row in found):
        lines.append("a share above 100 % means that the roof was measured while other programs ran: measure again")
    return lines


def _against(other: Row) -> str:
    """How the subject does against another: the inverse of the other's ratio."""
    gain = Interval(1 / other.ratio.median, 1 / other.ratio.high, 1 / other.ratio.low)
    between = f"(95 %: {gain.low:.3f} to {gain.high:.3f})"
    if gain.low <= 1 <= gain.high:
        return f"and {other.name} are as fast as each other, as far as these rounds tell {between}"
    word = "faster" if gain.low > 1 else "slower"
    return f"is {word} than {other.name}: {gain.median:.3f} times as fast {between}"


def cells(row: Row, field: Field) -> tuple[str, ...]:
    """The row as text: name, microseconds, their interval, rates, ratio, share, what it is."""
    gflops, gbs = _rate(field.flops, row), _rate(field.bytes, row)
    return (row.name, _us(row.time.median), f"{_us(row.time.low)} .. {_us(row.time.high)}",
            "-" if gflops is None else f"{gflops:.1f}", "-" if gbs is None else f"{gbs:.1f}", f"{row.ratio.median:.3f}",
            "-" if row.share is None else f"{100 * row.share:.0f} %", row.words)


HEADINGS = ("", "us", "95 %", "GFLOP/s", "GB/s", "ratio", "of the roof", "")


def data(found: Sequence[Row], field: Field) -> list[dict[str, Any]]:
    """The rows for JSON."""
    work = " ".join([field.contract.entry, *(f"{name}={value}" for name, value in field.sizes.items())])
    return [{"work": work, "name": row.name, "what": row.words, "median_us": 1e6 * row.time.median,
             "low_us": 1e6 * row.time.low, "high_us": 1e6 * row.time.high, "gflops": _rate(field.flops, row),
             "tflops": None if field.flops is None else _rate(field.flops, row) / 1e3, "gbs": _rate(field.bytes, row),
             "ratio": row.ratio.median, "ratio_low": row.ratio.low, "ratio_high": row.ratio.high,
             "roof": row.share, "bound": row.side or None} for row in found]


def _rate(amount: float | None, row: Row) -> float | None:
    return amount / row.time.median / 1e9 if amount else None


def _us(seconds: float) -> str:
    return f"{1e6 * seconds:.1f}"
