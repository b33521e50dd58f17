"""What reads outside of a tensor give: T.annotate_safe_value."""

from __future__ import annotations

from functools import reduce
from typing import Any

from tilegen import arith, ir
from tilegen.dtypes import bool_
from tilegen.errors import TilegenError
from tilegen.language.arithmetic import convert
from tilegen.language.builder import Builder, current, operation
from tilegen.language.text import describe
from tilegen.language.values import as_expr, is_scalar

_COUNTED = ("loop", "block", "knob", "size", "thread")       # never negative


@operation(takes_functions=True)
def annotate_safe_value(values) -> None:
    """What reads outside of global tensors give, instead of 0, in this T.Kernel: `T.annotate_safe_value({A: 1.0})`.

    It stands before the reads. T.copy from such a tensor is a T.Parallel nest, which is not loaded ahead. Raises
    TG0004 for what is no dict of tensors and numbers, TG0103 for other memory than global.
    """
    builder = current()
    if not isinstance(values, dict) or not all(_is_fixed(value) for value in values.values()):
        raise TilegenError("TG0004", "T.annotate_safe_value takes a dict: {tensor: number}", builder.argument("values"))
    for buffer, value in values.items():
        if not isinstance(buffer, ir.Buffer) or buffer.scope != "global":
            raise TilegenError("TG0103", f"T.annotate_safe_value is about global tensors, not {describe(buffer)}",
                               builder.argument("values"), "reads outside of a tile are errors")
        builder.safe_values[buffer.name] = convert(as_expr(value, buffer.dtype), buffer.dtype.compute)


def _is_fixed(value: Any) -> bool:
    """Whether a value is a number, or made of numbers, knobs and sizes."""
    return is_scalar(value) and not any(isinstance(n, ir.Load) for n in ir.walk(as_expr(value)))


def with_safe_values(statements: tuple[ir.Stmt, ...], builder: Builder) -> tuple[ir.Stmt, ...]:
    """The statements with every read of an annotated tensor under the condition that its element exists."""
    values = builder.safe_values

    def rule(node: ir.Node) -> Any:
        if not isinstance(node, ir.Load) or node.buffer.name not in values:
            return None
        own = [c for index, extent in zip(node.indices, node.buffer.shape) for c in _inside(index, extent)]
        dtype = node.dtype.compute
        return ir.Select(reduce(arith.both, own), node, values[node.buffer.name], dtype, loc=node.loc)
    return ir.rewrite(statements, rule) if values else statements


def _inside(index: ir.Expr, extent: ir.Expr) -> list[ir.Expr]:
    below = ir.BinOp("<", index, extent, bool_)
    return [below] if _is_count(index) else [ir.BinOp(">=", index, ir.Const(0), bool_), below]


def _is_count(index: ir.Expr) -> bool:
    """Whether an index is made so that it cannot be negative."""
    match index:
        case ir.Const(value=value):
            return value >= 0
        case ir.Var(kind=kind):
            return kind in _COUNTED
        case ir.BinOp(op="+" | "*" | "//" | "%"):
            return _is_count(index.a) and _is_count(index.b)
    return False
