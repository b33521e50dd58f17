"""The target's own language inside of a kernel: T.Raw, T.call_extern, T.import_source."""

from __future__ import annotations

import re
from typing import Any

from tilegen import ir
from tilegen.errors import TilegenError
from tilegen.language.builder import current, operation
from tilegen.language.text import describe
from tilegen.language.values import as_dtype, as_expr, is_scalar

TARGETS = ("cuda", "hip", "maca", "cpu")
_OPERAND = re.compile(r"\{([A-Za-z_]\w*)\}")
_NOTHING = ("", "handle", "void")        # what TileLang writes for a function without result


def _text_of(name: str, text: Any, by_target: dict[str, Any]) -> str:
    """The text for the present target. Raises TG0204 where there is none, TG0004 for what is no text."""
    builder = current()
    chosen = by_target.get(builder.target, text)
    for given in (text, *by_target.values()):
        if given is not None and not isinstance(given, str):
            raise TilegenError("TG0004", f"{name}: the lines have to be a text, not {describe(given)}", builder.loc)
    if chosen is None:
        raise TilegenError("TG0204", f"{name} has no text for the target {builder.target}", builder.loc,
                           f'write {name}(..., {builder.target}="...") too')
    return chosen


@operation(takes_tiles=True)
def Raw(text=None, writes=(), **operands) -> None:
    """Lines of the target's own language: `T.Raw(cuda="{y} = __sinf({x});", hip="...", writes="y", x=a, y=b)`.

    text: for every target; the keywords cuda, hip, maca and cpu give lines for one. Other keywords are operands: a
    number, or an element; `{name}` stands for it. writes: the names of those that the lines change, which are
    variables or elements of local, shared or global memory. Raises TG0204 for a target without text, TG0005 for a
    name in braces that is no operand, TG0208 for a change of a fragment.
    """
    builder = current()
    lines = _text_of("T.Raw", text, {name: operands.pop(name) for name in TARGETS if name in operands})
    changed = (writes,) if isinstance(writes, str) else tuple(writes)
    for name in dict.fromkeys([*_OPERAND.findall(lines), *changed]):
        if name not in operands:
            raise TilegenError("TG0005", f"T.Raw: {name} is no operand", builder.loc,
                               f"give it: T.Raw(..., {name}=...)")
    values = {name: as_expr(value, loc=builder.argument(name)) if is_scalar(value) else value
              for name, value in operands.items()}
    for name, value in values.items():
        if not isinstance(value, ir.Expr):
            raise TilegenError("TG0004", f"T.Raw: {name} is {describe(value)}, not a number or an element",
                               builder.argument(name), f"name an element; &{{{name}}} is its address")
    reads = {name: value for name, value in values.items() if name not in changed}
    places = tuple(_place(name, values[name]) for name in changed)
    builder.emit(ir.Raw(lines, (*reads, *changed), tuple(reads.values()), places, loc=builder.loc))


def _place(name: str, value: ir.Expr) -> ir.Region:
    loc = current().argument(name)
    if not isinstance(value, ir.Load):
        raise TilegenError("TG0004", f"T.Raw: {name} is changed, and has to be a variable or an element", loc)
    if value.buffer.scope == "fragment":
        raise TilegenError("TG0208", f"T.Raw changes {name}, an element of the fragment {value.buffer.name}", loc,
                           "let it change a T.alloc_var, and store that in the fragment")
    return ir.Region(value.buffer, value.indices, (ir.Const(1),) * len(value.indices), loc=loc)


@operation()
def call_extern(dtype, name, *args):
    """A call of a function of the target's language, as from T.import_source: `T.call_extern("float32", "f", x)`.

    It may be evaluated as often as its value is used, so it has no effects but its value. With the dtype "handle" it
    is a statement, done for its effects on what the function knows by itself. Raises TG0005 for what is no name.
    """
    builder = current()
    if not isinstance(name, str) or not re.fullmatch(r"[A-Za-z_][\w:]*", name):
        raise TilegenError("TG0005", f"T.call_extern: {describe(name)} is no name of a function", builder.loc)
    values = tuple(as_expr(value, loc=builder.loc) for value in args)
    if dtype in _NOTHING:
        names = tuple(f"x{number}" for number, _ in enumerate(values))
        text = f"{name}({', '.join(f'{{{n}}}' for n in names)});"
        builder.emit(ir.Raw(text, names, values, loc=builder.loc))
        return None
    return ir.Call(f"extern:{name}", values, as_dtype(dtype, builder.argument("dtype")), loc=builder.loc)


@operation("function")
def import_source(text=None, **by_target) -> None:
    """Text of the target's own language that stands before the kernel: functions for T.call_extern and T.Raw.

    text: for every target; the keywords cuda, hip, maca and cpu give the text for one. Raises TG0204 for a target
    without text, TG0005 for another keyword.
    """
    builder = current()
    for name in by_target:
        if name not in TARGETS:
            raise TilegenError("TG0005", f"T.import_source: {name} is no target", builder.loc,
                               f"the targets are {', '.join(TARGETS)}")
    builder.sources.append(_text_of("T.import_source", text, by_target).strip("\n"))
