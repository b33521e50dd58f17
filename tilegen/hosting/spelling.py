"""Expressions of a launch contract as C and as Python."""

from __future__ import annotations

from tilegen.runtime.expressions import parse

_WORDS = {"/": "//", "&&": "and", "||": "or"}
# Operators from the loosest to the tightest; conditional expressions and functions are looser than all.
_C = (("||",), ("&&",), ("|",), ("^",), ("&",), ("==", "!="), ("<", "<=", ">", ">="), ("<<", ">>"), ("+", "-"),
      ("*", "/", "%"), ("unary -", "unary +", "unary !", "unary ~"), ("number", "name"))
_PYTHON = (("||",), ("&&",), ("unary !",), ("==", "!=", "<", "<=", ">", ">="), ("|",), ("^",), ("&",), ("<<", ">>"),
           ("+", "-"), ("*", "/", "%"), ("unary -", "unary +", "unary ~"), ("number", "name"))
# Sizes are not negative, so that quotients round alike in both languages.
_C_CALLS = {"ceildiv": "({0} + {1} - 1) / {1}", "min": "{0} < {1} ? {0} : {1}", "max": "{0} > {1} ? {0} : {1}",
            "floor_divide": "{0} / {1}", "floor_modulo": "{0} % {1}", "?": "{0} ? {1} : {2}"}
_PYTHON_CALLS = {"ceildiv": "-(-{0} // {1})", "min": "min({0}, {1})", "max": "max({0}, {1})",
                 "floor_divide": "{0} // {1}", "floor_modulo": "{0} % {1}", "?": "{1} if {0} else {2}"}


def in_c(expression: str) -> str:
    """An expression of the contract as C."""
    return _spelled(parse(expression), _C_CALLS, {}, _C)


def in_python(expression: str) -> str:
    """An expression of the contract as Python."""
    return _spelled(parse(expression), _PYTHON_CALLS, _WORDS, _PYTHON)


def _spelled(tree: tuple, calls: dict[str, str], words: dict[str, str], levels: tuple) -> str:
    def rank(node: tuple) -> int:
        return next((level for level, symbols in enumerate(levels) if node[0] in symbols), -1)

    def part(node: tuple, least: int = len(levels) - 1) -> str:
        text = _spelled(node, calls, words, levels)
        return text if rank(node) >= least else f"({text})"
    symbol, *operands = tree
    if symbol in ("number", "name"):
        return str(operands[0])
    if symbol in calls:
        return calls[symbol].format(*map(part, operands))
    if len(operands) == 1:
        sign = symbol.removeprefix("unary ")
        return ("not " if sign == "!" and words else sign) + part(*operands)
    # Python chains comparisons, so that a comparison of one needs its parentheses
    left = rank(tree) + (symbol in ("==", "!=", "<", "<=", ">", ">="))
    return f"{part(operands[0], left)} {words.get(symbol, symbol)} {part(operands[1], rank(tree) + 1)}"
