"""Reads compiler logs: the first error with its Python line, warnings, registers and spills."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tilegen.errors import Loc, Note, TilegenError

# file.cpp:12:3: error: text    file.cu(12): error: text    (gcc, clang, nvcc and NVRTC)
_PLACED = re.compile(r"^(?P<file>[^\s:(][^:(\n]*?)(?::(?P<line>\d+)(?::\d+)?|\((?P<cuda_line>\d+)\)): "
                     r"(?:fatal |catastrophic )?(?P<kind>error|warning)(?: #[\w-]+)?: (?P<text>.*)$",
                     re.MULTILINE)
_UNPLACED = re.compile(r"^.*?\b(?:error|fatal)\b\s*:?\s*(?P<text>.*)$", re.MULTILINE | re.IGNORECASE)
_PTXAS_WARNING = re.compile(r"^ptxas (?:warning|info)\s*:\s*(?:\(C(?P<code>\d+)\)\s*)?(?P<text>.*"
                            r"(?:Potential Performance Loss|setmaxnreg|spill|ignored).*)$", re.MULTILINE)
_DIRECTIVE = re.compile(r"^#line \d.*$", re.MULTILINE)
_ORIGIN_COMMENT = re.compile(r"//\s*(?P<file>[\w.-]+\.py|<[\w -]+>):(?P<line>\d+)")
_NUMBERS = {
    "registers": re.compile(r"Used (\d+) registers|\.vgpr_count:\s+(\d+)"),
    "spill_stores": re.compile(r"(\d+) bytes spill stores|\.vgpr_spill_count:\s+(\d+)"),
    "spill_loads": re.compile(r"(\d+) bytes spill loads"),
    "stack": re.compile(r"(\d+) bytes stack frame|\.private_segment_fixed_size:\s+(\d+)"),
    "shared": re.compile(r"(\d+) bytes smem|\.group_segment_fixed_size:\s+(\d+)"),
}
# What to do about a finding: by its kind, and for the reasons that ptxas gives (C7508 to C7519) by their words.
CURES = {
    "spill": "a thread holds too much: smaller fragments, more threads, or fewer stages where copies wait in registers",
    "local memory": "an array that is indexed by a number known only at run time, or too much in registers: constant "
                    "indices, smaller fragments, more threads",
    "serialised": "let nothing touch the sums between products, and give a thread fewer of them: smaller tiles or more "
                  "threads",
    "fence": "memory is ordered for the whole GPU in each step: move T.threadfence or the atomic out of the loop, or "
             "order for the block alone",
    "performance": "let nothing touch the sums while products run",
}
_PTXAS_CURES = (("register", "a thread holds too much for products that overlap: smaller tiles, or more threads"),
                ("function", "a function that is not inlined stands between products: make it __forceinline__"),
                ("setmaxnreg", "registers cannot move between roles: the kernel needs __launch_bounds__ with its "
                               "threads, and no calls of functions"),
                ("branch", "products stand under a condition: compute it outside of them"))


@dataclass(frozen=True)
class Resources:
    """What the compiler says that one thread (registers) or block (static shared bytes) uses."""

    registers: int = 0
    spill_stores: int = 0
    spill_loads: int = 0
    stack: int = 0
    shared: int = 0


@dataclass(frozen=True)
class Finding:
    """Something that somebody should read: a warning, lost performance, a spill; in which emitted line (0: nobody
    says), and what helps."""

    kind: str
    message: str
    line: int = 0
    cure: str = ""


@dataclass(frozen=True)
class Origin:
    """Where an emitted text comes from: its own name, its Python file, and its contract's line map."""

    file: str
    source: str = ""
    line_map: Mapping[str, tuple[int, int]] = field(default_factory=dict)


def resources(log: str) -> Resources | None:
    """The figures in a ptxas log or in AMDGPU assembly; None where there are none."""
    found = {}
    for name, pattern in _NUMBERS.items():
        values = [int(next(g for g in m.groups() if g)) for m in pattern.finditer(log)]
        if values:
            found[name] = max(values)
    return Resources(**found) if "registers" in found else None


