"""Seeing and checking values while a kernel runs: T.print, T.device_assert, T.assume, T.sync_threads."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tilegen import arith, ir
from tilegen.errors import TilegenError
from tilegen.language.builder import current, operation
from tilegen.language.text import describe
from tilegen.language.values import as_condition, as_expr, as_number, as_region, is_scalar


@dataclass(frozen=True)
class FormattedText:
    """An f-string: its text with {} for each value that is known at run time only."""

    text: str
    values: tuple[Any, ...]


@operation(takes_tiles=True)
def print(obj, msg="") -> None:
    """Prints a number, an element or a whole tile, after `msg`; or a text: `T.print(f"i = {i}")`."""
    builder = current()
    if isinstance(obj, (str, FormattedText)):
        text, values = _message(obj)
        extra, more = _message(msg)
        text, values = " ".join(part for part in (text, extra) if part), values + more
    else:
        text, values = _message(msg)
        text, values = f"{text}: {{}}" if text else f"{_label(obj)} = {{}}", (*values, _printed(obj))
    builder.emit(ir.Print(text, values, loc=builder.loc))


def _label(obj: Any) -> str:
    match obj:
        case ir.Buffer() | ir.Var():
            return obj.name
        case ir.Load() | ir.Region():
            return obj.buffer.name
    return "value"


def _message(text: Any) -> tuple[str, tuple]:
    if isinstance(text, FormattedText):
        return text.text, tuple(_printed(value) for value in text.values)
    if not isinstance(text, str):
        raise TilegenError("TG0004", f"the message has to be a text, not {describe(text)}",
                           current().argument("msg"))
    return text, ()


def _printed(value: Any) -> ir.Expr | ir.Region:
    loc = current().argument("obj")
    return as_expr(value, loc=loc) if is_scalar(value) else as_region(value, "T.print", loc)


@operation()
def device_assert(condition, msg="") -> None:
    """Stops the kernel with `msg` where `condition` fails. Values in an f-string are printed first."""
    builder = current()
    test = as_condition(condition, builder.argument("condition"))
    text, values = _message(msg)
    if values:
        shown = ir.Print(text, values, loc=builder.loc)
        builder.emit(ir.If(ir.UnOp("not", test, test.dtype), (shown,), loc=builder.loc))
    builder.emit(ir.Assert(test, text.replace("{}", "..."), loc=builder.loc))


@operation("function")
def assume(condition) -> None:
    """A condition on sizes and knobs that every caller keeps; it is checked at launch (TG0409).

    A condition on values that exist only while the kernel runs, or under a branch or loop, is a hint,
    which changes nothing.
    """
    builder = current()
    test = as_condition(condition, builder.argument("condition"))
    holds_everywhere = len(builder.blocks) <= 2
    if holds_everywhere and all(_is_known_at_launch(node) for node in ir.walk(test)):
        builder.requires.append(test)


def _is_known_at_launch(node: ir.Node) -> bool:
    if isinstance(node, ir.Var):
        return node.kind in ("size", "knob")
    return isinstance(node, (ir.Const, ir.BinOp, ir.UnOp, ir.Call, ir.Select))


@operation()
def sync_threads(barrier_id=None, arrive_count=None) -> None:
    """A barrier of all threads of the block. Tile operations place their own.

    barrier_id changes nothing. Raises TG0204 for an arrive_count that is not the number of threads: barriers of a part
    of the block exist on no target but cuda.
    """
    builder = current()
    if barrier_id is not None:
        as_number(barrier_id, "barrier_id", builder.argument("barrier_id"))
    if arrive_count is not None and builder.number(arrive_count) != builder.number(arith.product(builder.threads)):
        raise TilegenError("TG0204", "T.sync_threads: a barrier of a part of the block",
                           builder.argument("arrive_count"),
                           "let all threads come to T.sync_threads(); those of a warp exchange values by T.shfl_*")
    builder.emit(ir.Sync("asked for by T.sync_threads", loc=builder.loc))
