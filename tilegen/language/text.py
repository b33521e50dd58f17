"""How errors speak of values: shapes and kinds of values."""

from __future__ import annotations

from typing import Any

from tilegen import ir
from tilegen.errors import Loc
from tilegen.printer import expression as show

def shape_text(shape: tuple[Any, ...]) -> str:
    """`(128, 32)`, `(M,)`."""
    return f"({', '.join(map(show, shape))}{',' if len(shape) == 1 else ''})"


def describe(value: Any) -> str:
    """What `value` is, for the middle of a sentence."""
    match value:
        case ir.Buffer(scope="var"):
            return f"the variable {value.name}"
        case ir.Buffer():
            kind = "tensor" if value.scope == "global" else f"{value.scope} tile"
            return f"the {kind} {value.name} {shape_text(value.shape)}"
        case ir.Region():
            return f"a part of {value.buffer.name}"
        case ir.Expr():
            return f"the {value.dtype} value {show(value)}"
        case None:
            return "None"
        case str():
            return f"the text {value!r}"
        case tuple():
            return f"a tuple of {len(value)}"
        case bool() | int() | float():
            return f"the number {value}"
    name = getattr(value, "__name__", None)
    return f"{type(value).__name__} {name}" if name else f"an object of type {type(value).__name__}"


def allocated(buffer: ir.Buffer) -> str:
    """`it was allocated at gemm.py:15`, or where the parameter is declared."""
    place = buffer.loc.short if isinstance(buffer.loc, Loc) else "an unknown line"
    return f"it was {'declared' if buffer.scope == 'global' else 'allocated'} at {place}"
