"""Shaping of emitted lines: indentation, blocks, and breaks of long lines."""

from __future__ import annotations

import re
from collections.abc import Callable

from tilegen import ir

COLUMNS = 100


def indent(text: str, spaces: int = 4) -> str:
    """`text` moved right; empty lines stay empty, preprocessor lines move along."""
    pad = " " * spaces
    return "\n".join(pad + line if line else line for line in text.split("\n"))


def block(head: str, body: str) -> str:
    """`head` with its body: without braces where the body is one plain statement."""
    if _is_single(body):
        return f"{head}\n{indent(body)}"
    return f"{head} {{\n{indent(body)}\n}}"


def _is_single(body: str) -> bool:
    """Whether `body` is one statement with its pragma lines: one line, or one construct under a head."""
    lines = [line for line in body.split("\n") if not line.lstrip().startswith("#pragma")]
    if any(line.lstrip().startswith("//") for line in lines):
        return False
    top = [line for line in lines if line and not line.startswith((" ", "}"))]
    return len(top) == 1 and not top[0].startswith(("if ", "const ", "float ", "int "))


def conditional(s: ir.If, expr: Callable[[ir.Expr], str], body: Callable[[tuple[ir.Stmt, ...]], str]) -> str:
    """if (...) ... else if (...) ... else ...; `expr` and `body` write what stands in it."""
    text = block(f"if ({expr(s.condition)})", body(s.then))
    if not s.otherwise:
        return text
    closing = " " if text.endswith("}") else "\n"
    if len(s.otherwise) == 1 and isinstance(s.otherwise[0], ir.If):
        return f"{text}{closing}else {conditional(s.otherwise[0], expr, body)}"
    return text + closing + block("else", body(s.otherwise))


def steps_from(old: ir.Expr, value: ir.Expr) -> bool:
    """Whether `old = value` is written `old += y`: value is old + y, and not of a struct without that operator."""
    return (isinstance(value, ir.BinOp) and value.op in ("+", "-", "*") and value.a == old
            and not old.dtype.is_small_float)


def wrap(text: str) -> str:
    """Every code line at most COLUMNS wide where it can be broken; a loop of one short statement on one line."""
    return "\n".join(piece for line in _flowed(_joined(text.split("\n"))) for piece in _wrap_line(line))


def _flowed(lines: list[str]) -> list[str]:
    """What does not fit into a line of a sentence goes to the front of its next line."""
    done: list[str] = []
    rest = ""                                             # words that are left of the line before, as a comment
    for line in lines:
        flows = bool(_PROSE.match(line))
        if rest and _continues(line, rest):
            line, flows = f"{rest} {line.lstrip()[3:]}", True
        elif rest:
            done.append(rest)
        rest = ""
        point = line.rfind(" ", 0, COLUMNS + 1)
        if len(line) > COLUMNS and flows and point > COLUMNS // 2:
            line, rest = line[:point], line[: line.index("//") + 3] + line[point + 1 :]
        done.append(line)
    return done + [rest] * bool(rest)


# A sentence: no Python line, reason, table or line of the file's head, in which words are apart.
_PROSE = re.compile(r" *// (?!.*\S  )(?!.* \.\.\.$)[A-Z]")
_NOT_PROSE = re.compile(r" *// (why: |tilegen-|\S+\.py:\d|.*\S?  )")


def _continues(line: str, rest: str) -> bool:
    """Whether `line` goes on with the comment whose words `rest` are left over."""
    pad = rest[: rest.index("//") + 3]
    return len(line) > len(pad) and line.startswith(pad) and not _NOT_PROSE.match(line)


def _joined(lines: list[str]) -> list[str]:
    """`for (...)` and the one statement below it on one line, where both fit."""
    result: list[str] = []
    for line in lines:
        head, code = result[-1] if result else "", line.lstrip()
        pad = len(line) - len(code)
        if re.match(r" *for \(.*\)$", head) and pad > len(head) - len(head.lstrip()) and code.endswith(";") and \
                not re.match(r"(for|if|while|switch) ?\(|//|#", code) and len(head) + len(code) < COLUMNS:
            result[-1] = f"{head} {code}"
        else:
            result.append(line)
    return result


def _wrap_line(line: str, continued: bool = False) -> list[str]:
    if len(line) <= COLUMNS or line.lstrip().startswith("#"):
        return [line]
    code, mark, comment = line.partition("  // ")
    if mark and not line.lstrip().startswith("//"):
        pad = " " * (len(line) - len(line.lstrip()))
        return _wrap_line(f"{pad}// {comment}") + _wrap_line(code.rstrip())
    if line.lstrip().startswith("//"):
        return _wrap_comment(line)
    point = _break_point(line)
    if point is None:
        return [line]
    rest = " " * _continuation(line, point, continued) + line[point:].lstrip()
    return [line[:point].rstrip()] + _wrap_line(rest, continued=True)


def _wrap_comment(line: str) -> list[str]:
    pad = line[: len(line) - len(line.lstrip())] + "// "
    point = line.rfind(" ", len(pad) + 20, COLUMNS + 1)
    if point < 0 or line.lstrip().startswith("// tilegen-launch"):
        return [line]
    if line.endswith(" ..."):                             # was cut already: a little shorter, not a second line
        return [line[:line.rfind(" ", 0, COLUMNS - 3)] + " ..."]
    return [line[:point]] + _wrap_line(pad + "    " + line[point + 1 :].lstrip())


def _break_point(line: str) -> int | None:
    """Where to break: the last place before the limit at the shallowest nesting that has one."""
    best: tuple[int, int] | None = None
    depth, quoted = 0, False
    start = len(line) - len(line.lstrip())
    for i, c in enumerate(line[:COLUMNS]):
        if c == '"':
            quoted = not quoted
        if quoted:
            continue
        depth += (c in "([{") - (c in ")]}")
        after = None
        if c in ",;" and line[i + 1 : i + 2] == " ":
            after = i + 1
        elif (
            line.startswith(
                (" && ", " || ", " + ", " - ", " * ", " / ", " ^ ", " | ", " & ", " ? ", " : ", " = "), i
            )
            and i > start + 8
        ):
            after = i + 3 if line.startswith(" = ", i) else i
        if after and i > start + 8:
            rank = depth + _looseness(line, i)
            if best is None or rank <= best[0]:
                best = (rank, after)
    return best[1] if best else None


def _looseness(line: str, i: int) -> float:
    """How tightly what stands at `i` binds, below one: a break prefers the loosest of one nesting."""
    if line[i] in ",;" or line.startswith((" ? ", " : ", " = "), i):
        return 0
    return 0.25 if line.startswith((" && ", " || "), i) else 0.75 if line.startswith((" * ", " / "), i) else 0.5


def _continuation(line: str, point: int, continued: bool) -> int:
    """Column of a continuation: inside the innermost open bracket, or four more than the line; as far as
    the line where that is a continuation itself."""
    opened: list[int] = []
    for i, c in enumerate(line[:point]):
        if c in "([{":
            opened.append(i + 1)
        elif c in ")]}" and opened:
            opened.pop()
    base = len(line) - len(line.lstrip()) + (0 if continued else 4)
    return opened[-1] if opened and opened[-1] < COLUMNS // 2 else base
