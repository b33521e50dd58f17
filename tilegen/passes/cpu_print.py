"""T.print and T.device_assert through the C library."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace

from tilegen import arith, ir
from tilegen.dtypes import DType, float64
from tilegen.plan import Loop, NestPlan, OpPlan

_CONVERSIONS = {"int64": "%lld", "uint64": "%llu", "uint32": "%u"}


@dataclass(frozen=True)
class Printf(ir.Stmt):
    """printf(format, values...); `format` is a literal of C."""

    format: str
    values: tuple[ir.Expr, ...] = ()


def c_string(text: str) -> str:
    """A string literal of C."""
    return json.dumps(text, ensure_ascii=False)


def checked(s: ir.Assert) -> ir.Assert:
    """An assertion with its message, which says where it stands."""
    place = f"{s.loc.short}: " if s.loc else ""
    message = c_string(place + (s.message or "the assertion does not hold"))
    return replace(s, plan=OpPlan("assert", {"message": message}))


def printed(s: ir.Print) -> tuple[ir.Stmt, ...]:
    """A print as calls of printf: numbers in the text, tiles as rows of numbers below it."""
    pieces = s.message.split("{}")
    result: list[ir.Stmt] = []
    text, values = _plain(pieces[0]), []
    for n, value in enumerate(s.values):
        after = pieces[n + 1] if n + 1 < len(pieces) else " "
        if isinstance(value, ir.Region):
            result.append(Printf(c_string(text + "\n"), tuple(values), loc=s.loc))
            result.append(ir.Parallel((), (), (), plan=_rows(value), loc=s.loc))
            text, values = _plain(after), []
        else:
            text += _conversion(value.dtype) + _plain(after)
            values.append(_argument(value))
    if text or not result:
        result.append(Printf(c_string(text + "\n"), tuple(values), loc=s.loc))
    return tuple(result)


def _plain(text: str) -> str:
    return text.replace("%", "%%")


def _conversion(dtype: DType) -> str:
    return "%g" if dtype.is_float else _CONVERSIONS.get(dtype.name, "%d")


def _argument(value: ir.Expr) -> ir.Expr:
    return ir.Cast(value, float64) if value.dtype.is_small_float else value


def _rows(region: ir.Region) -> NestPlan:
    """A line for each row."""
    names = [f"{region.buffer.name}_{word}" for word in ("slice", "depth", "row", "col")][-len(region.extents):]
    vars = [ir.Var(name, kind="loop") for name in names]
    index = tuple(arith.add(o, v) for o, v in zip(region.offsets, vars))
    element = ir.Load(region.buffer, index)
    number = Printf(c_string(" " + _conversion(element.dtype)), (_argument(element),))
    line = ir.For("serial", vars[-1], ir.Const(0), region.extents[-1], ir.Const(1), (number,))
    loops = tuple(Loop(v, ir.Const(0), e, ir.Const(1)) for v, e in zip(vars[:-1], region.extents[:-1]))
    return NestPlan(loops, (line, Printf(c_string("\n"))), reason="one line for each row")
