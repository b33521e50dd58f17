"""The knobs of an emitted file, its derived constants and its static_asserts."""

from __future__ import annotations

import re

from tilegen import arith, ir
from tilegen.dtypes import bool_, float32, int32
from tilegen.emit.expressions import Printer
from tilegen.plan import Check, Constant, UnpackedBuffer

COMMENT_COLUMN = 44


def all_constants(kernel: ir.Kernel, original: ir.Kernel) -> list[Constant]:
    """The kernel's own knobs first, then those of the plans. `original` is the kernel before planning, whose
    shapes are those of the user."""
    own = [
        Constant(
            k.name,
            k.value,
            k.comment or describe(original, k.name),
            expr=k.expr,
            knob=k.expr is None and not k.fixed,
            dtype={bool: bool_, float: float32}.get(type(k.value), int32),
        )
        for k in kernel.knobs
    ]
    return own + list(kernel.plan.constants)


def describe(kernel: ir.Kernel, name: str) -> str:
    """What a knob is, from the places that it stands in: 'rows of A_shared and C_local'."""
    if name in arith.names(kernel.threads):
        return "threads of a block"
    if any(isinstance(n, ir.For) and name in arith.names(dict(n.options).get("num_stages", ir.Const(0)))
           for n in ir.walk(kernel.body)):
        return "tiles of each operand that are on their way or in use: 2 and up"
    places: dict[str, list[str]] = {}
    for what, shape in _boxes(kernel):
        for d, extent in enumerate(shape):
            if isinstance(extent, ir.Var) and extent.name == name:
                of_dimension = places.setdefault(_dimension_word(len(shape), d), [])
                of_dimension += [what] if what not in of_dimension else []
    words = [f"{word} of {_list(names[:3])}" for word, names in list(places.items())[:2]]
    knob = next((k for k in kernel.knobs if k.name == name), None)
    computed = knob and isinstance(knob.value, float)
    plain = "a number that the kernel computes with" if computed else "a number of the kernel"
    return "; ".join(words) or plain


def _boxes(kernel: ir.Kernel) -> list[tuple[str, tuple[ir.Expr, ...]]]:
    """(name, extents) of what knobs are the extents of: tiles, else what a block walks over, else tensors."""
    nodes = list(ir.walk(kernel.body))
    tiles = [(n.buffer.source if isinstance(n.buffer, UnpackedBuffer) else n.buffer.name, n.buffer.shape)
             for n in nodes if isinstance(n, ir.Alloc)]
    walks = [("a block's part", n.extents) for n in nodes if isinstance(n, ir.Parallel)]
    tensors = [(p.name, p.buffer.shape) for p in kernel.params if p.buffer is not None]
    return tiles or walks or tensors


def _dimension_word(rank: int, d: int) -> str:
    return "elements" if rank == 1 else {0: "columns", 1: "rows"}.get(rank - 1 - d, f"dimension {d}")


def _list(names: list[str]) -> str:
    return names[0] if len(names) == 1 else ", ".join(names[:-1]) + " and " + names[-1]


def used(constants: list[Constant], checks: tuple[Check, ...], text: str) -> tuple[list[Constant], list[Check]]:
    """The constants that `text` names, with those that they follow from, and the checks about them."""
    by_name = {c.name: c for c in constants}
    wanted: set[str] = set()

    def want(name: str) -> None:
        if name in by_name and name not in wanted:
            wanted.add(name)
            if by_name[name].expr is not None:
                for other in arith.names(by_name[name].expr):
                    want(other)
    for word in set(re.findall(r"[A-Za-z_]\w*", re.sub(r"//[^\n]*", "", text))):     # without comments
        want(word)
    kept = [c for c in checks if arith.names(c.condition) & wanted]
    for check in kept:
        for name in arith.names(check.condition):
            want(name)
    return [c for c in constants if c.name in wanted], kept


def knob_lines(constants: list[Constant], checks: list[Check], e: Printer) -> list[str]:
    """`constexpr int BM = 128;       // rows of A_shared: a multiple of 16`"""
    lines = []
    for c in constants:
        legal = c.legal or _legal(c, checks, constants)
        comment = ": ".join(x for x in (c.comment, legal) if x)
        lines.append((_code(c, e.literal(c.value, c.dtype), e), comment))
    return _aligned(lines)


def _legal(c: Constant, checks: list[Check], constants: list[Constant]) -> str:
    env = {x.name: x.value for x in constants}
    steps = []
    for check in checks:
        match check.condition:
            case ir.BinOp(op="==", a=ir.BinOp(op="%", a=ir.Var(name=name), b=step)) if name == c.name:
                steps.append(arith.evaluate(step, env))
    return f"a multiple of {max(steps)}" if steps and None not in steps and max(steps) > 1 else ""


def derived_lines(constants: list[Constant], e: Printer) -> list[str]:
    """`constexpr int C_ROWS = BM / THREADS_M;    // rows of C_local of one thread`"""
    ordered: list[Constant] = []
    names = {c.name for c in constants}
    while len(ordered) < len(constants):
        done = {c.name for c in ordered}
        ordered += [c for c in constants if c not in ordered and not (_sources(c) & names - done)][:1]
    return _aligned([(_code(c, e.literal(c.value, c.dtype) if c.expr is None else e(c.expr), e), c.comment)
                     for c in ordered])


def _sources(c: Constant) -> set[str]:
    return set() if c.expr is None else arith.names(c.expr)


def _code(c: Constant, value: str, e: Printer) -> str:
    return f"constexpr {e.target.type(c.dtype)} {c.name} = {value};"


def _aligned(lines: list[tuple[str, str]]) -> list[str]:
    """Comments in one column, as far as the lines' lengths allow."""
    column = min(max((len(code) for code, _ in lines), default=0), COMMENT_COLUMN) + 2
    return [f"{code:<{column}}{'' if len(code) < column - 1 else '  '}// {comment}" if comment else code
            for code, comment in lines]


def check_lines(checks: list[Check], e: Printer) -> list[str]:
    """static_asserts; conditions with one message share a line."""
    groups: dict[str, list[str]] = {}
    for check in checks:
        groups.setdefault(check.message, []).append(e(check.condition, "&&"))
    return [f'static_assert({" && ".join(dict.fromkeys(conditions))}, "{message}");'
            for message, conditions in groups.items()]
