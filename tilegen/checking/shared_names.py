"""Addresses in shared memory by the names that the emitted file gives them: `s.A_shared[0][12][4]`."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

from tilegen.errors import TilegenError
from tilegen.runtime.contract import Contract

_START = 1024            # where the emulator puts a block's shared memory
_STRUCT = re.compile(r"struct Smem\s*\{(.*?)\};", re.DOTALL)
_MEMBER = re.compile(r"(?:alignas\((?P<align>\d+)\)\s+)?(?P<type>\w[\w ]*?)\s+(?P<name>\w+)"
                     r"(?P<extents>(?:\[[^\]]+\])*);")
_BYTES = {"double": 8, "long long": 8, "unsigned long long": 8, "float": 4, "int": 4, "unsigned": 4, "short": 2,
          "unsigned short": 2, "float16": 2, "bfloat16": 2, "_Float16": 2, "signed char": 1, "unsigned char": 1,
          "char": 1, "bool": 1, "float8_e4m3": 1, "float8_e5m2": 1}
_ADDRESS = re.compile(r"shared address (0x[0-9a-f]+)")


@dataclass(frozen=True)
class _Member:
    name: str
    start: int
    element: int
    extents: tuple[int, ...]

    @property
    def end(self) -> int:
        return self.start + self.element * math.prod(self.extents)


class SharedNames:
    """The members of `struct Smem`, which lies at the start of shared memory. Empty for a file that keeps its
    shared memory otherwise."""

    def __init__(self, text: str, contract: Contract) -> None:
        found = _STRUCT.search(text)
        declared = re.findall(r"^\s*(?:extern\s+)?__shared__\s", text, re.MULTILINE)
        alone = text.count("struct Smem") == 1 and len(declared) == 1
        try:
            self._members = _members(found[1], contract) if found and alone else []
        except (TilegenError, KeyError):
            self._members = []

    def explained(self, message: str) -> str:
        """The message, with a name after each address of shared memory."""
        return _ADDRESS.sub(lambda m: m[0] + self._name(int(m[1], 16) - _START), message)

    def _name(self, offset: int) -> str:
        for member in self._members:
            if member.start <= offset < member.end:
                return f" (s.{member.name}{_index(member, (offset - member.start) // member.element)})"
        before = [m for m in self._members if m.end <= offset]
        if not before:
            return ""
        return f" ({offset - before[-1].end} bytes after the end of s.{before[-1].name})"


def _members(body: str, contract: Contract) -> list[_Member]:
    result, position = [], 0
    for match in _MEMBER.finditer(re.sub(r"//[^\n]*", "", body)):
        extents = tuple(int(contract.value(e, {})) for e in re.findall(r"\[([^\]]+)\]", match["extents"]))
        element = _BYTES[match["type"]]
        align = max(int(match["align"] or 1), element)
        member = _Member(match["name"], -(-position // align) * align, element, extents)
        position = member.end
        result.append(member)
    return result


def _index(member: _Member, element: int) -> str:
    """Subscripts; the first may lie beyond its extent where the rest of the array would be."""
    subscripts = []
    for extent in reversed(member.extents):
        element, last = divmod(element, extent)
        subscripts.insert(0, f"[{last}]")
    return "".join(subscripts)
