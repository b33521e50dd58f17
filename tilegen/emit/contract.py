"""The launch contract: what a loader needs to run the file, as JSON in a comment."""

from __future__ import annotations

import hashlib
import json
import re

from tilegen import ir
from tilegen.emit.expressions import Printer
from tilegen.emit.launches import Spoken
from tilegen.emit.text import COLUMNS
from tilegen.plan import TensorMapPlan, maps_of
from tilegen.strided import StridedBuffer
from tilegen.targets.base import Target


class ContractPrinter(Printer):
    """Expressions of the contract: ceildiv stays ceildiv."""

    def _call(self, e: ir.Call) -> tuple[str, str]:
        if e.name == "ceildiv":
            return f"ceildiv({', '.join(self(a) for a in e.args)})", "atom"
        return super()._call(e)

    def function(self, name, dtype, e=None) -> str:
        return name


def digest(shown: str) -> str:
    """A hash of the kernel's IR, given as text."""
    return "sha256:" + hashlib.sha256(shown.encode()).hexdigest()[:16]


def fields(kernel: ir.Kernel, target: Target, knobs: list[str], known: set[str], ranges, launches: list[Spoken],
           ir_hash: str) -> dict:
    """The contract without its line map. Knobs that the file does not hold (not `known`) are written
    as their values."""
    values = {k.name: ir.Const(k.value) for k in kernel.knobs if k.name not in known}
    kernel = ir.substitute(kernel, values)
    e = ContractPrinter(target, ranges)
    maps = maps_of(launch.kernel for launch in launches)
    alignments = _alignments(launches)
    how = [_launch(launch, values, e) for launch in launches]
    if kernel.launches:
        how = {"launches": [{"entry": launch.kernel.name, **its, "arguments": _arguments(launch.kernel)}
                            for launch, its in zip(launches, how)]}
    else:
        how, = how
    result: dict = {"entry": kernel.name, "target": target.name, "arch": target.arch, "knobs": knobs, **how,
                    "params": [_param(p, e, maps, alignments) for p in kernel.params]}
    if kernel.sizes:
        result["sizes"] = [s.name for s in kernel.sizes]
    if kernel.requires:
        result["requires"] = [e(r) for r in kernel.requires]
    result["source"] = kernel.loc.short if kernel.loc else ""
    result["ir"] = ir_hash
    return result


def _alignments(launches: list[Spoken]) -> dict[str, int]:
    """The bytes that tensors have to start at a multiple of, by parameter."""
    found: dict[str, int] = {}
    for launch in launches:
        plan = launch.kernel.plan                         # None where the interpreter runs the kernel
        for name, size in plan.alignments.items() if plan else ():
            found[name] = max(size, found.get(name, 1))
    return found


def _launch(launch: Spoken, values: dict[str, ir.Expr], e: Printer) -> dict:
    walk = launch.kernel.plan.walk if launch.kernel.plan else None
    extents = walk.grid(launch.kernel.grid) if walk else launch.kernel.grid
    grid = [e(ir.substitute(g, values)) for g in extents]
    result = {"grid": grid + ["1"] * (3 - len(grid)), "block": launch.threads}
    if walk and walk.cluster is not None:
        result["cluster"] = [e(walk.cluster), "1", "1"]
    return result | {"shared": launch.shared}


def _arguments(launch: ir.Kernel) -> list[str]:
    return [p.name for p in launch.params] + [size.name for size in launch.sizes]


def _param(p: ir.Param, e: Printer, maps: dict[str, TensorMapPlan], alignments: dict[str, int]) -> dict:
    if p.buffer is None:
        return {"name": p.name, "dtype": p.var.dtype.name}
    access = "workspace" if p.workspace else p.access
    shape = [e(x) for x in p.buffer.shape]
    result = {"name": p.name, "dtype": p.buffer.dtype.in_memory, "shape": shape, "access": access}
    if isinstance(p.buffer, StridedBuffer):
        result["strides"] = [e(x) for x in p.buffer.strides]
    if p.name in alignments:
        result["align"] = alignments[p.name]
    if p.name in maps:
        result |= {"align": 16, "box": [e(x) for x in maps[p.name].box]}
    return result


def line_map(text: str, source: str) -> dict[str, list[int]]:
    """{Python line: [first, last line of the emitted text]}, from the origin comments."""
    found: list[tuple[str, int]] = []
    lines = text.split("\n")
    pattern = re.compile(r"// " + re.escape(source) + r":(\d+)")
    for number, line in enumerate(lines, 1):
        match = pattern.search(line)
        if match and not line.startswith("//"):
            found.append((match.group(1), number))
    result: dict[str, list[int]] = {}
    for (key, first), following in zip(found, [*(n for _, n in found[1:]), None]):
        last = min(following or len(lines) + 1, _end_of_function(lines, first)) - 1
        if key in result:
            result[key] = [min(result[key][0], first), max(result[key][1], last)]
        else:
            result[key] = [first, max(first, last)]
    return result


def _end_of_function(lines: list[str], first: int) -> int:
    return next((n for n in range(first + 1, len(lines) + 1) if lines[n - 1].startswith("}")), len(lines) + 1)


def render(contract: dict) -> str:
    """The JSON in comment lines, broken between fields."""
    pieces = [f'"{key}": {json.dumps(value)}' for key, value in contract.items()]
    lines, line = [], "// tilegen-launch: {"
    for i, piece in enumerate(pieces):
        piece += "}" if i == len(pieces) - 1 else ","
        if len(line) + len(piece) + 1 > COLUMNS and not line.endswith("{"):
            lines.append(line.rstrip())
            line = "//   "
        for part in _parts(piece, COLUMNS - len(line)):
            if len(line) + len(part) > COLUMNS:
                lines.append(line.rstrip())
                line = "//     "
            line += part
        line += " "
    lines.append(line.rstrip())
    return "\n".join(lines)


def _parts(piece: str, room: int) -> list[str]:
    """A field in pieces that may stand on separate lines."""
    if len(piece) <= room:
        return [piece]
    parts, start, quoted = [], 0, False
    for i, c in enumerate(piece):
        quoted ^= c == '"'
        if not quoted and c == "," and piece[i + 1:i + 2] == " ":
            parts.append(piece[start:i + 2])
            start = i + 2
    return [*parts, piece[start:]]
