"""Writes the C++ of the matrix instructions from the table in `tilegen/instructions.py`."""

from __future__ import annotations

from tilegen.dtypes import DType
from tilegen.instructions import MATRIX_INSTRUCTIONS, Fragment, MatrixInstruction
from tilegen.wgmma import sums_of, turns, wgmma_helpers, with_registers

_OPERANDS = {"tfloat32": "float", "int8": "signed char", "uint8": "unsigned char"}
_ELEMENTS = {"float8_e4m3": "e4m3", "float8_e5m2": "e5m2"}
_SUMS = {"float32": "float", "float64": "double", "int32": "int", "float16": "unsigned"}


def instruction_calls() -> str:
    """The header with one function for each instruction, for the kernels to call."""
    lines = ["// Generated from tilegen/instructions.py.", "#pragma once", '#include "matrix.h"',
             '#include "warpgroup.h"', "",
             "namespace tilegen_emulator {", ""]
    for instruction in MATRIX_INSTRUCTIONS:
        lines += [f"extern const MatrixInstruction {_record(instruction)};", *_call(instruction), ""]
    for name, (columns, dtype) in wgmma_helpers().items():
        lines += _warpgroup_calls(name, columns, dtype)
    lines += _aliases()
    return "\n".join([*lines, "}  // namespace tilegen_emulator", ""])


def _warpgroup_calls(name: str, columns: int, dtype: DType) -> list[str]:
    """The functions of one product of warpgroups."""
    kind, sums = _OPERANDS.get(dtype.name, dtype.name), _SUMS[sums_of(dtype).name]
    head = f"inline void {name}({sums}* low, {sums}* high, uint64_t a, uint64_t b, int add, TILEGEN_AT)"
    if not turns(dtype):
        return [head, f"{{ wgmma_rows<{kind}, {columns}, false, false>(low, high, a, b, add, at); }}"]
    return ["template <int TURN_A, int TURN_B>", head,
            f"{{ wgmma_rows<{kind}, {columns}, TURN_A, TURN_B>(low, high, a, b, add, at); }}",
            "template <int TURN_B>",
            f"inline void {with_registers(name)}({sums}* low, {sums}* high, const unsigned* a, uint64_t b, int add, "
            "TILEGEN_AT)",
            f"{{ wgmma_rows_registers<{kind}, {columns}, TURN_B>(low, high, a, b, add, at); }}"]


def instruction_tables() -> str:
    """The source file with the records of all instructions, for the runtime."""
    lines = ["// Generated from tilegen/instructions.py.", '#include "matrix.h"', "",
             "namespace tilegen_emulator {", ""]
    for instruction in MATRIX_INSTRUCTIONS:
        lines += [_table(instruction, name, getattr(instruction, name)) for name in "abc"]
        operands = ", ".join(_operand(instruction, name, getattr(instruction, name)) for name in "abc")
        lines += [f"extern const MatrixInstruction {_record(instruction)};",
                  f"const MatrixInstruction {_record(instruction)} = {{\"{instruction.spelling}\", "
                  f"{instruction.lanes}, {operands}}};", ""]
    return "\n".join([*lines, "}  // namespace tilegen_emulator", ""])


def _record(instruction: MatrixInstruction) -> str:
    return f"{instruction.helper}_instruction"


def _table(instruction: MatrixInstruction, name: str, fragment: Fragment) -> str:
    places = (row * fragment.columns + column for lane in fragment.table() for row, column in lane)
    return f"static const uint16_t {instruction.helper}_{name}[] = {{{', '.join(map(str, places))}}};"


def _operand(instruction: MatrixInstruction, name: str, fragment: Fragment) -> str:
    element = _ELEMENTS.get(fragment.dtype.name, fragment.dtype.name)
    return (f"{{Element::{element}, {fragment.rows}, {fragment.columns}, {fragment.elements}, "
            f"{fragment.elements * fragment.dtype.bits // 8}, {instruction.helper}_{name}}}")


def _call(instruction: MatrixInstruction) -> list[str]:
    return {"mma": _mma_call, "quad": _mma_call, "mfma": _mfma_call, "mxc": _plain_call, "wmma": _plain_call,
            "wmma_integer": _wmma_integer_call}[instruction.call](instruction)


