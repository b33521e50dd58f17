"""The device functions of the matrix instructions: one template, filled from the table in `instructions.py`."""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from functools import partial
from typing import Any

from tilegen.dtypes import DType
from tilegen.instructions import MATRIX_INSTRUCTIONS, MatrixInstruction
from tilegen.wgmma import sums_of, turns, wgmma_helpers, with_registers

# Of a sum: its C++ type, and the letter of its registers in inline assembly.
_SUMS = {"float32": ("float", "f"), "float64": ("double", "d"), "int32": ("int", "r"), "float16": ("float16", "r")}

_WGMMA_SUMS = {"float": "f32", "int": "s32"}
_OPERANDS_WIDE = 76                    # columns of a line of the operands of wgmma


def matrix_functions(target: str) -> dict[str, dict[str, Any]]:
    """{name: values of the template} for every instruction of a target that has inline assembly."""
    rows = [i for i in MATRIX_INSTRUCTIONS if i.target == target]
    return {i.helper: _values(i) for i in rows}


def _values(instruction: MatrixInstruction) -> dict[str, Any]:
    kind, letter = _SUMS[instruction.c.dtype.name]
    operand = "d" if instruction.a.dtype.bits == 64 else "r"
    names = _sums(instruction)
    counts = len(names), instruction.a.registers, instruction.b.registers
    starts = 0, counts[0], counts[0] + counts[1]
    sums, a, b = ("{" + ", ".join(f"%{start + n}" for n in range(count)) + "}" for start, count in zip(starts, counts))
    inputs = [f"a[{n}]" for n in range(counts[1])] + [f"b[{n}]" for n in range(counts[2])]
    return {
        "helper": instruction.helper,
        "what": _what(instruction),
        "parameters": f"{kind}* sums" if instruction.m == 8 else f"{kind}* low, {kind}* high",
        "register": "double" if operand == "d" else "unsigned",
        "opcode": instruction.spelling,
        "places": f"{sums}, {a}, {b}, {sums};",
        "sums": [f'"+{letter}"({name})' for name in names],
        "operands": [f'"{operand}"({name})' for name in inputs],
    }


def _sums(instruction: MatrixInstruction) -> list[str]:
    """The registers of the accumulator in the instruction's order: pairs of a row, and of the row 8 below."""
    if instruction.m == 8:
        return ["sums[0]", "sums[1]"]
    if instruction.c.packed == 2:
        return ["reinterpret_cast<unsigned&>(*low)", "reinterpret_cast<unsigned&>(*high)"]
    return [f"{row}[{pair + n}]" for pair in range(0, instruction.n // 4, 2) for row in ("low", "high") for n in (0, 1)]


def _what(instruction: MatrixInstruction) -> str:
    if instruction.call == "quad":
        return "Rows `low` and `high` (8 further down) of 16 x 16, as four products of 8 x 8 by quads of lanes"
    return "A row of one tile" if instruction.m == 8 else "Rows `low` and `high` (8 further down) of one tile"


def wgmma_functions(target: str) -> dict[str, Callable[[], dict[str, Any]]]:
    """{name: what gives the values of the template} for the products of a warpgroup: there are hundreds of them."""
    return {helper: partial(_wgmma_values, helper, columns, dtype)
            for helper, (columns, dtype) in wgmma_helpers().items() if target == "cuda"}


def wgmma_register_functions(target: str) -> dict[str, Callable[[], dict[str, Any]]]:
    """The same for products whose left operand is in registers."""
    return {with_registers(helper): partial(_register_values, helper, columns, dtype)
            for helper, (columns, dtype) in wgmma_helpers().items() if target == "cuda" and turns(dtype)}


def _register_values(helper: str, columns: int, dtype: DType) -> dict[str, Any]:
    return {**_wgmma_values(helper, columns, dtype), "helper": with_registers(helper)}


def _wgmma_values(helper: str, columns: int, dtype: DType) -> dict[str, Any]:
    shape, element = helper.removeprefix("wgmma_").split("_")
    places = textwrap.wrap(", ".join(f"%{n}" for n in range(columns // 2)), _OPERANDS_WIDE)
    kind, letter = _SUMS[sums_of(dtype).name]
    sums = [f'"+{letter}"({row}[{pair + n}])' for pair in range(0, columns // 4, 2) for row in ("low", "high")
            for n in (0, 1)]
    return {"helper": helper, "columns": columns, "count": columns // 2, "sums": ", ".join(sums),
            "kind": kind, "turns": turns(dtype), "signs": dtype.is_float,
            "opcode": f"wgmma.mma_async.sync.aligned.{shape}.{_WGMMA_SUMS[kind]}.{element}.{element}",
            "places": [*(f"{line} " for line in places[:-1]), places[-1]]}
