"""A reader of the small C expressions that launch contracts and knobs are written in.

Numbers, names, `+ - * / % << >> & | ^ ~ !`, comparisons, `&& ||`, `a ? b : c`, parentheses, and the
functions `ceildiv min max floor_divide floor_modulo`. Integers divide as in C (towards zero).
Nothing else is understood.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable
from functools import lru_cache

from tilegen.errors import TilegenError

Number = int | float
Lookup = Callable[[str], Number]

_TOKEN = re.compile(r"""\s*(?:
    (?P<float>(?:\d+\.\d*|\.\d+)(?:[eE][-+]?\d+)?[fFlL]?|\d+[eE][-+]?\d+[fFlL]?)
  | (?P<int>0[xX][0-9a-fA-F']+|\d[\d']*)[uUlLzZ]*
  | (?:std::)?(?P<name>[A-Za-z_]\w*)
  | (?P<symbol>&&|\|\||<<|>>|[<>=!]=|[-+*/%<>()?:,!~&|^])
)""", re.VERBOSE)

_LEVELS = (("||",), ("&&",), ("|",), ("^",), ("&",), ("==", "!="), ("<", "<=", ">", ">="), ("<<", ">>"),
           ("+", "-"), ("*", "/", "%"))


def evaluate(text: str, lookup: Lookup) -> Number:
    """The value of the expression `text`; `lookup` gives the value of a name (KeyError: unknown).

    Raises TG0702 for text that is no expression, an unknown name, or a division by zero.
    """
    try:
        return _value(parse(text), lookup)
    except KeyError as error:
        name = error.args[0]
        raise TilegenError("TG0702", f"the expression {text!r} uses the unknown name {name}") from None
    except ZeroDivisionError:
        raise TilegenError("TG0702", f"the expression {text!r} divides by zero") from None


def names(text: str) -> tuple[str, ...]:
    """The names that the expression uses, each once, in order of appearance."""
    found: dict[str, None] = {}
    _collect(parse(text), found)
    return tuple(found)


@lru_cache(maxsize=4096)
def parse(text: str) -> tuple:
    """The expression as nested tuples: ("number", v), ("name", n), or (operator, operands...)."""
    return _Parser(text).whole()


class _Parser:
    """One method per level of precedence, over a list of (kind, text) tokens."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens = _tokens(text)
        self.at = 0

    def whole(self) -> tuple:
        tree = self.choice()
        if self.at < len(self.tokens):
            self.fail()
        return tree

    def choice(self) -> tuple:
        condition = self.binary(0)
        if not self.take("?"):
            return condition
        chosen = self.choice()
        self.need(":")
        return ("?", condition, chosen, self.choice())

    def binary(self, level: int) -> tuple:
        if level == len(_LEVELS):
            return self.unary()
        left = self.binary(level + 1)
        while (symbol := self.peek()) in _LEVELS[level]:
            self.at += 1
            left = (symbol, left, self.binary(level + 1))
        return left

    def unary(self) -> tuple:
        for symbol in "-+!~":
            if self.take(symbol):
                return ("unary " + symbol, self.unary())
        return self.primary()

    def primary(self) -> tuple:
        if self.take("("):
            inner = self.choice()
            self.need(")")
            return inner
        kind, word = self.tokens[self.at] if self.at < len(self.tokens) else ("", "")
        if kind not in ("int", "float", "name"):
            self.fail()
        self.at += 1
        if kind == "int":
            return ("number", int(word.replace("'", ""), 16 if word[:2] in ("0x", "0X") else 10))
        if kind == "float":
            return ("number", float(word.rstrip("fFlL")))
        if word in ("true", "false"):
            return ("number", int(word == "true"))
        return self.call(word) if self.peek() == "(" else ("name", word)

    def call(self, function: str) -> tuple:
        count = _FUNCTIONS.get(function, (0, None))[0]
        self.need("(")
        arguments = [self.choice()]
        while self.take(","):
            arguments.append(self.choice())
        self.need(")")
        if len(arguments) != count:
            self.fail(f"{function}(...) is not one of {', '.join(_FUNCTIONS)} with two arguments")
        return (function, *arguments)

    def peek(self) -> str:
        return self.tokens[self.at][1] if self.at < len(self.tokens) else ""

    def take(self, symbol: str) -> bool:
        found = self.peek() == symbol
        self.at += found
        return found

    def need(self, symbol: str) -> None:
        if not self.take(symbol):
            self.fail(f"{symbol!r} is missing")

    def fail(self, why: str = "") -> None:
        near = f" near {self.peek()!r}" if self.peek() else ""
        reason = f": {why}" if why else ""
        raise TilegenError("TG0702", f"cannot read the expression {self.text!r}{near}{reason}")


def _tokens(text: str) -> list[tuple[str, str]]:
    tokens, at, end = [], 0, len(text.rstrip())
    while at < end:
        match = _TOKEN.match(text, at)
        if match is None:
            near = text[at:].strip()[:12]
            raise TilegenError("TG0702", f"cannot read the expression {text!r} near {near!r}")
        tokens.append((match.lastgroup, match.group(match.lastgroup)))
        at = match.end()
    return tokens


def _divide(a: Number, b: Number) -> Number:
    if isinstance(a, float) or isinstance(b, float):
        return a / b
    quotient = abs(a) // abs(b)
    return quotient if (a < 0) == (b < 0) else -quotient


def _remainder(a: int, b: int) -> int:
    return a - _divide(a, b) * b


def _truth(test: Callable) -> Callable:
    return lambda a, b: int(test(a, b))


_BINARY = {"+": operator.add, "-": operator.sub, "*": operator.mul, "/": _divide, "%": _remainder,
           "<<": operator.lshift, ">>": operator.rshift, "&": operator.and_, "|": operator.or_,
           "^": operator.xor, "==": _truth(operator.eq), "!=": _truth(operator.ne), "<": _truth(operator.lt),
           "<=": _truth(operator.le), ">": _truth(operator.gt), ">=": _truth(operator.ge)}
_UNARY = {"unary -": operator.neg, "unary +": operator.pos, "unary ~": operator.invert,
          "unary !": lambda a: int(not a)}
_FUNCTIONS = {"ceildiv": (2, lambda a, b: -(-a // b)), "min": (2, min), "max": (2, max),
              "floor_divide": (2, lambda a, b: a // b), "floor_modulo": (2, lambda a, b: a % b)}


def _value(tree: tuple, lookup: Lookup) -> Number:
    match tree:
        case ("number", value):
            return value
        case ("name", name):
            return lookup(name)
        case ("?", condition, chosen, other):
            return _value(chosen if _value(condition, lookup) else other, lookup)
        case ("&&", left, right):
            return int(bool(_value(left, lookup)) and bool(_value(right, lookup)))
        case ("||", left, right):
            return int(bool(_value(left, lookup)) or bool(_value(right, lookup)))
        case (symbol, operand):
            return _UNARY[symbol](_value(operand, lookup))
    symbol, left, right = tree
    function = _BINARY.get(symbol) or _FUNCTIONS[symbol][1]
    return function(_value(left, lookup), _value(right, lookup))


def _collect(tree: tuple, found: dict[str, None]) -> None:
    if tree[0] == "name":
        found[tree[1]] = None
    elif tree[0] != "number":
        for operand in tree[1:]:
            _collect(operand, found)