def _mma_call(instruction: MatrixInstruction) -> list[str]:
    """(c, a, b), registers as arrays or, where there are one or two of B, one by one."""
    sums = _SUMS[instruction.c.dtype.name]
    name, record, b = instruction.helper, _record(instruction), instruction.b.registers
    register_type = "double" if instruction.a.dtype.bits == 64 else "unsigned"
    singles = ", ".join(f"{register_type} b{i}" for i in range(b))
    listed = ", ".join(f"b{i}" for i in range(b))
    lines = [f"inline void {name}({sums}* c, const {register_type}* a, const {register_type}* b, TILEGEN_AT)",
             f"{{ multiply({record}, a, b, c, at); }}",
             f"inline void {name}({sums}* c, const {register_type}* a, {singles}, TILEGEN_AT)",
             f"{{ const {register_type} b[] = {{{listed}}}; multiply({record}, a, b, c, at); }}"]
    if instruction.c.registers == 4:
        lines += [f"inline void {name}({sums}* low, {sums}* high, const {register_type}* a, "
                  f"const {register_type}* b, TILEGEN_AT)",
                  f"{{ {sums} c[] = {{low[0], low[1], high[0], high[1]}}; multiply({record}, a, b, c, at); "
                  "low[0] = c[0]; low[1] = c[1]; high[0] = c[2]; high[1] = c[3]; }"]
    if instruction.call == "quad":
        lines += [f"inline void {name}({sums}* low, {sums}* high, const unsigned* a, const unsigned* b, TILEGEN_AT)",
                  f"{{ {sums} c[] = {{low[0], low[1], high[0], high[1], low[2], low[3], high[2], high[3]}}; "
                  f"multiply({record}, a, b, c, at); "
                  "for (int i = 0; i < 8; ++i) (i / 2 % 2 ? high : low)[i / 4 * 2 + i % 2] = c[i]; }"]
    if instruction.c.packed == 2:
        lines += [f"inline void {name}(float16* low, float16* high, const unsigned* a, const unsigned* b, TILEGEN_AT)",
                  f"{{ float16 c[] = {{low[0], low[1], high[0], high[1]}}; multiply({record}, a, b, c, at); "
                  "low[0] = c[0]; low[1] = c[1]; high[0] = c[2]; high[1] = c[3]; }"]
    if instruction.a.registers == 1:
        lines += [f"inline void {name}({sums}* c, {register_type} a, {singles}, TILEGEN_AT)",
                  f"{{ const {register_type} b[] = {{{listed}}}; multiply({record}, &a, b, c, at); }}"]
    return lines


def _builtin(instruction: MatrixInstruction, parameters: str) -> list[str]:
    sizes = (f"sizeof(A) == {_bytes(instruction.a)} && sizeof(B) == {_bytes(instruction.b)} && "
             f"sizeof(C) == {_bytes(instruction.c)}")
    return ["template <class A, class B, class C>",
            f"inline C {instruction.spelling}({parameters}, TILEGEN_AT)",
            f"{{ static_assert({sizes}, \"operand sizes\"); "
            f"multiply({_record(instruction)}, &a, &b, &c, at); return c; }}"]


def _bytes(fragment: Fragment) -> int:
    return fragment.elements * fragment.dtype.bits // 8


def _mfma_call(instruction: MatrixInstruction) -> list[str]:
    return _builtin(instruction, "A a, B b, C c, int, int, int")


def _plain_call(instruction: MatrixInstruction) -> list[str]:
    return _builtin(instruction, "A a, B b, C c")


def _wmma_integer_call(instruction: MatrixInstruction) -> list[str]:
    lines = _builtin(instruction, "bool a_signed, A a, bool b_signed, B b, C c, bool")
    refuse = 'if (!a_signed || !b_signed) fault(at, "unsigned operands of wmma are not emulated"); '
    return [*lines[:-1], lines[-1].replace("{ static_assert", "{ " + refuse + "static_assert")]


def _aliases() -> list[str]:
    """The most common instruction goes by its size alone, too."""
    return ["inline void mma_m16n8k16(float* c, const unsigned* a, unsigned b0, unsigned b1, TILEGEN_AT)",
            "{ mma_m16n8k16_f16(c, a, b0, b1, at); }",
            "inline void mma_m16n8k16(float* c, const unsigned* a, const unsigned* b, TILEGEN_AT)",
            "{ mma_m16n8k16_f16(c, a, b, at); }"]
