"""Reads emitted C++ as far as rules about its text need: parentheses, definitions, names."""

from __future__ import annotations

import re
from typing import NamedTuple

# Binding strength of operators, weakest first; unary ones bind stronger than all of them.
_LEVELS = ("=", "?", "||", "&&", "|", "^", "&", "== !=", "< > <= >=", "<< >>", "+ -", "* / %")
PRECEDENCE = {op: level for level, ops in enumerate(_LEVELS) for op in ops.split()}
PRECEDENCE |= {f"{op}=": 0 for op in "+-*/%&|^"} | {":": 1}
UNARY = len(_LEVELS)
# Mixtures that compilers ask to be parenthesised: (outside, inside).
_ADVISED = {
    ("||", "&&"),
    *((shift, sign) for shift in ("<<", ">>") for sign in "+-"),
    *((bits, op) for bits in "&|^" for op in PRECEDENCE if op != bits),
}
_TOKEN = re.compile(
    r"[A-Za-z_]\w*|\d[\w.]*(?:[eEpP][+-]\w+)?|<<=|>>=|->|\+\+|--|::|<<|>>|&&|\|\||[-+*/%&|^<>=!]=|\S"
)
_KEYWORDS = {
    "if",
    "while",
    "for",
    "switch",
    "return",
    "sizeof",
    "alignas",
    "asm",
    "volatile",
    "case",
    "const",
    "auto",
}


class Parentheses(NamedTuple):
    """A pair that groups an expression: the tokens inside, the one before and the one after."""

    before: str
    inside: list[str]
    after: str


def tokens(code: str) -> list[str]:
    """The tokens of code without comments and literals of text; `#` lines are left out."""
    return _TOKEN.findall(re.sub(r"^\s*#.*$", "", code, flags=re.MULTILINE))


def groups(code: str) -> list[Parentheses]:
    """The parentheses of `code` that belong to no call, declaration, cast or statement head."""
    found, opened, all_tokens = [], [], tokens(code)
    for position, token in enumerate(all_tokens):
        if token == "(":
            opened.append(position)
        elif token == ")" and opened:
            start = opened.pop()
            before, inside = all_tokens[start - 1] if start else "", all_tokens[start + 1 : position]
            after = all_tokens[position + 1] if position + 1 < len(all_tokens) else ""
            if before == "return" or not (re.match(r"\w", before) or before in (")", "]", ">", '"')):
                found.append(Parentheses(before, inside, after))
    return [g for g in found if not _is_cast(g) and not _is_declaration(g)]


def _is_cast(g: Parentheses) -> bool:
    return bool(re.match(r"[A-Za-z_(]", g.after)) or g.after.isdigit()


def _is_declaration(g: Parentheses) -> bool:
    """`(&tile)[N]`, `(*a)[N]`, and the parameters of a lambda."""
    return g.after == "[" and g.inside[:1] in (["*"], ["&"]) or g.after == "{"


def is_redundant(g: Parentheses) -> bool:
    """Whether the expression means the same without these parentheses."""
    operators = _top_level_operators(g.inside)
    if "," in operators:
        return False
    if not operators:
        return g.inside[:1] != ["-"] or g.before not in PRECEDENCE
    weakest = min(PRECEDENCE[op] for op in operators)
    for outside, is_left in ((g.before, True), (g.after, False)):
        if outside in ("!", "~", ".", "->") or outside == "[" and not is_left:
            return False
        if outside in ("-", "*", "&") and is_left and not g.before:
            return False
        level = PRECEDENCE.get(outside, -1)
        if level > weakest or level == weakest and (is_left or level == 1):
            return False
        if any((outside, op) in _ADVISED for op in operators):
            return False
    return True


def _top_level_operators(inside: list[str]) -> list[str]:
    result, depth, previous = [], 0, ""
    for token in inside:
        depth += (token in "([{") - (token in ")]}")
        binary = previous not in PRECEDENCE and previous not in ("", "(", ",", "[", "{", "?", ":", "return")
        if depth == 0 and (token == "," or token in PRECEDENCE and binary):
            result.append(token)
        previous = token
    return result


def deepest_index(code: str) -> int:
    """The most parentheses inside each other in one subscript."""
    worst, stack, depth = 0, [], 0
    for character in code:
        if character == "[":
            stack.append(depth)
            depth = 0
        elif character == "]" and stack:
            depth = stack.pop()
        elif character in "()" and stack:
            depth += 1 if character == "(" else -1
            worst = max(worst, depth)
    return worst


# ---- Definitions ---------------------------------------------------------------------------------
def definitions(text: str) -> list[str]:
    """Names of the functions, types and constants that the file defines at its top level."""
    plain = re.sub(r"//[^\n]*", "", text)
    names = re.findall(r"^constexpr\s+[\w ]+?\s(\w+) =", plain, re.MULTILINE)
    names += re.findall(r"\b(?:struct|union)\s+(?:alignas\([^)]*\)+\s*)?(\w+)(?=[^;{(]*\{)", plain)
    names += re.findall(r"^typedef .*?(\w+) __attribute__", plain, re.MULTILINE)
    return names + [name for name, _ in functions(text)]


def functions(text: str) -> list[tuple[str, str]]:
    """(name, head) of every function that the file defines, in order; the head without the body."""
    plain = re.sub(r"//[^\n]*", "", text)
    pattern = (
        r"^(?:template <[^\n]*>\s)?[^\n#;{}=]*?\b(?:__device__|static|inline|__global__)\b"
        r"[^;{}]*?\b(\w+)\(([^;{}]*)\)\s*\{"
    )
    found = [(m[1], re.sub(r"\s+", " ", m[0])) for m in re.finditer(pattern, plain, re.MULTILINE)]
    return [(name, head) for name, head in found if name != "__launch_bounds__"]
