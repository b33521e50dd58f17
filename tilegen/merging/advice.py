"""Which Python argument makes the same change as an edit of a knob, a padding or an unroll factor."""

from __future__ import annotations

import re
from collections.abc import Iterator
from difflib import SequenceMatcher

from tilegen.literals import emitted_with
from tilegen.merging.knobs import Change
from tilegen.merging.python import Source
from tilegen.merging.regions import Region, regions

_UNROLL = re.compile(r"\s*#pragma (?:GCC )?unroll(?:\s+(?P<factor>\S+))?\s*$")
# Constants that the planner names, and what decides them in Python; {value} is the new value
_PLANNED = [
    (r"THREADS", "T.Kernel(", "threads={value} in T.Kernel"),
    (r"STAGES", "T.Pipelined(", "num_stages={value} in T.Pipelined"),
    (r"MIN_BLOCKS", "", "T.annotate_min_blocks_per_sm({value})"),
    (r"PANEL", "T.use_swizzle(", "T.use_swizzle({value})"),
    (r"\w+_PAD", "", "a T.alloc_shared whose rows have {value} more columns"),
    (r"WARPS_N\w*", "T.gemm(", "policy= in T.gemm, which divides the warps"),
]


def for_constant(change: Change, text: str, source: Source | None) -> str:
    """What to write in Python so that a constant of the emitted `text` gets its new value; '' for a constant that is
    gone or new. `source` is the Python file where it is known."""
    if change.before is None or change.after is None:
        return ""
    name, value = change.name, change.after
    if source and name in source.parameters:
        return f"-D {name}={value}, or {name}={value} in the signature ({source.name}:{source.parameters[name]})"
    if name in emitted_with(text):
        return f"-D {name}={value}"
    if source and name in source.module:
        return f"{name} = {value} at {source.name}:{source.module[name]}"
    for pattern, call, words in _PLANNED:
        if re.fullmatch(pattern, name):
            return words.format(value=value) + _at(text, call)
    if source is None and not name.isupper():
        return f"-D {name}={value}"
    return "" if source is None else "no argument: the planner decides it"


def _at(text: str, call: str) -> str:
    """` (gemm.py:13)`, where the statement with this call is."""
    places = [region.origin for region in regions(text) if call and region.origin and call in region.origin.text]
    return f" ({places[0]})" if places else ""


def unrolled(base: str, edited: str) -> Iterator[tuple[Region, str, str]]:
    """Unroll factors that were edited: the region, and the pragma before and after."""
    old = {region.key: region for region in regions(base) if region.origin}
    for region in regions(edited):
        before = old.get(region.key)
        if before is None:
            continue
        for kind, a, b, c, d in SequenceMatcher(None, before.lines, region.lines, autojunk=False).get_opcodes():
            if kind == "replace" and b - a == d - c:
                for was, now in zip(before.lines[a:b], region.lines[c:d]):
                    if _UNROLL.match(was) and _UNROLL.match(now):
                        yield region, was.strip(), now.strip()


def for_unroll(region: Region, now: str) -> str:
    """What to write in Python so that the loops of a region get this pragma."""
    match = _UNROLL.match(now)
    loop = next((name for name in ("T.unroll", "T.serial", "range") if f"{name}(" in region.origin.text), "")
    if not loop or not match or not match["factor"]:
        return "no argument: these loops are the planner's"
    return f"unroll_factor={match['factor']} in T.unroll" + ("" if loop == "T.unroll" else f", in place of {loop}")
