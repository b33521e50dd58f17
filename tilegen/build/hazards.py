"""What costs speed and shows in machine code alone: local memory, products one by one, fences in loops.

Each finding has the emitted line that it comes from, where the compiler kept lines and the disassembler shows them.
"""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from tilegen.build import cache, sass
from tilegen.build.lint import CURES, Finding
from tilegen.errors import TilegenError

_FORMAT = 1         # of the cache entries
_FILE = "findings.json"
_PLACE = re.compile(r'^\s*//## File "(?P<file>[^"]*)", line (?P<line>\d+)')
_LABEL = re.compile(r"^\s*(?P<label>\.L\w+):")
_CODE = re.compile(r"^\s*/\*(?P<at>[0-9a-f]{4,})\*/\s+(?P<text>(?:@!?U?P\w+\s+)?[A-Z][^;]*);")
_NAME = re.compile(r"(?:@!?U?P\w+\s+)?(?P<name>[\w.]+)\s*(?P<operands>.*)")
_TARGET = re.compile(r"(\.L\w+|0x[0-9a-f]+)\W*$")
_WORDS = {"local memory": "instructions on local memory",
          "serialised": "products of warpgroups that wait for the one before",
          "fence": "fences for the whole GPU in a loop"}
_FUNCTION = re.compile(r"^\s*(?:\.text\.\S+:|Function : )")


@dataclass(frozen=True)
class Instruction:
    """One machine instruction: its name with modifiers, its operands, the emitted line (0: unknown), and the labels
    and the function that it stands behind."""

    name: str
    operands: str
    line: int
    label: str
    function: int


def instructions(listing: str) -> list[Instruction]:
    """What a listing of nvdisasm or cuobjdump holds. Addresses stand in for labels where it has none."""
    found, line, label, function = [], 0, "", 0
    for text in listing.splitlines():
        if match := _PLACE.match(text):
            line = int(match["line"])             # of a call in a call the last one is the kernel's
        elif match := _LABEL.match(text):
            label = match["label"]
            found.append(Instruction("", "", line, label, function))
        elif _FUNCTION.match(text):
            function += 1
        elif match := _CODE.match(text):
            parts = _NAME.match(match["text"])
            at = f"0x{int(match['at'], 16):x}"
            found.append(Instruction(parts["name"], parts["operands"].strip(), line, at, function))
    return found


def findings_in(code: list[Instruction]) -> list[Finding]:
    """The hazards of machine code, one finding for each kind and emitted line."""
    found: dict[tuple[str, int], int] = {}
    for kind, instruction in (*_local(code), *_serialised(code), *_fences(code)):
        found[kind, instruction.line] = found.get((kind, instruction.line), 0) + 1
    return [Finding(kind, f"{_WORDS[kind]}: {count}", line, CURES[kind]) for (kind, line), count in found.items()]


def _local(code: Iterable[Instruction]) -> Iterator[tuple[str, Instruction]]:
    yield from (("local memory", i) for i in code if i.name.split(".")[0] in ("LDL", "STL"))


def _fences(code: list[Instruction]) -> Iterator[tuple[str, Instruction]]:
    """Fences wider than a block between a branch back and its target."""
    inside: set[int] = set()
    for start, end in _loops(code):
        inside.update(range(start, end))
    for number in sorted(inside):
        name = code[number].name
        if name.startswith("MEMBAR") and not name.endswith(".CTA"):
            yield "fence", code[number]


def _loops(code: list[Instruction]) -> Iterator[tuple[int, int]]:
    places: dict[tuple[int, str], int] = {}
    for number, i in enumerate(code):
        places.setdefault((i.function, i.label), number)
        if i.name.split(".")[0] == "BRA" and (match := _TARGET.search(i.operands)):
            start = places.get((i.function, match[1]))
            if start is not None:
                yield start, number


def _serialised(code: Iterable[Instruction]) -> Iterator[tuple[str, Instruction]]:
    """Products that add to sums for which the code has just waited, with no branch or label between."""
    waited: dict[str, bool] = {}
    for i in code:
        kind = i.name.split(".")[0]
        if not kind or kind == "BRA":
            waited.clear()
        elif i.name.startswith("WARPGROUP.DEPBAR") and i.operands.endswith("0x0"):
            waited = dict.fromkeys(waited, True)
        elif kind in ("HGMMA", "QGMMA", "IGMMA"):
            sums, *others = (part.strip() for part in i.operands.split(","))
            if sums != "RZ" and sums in others and waited.get(sums):
                yield "serialised", i
            waited[sums] = False


def of(cubin: Path, root: Path | None = None) -> list[Finding]:
    """The hazards in a compiled file, from the cache where it has been looked at before. Raises TG0301 where nothing
    can disassemble it."""
    command = sass.disassembler()

    def produce(work: Path) -> dict:
        found = findings_in(instructions(sass.listing(cubin)))
        (work / _FILE).write_text(json.dumps([dataclasses.asdict(f) for f in found]), encoding="utf-8")
        return {"disassembler": command[0]}
    digest = cache.content_hash(_FORMAT, Path(command[0]).name, cubin.read_bytes().hex())
    entry, _ = cache.fetch("findings-" + cubin.stem, digest, produce, root)
    return [Finding(**f) for f in json.loads(entry.file(_FILE).read_text(encoding="utf-8"))]


def placed(found: list[Finding], cubin: Path, root: Path | None = None) -> list[Finding]:
    """What the compiler said of lost performance, with lines: those that most of the hazards behind it come from.
    Without a disassembler, or for what is no cubin, `found` as it is."""
    behind = {"performance": "serialised", "spill": "local memory"}
    if cubin.suffix != ".cubin" or not any(f.kind in behind for f in found):
        return found
    try:
        seen = of(cubin, root)
    except TilegenError:
        return found
    most = {f.kind: f.line for f in sorted(seen, key=lambda f: int(f.message.split()[-1]))}
    return [dataclasses.replace(f, line=f.line or most.get(behind.get(f.kind, ""), 0)) for f in found]
