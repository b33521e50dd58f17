"""The `constexpr` values of an emitted file, read from its text: knobs as they stand now, after any edit."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from tilegen.errors import Loc, TilegenError
from tilegen.runtime.expressions import Number, evaluate

_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])'", re.DOTALL)
_PIECE = re.compile(r"[{}]|\bconstexpr\s+([^;{}]*);")
_DECLARATOR = re.compile(r"(?:(?P<type>[\w:]+(?:\s+[\w:]+)*)\s+)?(?P<name>[A-Za-z_]\w*)\s*=(?!=)\s*"
                         r"(?P<value>.+)", re.DOTALL)
_HOST_PART = "#ifdef TILEGEN_MAIN"


@dataclass(frozen=True)
class Constant:
    """One `constexpr`: its C type, its expression, and its line in the file (from 1)."""

    name: str
    type: str
    expression: str
    line: int


@dataclass
class Constants:
    """The file-scope `constexpr`s of a text, evaluated when they are asked for."""

    file: str
    declared: dict[str, Constant]
    repeated: frozenset[str] = frozenset()
    _values: dict[str, Number] = field(default_factory=dict)

    def __contains__(self, name: str) -> bool:
        return name in self.declared

    def __getitem__(self, name: str) -> Number:
        """The value of `name`: int, float, or bool by its C type. KeyError where the file has none.

        Raises TG0702 for an expression that cannot be evaluated, and for a name with two values.
        """
        return self._value(name, ())

    def loc(self, name: str) -> Loc:
        """Where the file declares `name`."""
        return Loc(self.file, self.declared[name].line)

    def _value(self, name: str, users: tuple[str, ...]) -> Number:
        """The value of `name`, which the constants `users` are defined by."""
        if name in self._values:
            return self._values[name]
        constant = self.declared[name]
        if name in users:
            raise TilegenError("TG0702", f"{name} is defined by itself", self.loc(name))
        if name in self.repeated:
            raise TilegenError("TG0702", f"{name} is declared twice", self.loc(name))
        try:
            value = evaluate(constant.expression, lambda other: self._value(other, (*users, name)))
        except TilegenError as error:
            raise error.with_loc(self.loc(name)) from None
        self._values[name] = _as_type(value, constant.type.split())
        return self._values[name]


def _as_type(value: Number, words: list[str]) -> Number:
    if "auto" in words:
        return value
    if "bool" in words:
        return bool(value)
    return float(value) if "float" in words or "double" in words else int(value)


def read_constants(text: str, file: str) -> Constants:
    """All `constexpr TYPE NAME = EXPRESSION;` at file scope, ahead of the stand-alone host part."""
    device = _COMMENT.sub(_blank, text.partition(_HOST_PART)[0])
    declared: dict[str, Constant] = {}
    repeated, depth = set(), 0
    for piece in _PIECE.finditer(device):
        if piece.group() in ("{", "}"):
            depth += 1 if piece.group() == "{" else -1
        elif depth == 0:
            line = device.count("\n", 0, piece.start()) + 1
            for constant in _declarators(piece.group(1), line):
                if constant.name in declared:
                    repeated.add(constant.name)
                declared.setdefault(constant.name, constant)
    return Constants(file, declared, frozenset(repeated))


def _declarators(body: str, line: int) -> list[Constant]:
    found, kind, part = [], "", ""
    for text in body.split(","):
        part = f"{part},{text}" if part else text
        if part.count("(") != part.count(")"):
            continue
        match = _DECLARATOR.fullmatch(part.strip())
        part = ""
        if match is None:
            return found
        kind = match["type"] or kind
        found.append(Constant(match["name"], kind, " ".join(match["value"].split()), line))
    return found


def _blank(match: re.Match) -> str:
    return re.sub(r"[^\n]", " ", match.group())