def findings(log: str) -> list[Finding]:
    """Warnings, ptxas performance losses (C75xx) and spills."""
    found = [Finding("warning", m["text"], int(m["line"] or m["cuda_line"]))
             for m in _PLACED.finditer(log) if m["kind"] == "warning"]
    found += [Finding("performance", (f"C{m['code']}: " if m["code"] else "") + m["text"], cure=_ptxas_cure(m["text"]))
              for m in _PTXAS_WARNING.finditer(log)]
    used = resources(log)
    if used and (used.spill_stores or used.spill_loads):
        found.append(Finding("spill", f"{used.spill_stores} bytes spill stores, "
                             f"{used.spill_loads} bytes spill loads", cure=CURES["spill"]))
    return found


def _ptxas_cure(text: str) -> str:
    """What helps against lost performance that ptxas speaks of."""
    return next((cure for word, cure in _PTXAS_CURES if word in text), CURES["performance"])


def warning(finding: Finding, text: str, origin: Origin) -> str:
    """A finding as a user should read it: what, at which Python line, and what helps."""
    emitted = f"{origin.file}:{finding.line}" if finding.line else origin.file
    place = python_line(text, finding.line, origin) if finding.line else None
    parts = [f"{emitted} is slower than it could be: {finding.message}", place and f"from {place.file}:{place.line}",
             finding.cure]
    return "; ".join(part for part in parts if part)


def refusal(log: str, text: str, origin: Origin, compiler: str, kept: Path) -> TilegenError:
    """The TG0302 error for a log: the first error, where it is in the emitted file, and the Python line.

    `kept` is the folder that holds the emitted text, as the compiler saw it, and the whole log.
    """
    places = [m for m in _PLACED.finditer(log) if m["kind"] == "error"]
    ours = [m for m in places if (kept / m["file"]).is_file()]
    notes = (Note(f"the compiler's log is in {kept / 'log.txt'}"),)
    if ours:
        line = int(ours[0]["line"] or ours[0]["cuda_line"])
        emitted = Note(f"the emitted line: {_lines(text)[line - 1].strip()}")
        message = f"{compiler} refused {origin.file}:{line}: {ours[0]['text']}"
        return TilegenError("TG0302", message, python_line(text, line, origin), notes=(emitted, *notes))
    if places and places[0]["file"].endswith(".py"):        # a file with #line speaks of its Python
        match = places[0]
        place = Loc(match["file"], int(match["line"] or match["cuda_line"]))
        return TilegenError("TG0302", f"{compiler} refused {origin.file}: {match['text']}", place, notes=notes)
    match = places[0] if places else _UNPLACED.search(log)
    first = (match["text"] if match else log.strip().partition("\n")[0]) or "it gave no reason"
    return TilegenError("TG0302", f"{compiler} refused {origin.file}: {first}", notes=notes)


def without_directives(text: str) -> str:
    """`text` with empty lines in place of `#line`: for tools of ours, which map emitted lines themselves."""
    return _DIRECTIVE.sub("", text)


def python_line(text: str, line: int, origin: Origin) -> Loc | None:
    """The Python place that line `line` of the emitted `text` comes from.

    The contract's map is used where it agrees with the `// gemm.py:24` comments; after a hand edit that
    moved lines, the nearest such comment at or above the line decides.
    """
    lines = _lines(text)
    near = _last_comment(lines[:line])
    spans = [(last - first, key) for key, (first, last) in origin.line_map.items() if first <= line <= last]
    for _, key in sorted(spans):
        file, _, number = key.rpartition(":")
        first, last = origin.line_map[key]
        inside = [m["line"] for m in map(_ORIGIN_COMMENT.search, lines[first - 1: last]) if m]
        if near is None or number in inside:
            return Loc(file or origin.source.partition(":")[0], int(number))
    return near


def _last_comment(lines: list[str]) -> Loc | None:
    for line in reversed(lines):
        if match := _ORIGIN_COMMENT.search(line):
            return Loc(match["file"], int(match["line"]))
    return None


def _lines(text: str) -> list[str]:
    return text.splitlines() or [""]
