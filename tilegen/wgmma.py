"""wgmma as data: the products of a warpgroup of four warps, each with 16 rows of A (where it is in registers) and C.

Source: the PTX ISA, asynchronous warpgroup-level matrix instructions.
"""

from __future__ import annotations

from tilegen.dtypes import (DType, bfloat16, float8_e4m3, float8_e5m2, float16, float32, int8, int32, tfloat32,
                            uint8)
from tilegen.instructions import Fragment, mma_a

WGMMA_ROWS, WGMMA_DEPTH_BYTES = 64, 32
WGMMA_COLUMNS = tuple(range(8, 257, 8))
_WGMMA_OPERANDS = {float16: "f16", bfloat16: "bf16", tfloat32: "tf32", float8_e4m3: "e4m3", float8_e5m2: "e5m2",
                   int8: "s8", uint8: "u8"}


def wgmma_helper(columns: int, a: DType, b: DType, c: DType) -> str:
    """wgmma_m64n128k16_f16, the device function for 64 x `columns` sums of dtype `c`; '' where wgmma has none that
    is used here."""
    known = a == b and a in _WGMMA_OPERANDS and c == sums_of(a) and columns in columns_of(a)
    return f"wgmma_m64n{columns}k{WGMMA_DEPTH_BYTES // a.bytes}_{_WGMMA_OPERANDS[a]}" if known else ""


def sums_of(operands: DType) -> DType:
    """The dtype of the sums of products of `operands`."""
    return float32 if operands.is_float else int32


def columns_of(operands: DType) -> tuple[int, ...]:
    """The columns that a product of `operands` may have: of integers above 24 only multiples of 16."""
    return tuple(n for n in WGMMA_COLUMNS if operands.is_float or n <= 24 or n % 16 == 0)


def turns(operands: DType) -> bool:
    """Whether rows of an operand in shared memory may run across the depth, and the left one be in registers here."""
    return operands.bits == 16


def with_registers(helper: str) -> str:
    """The device function of the same product whose left operand is in registers."""
    return f"{helper}_registers"


def wgmma_helpers() -> dict[str, tuple[int, DType]]:
    """{device function: (columns, dtype of the operands)}"""
    return {wgmma_helper(n, dtype, dtype, sums_of(dtype)): (n, dtype)
            for dtype in _WGMMA_OPERANDS for n in columns_of(dtype)}


def wgmma_sums(columns: int, dtype: DType = float32) -> Fragment:
    """C of wgmma m64nNkK for N = `columns`: each warp holds what mma m16n8 gives, for every 8 columns."""
    def place(lane: int, register: int, element: int) -> tuple[int, int]:
        row = lane // 32 * 16 + lane % 32 // 4 + 8 * (register % 4 // 2)
        return row, 8 * (register // 4) + lane % 4 * 2 + register % 2
    return Fragment(64, columns, dtype, 128, columns // 2, 1, place)


def wgmma_a(dtype: DType) -> Fragment:
    """A of wgmma in registers: 64 rows of 32 bytes, each warp as in an mma with 16 rows."""
    of_a_warp = mma_a(16, 32 // dtype.bytes, dtype, dtype.bits)
    def place(lane: int, register: int, element: int) -> tuple[int, int]:
        row, column = of_a_warp.place(lane % 32, register, element)
        return lane // 32 * 16 + row, column
    return Fragment(64, 32 // dtype.bytes, dtype, 128, of_a_warp.registers, of_a_warp.packed, place)
