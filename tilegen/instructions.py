"""The matrix instructions of the hardware as data: sizes, dtypes, and which lane holds which element.

One table for everybody: layout inference asks where the elements of a tile live, the emulator's C++ is
generated from it, the cost model counts with it. A is (m, k), B is (k, n), C is (m, n); the accumulator is
read and written in the same fragment.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

from tilegen.dtypes import (PACKED, DType, bfloat16, float8_e4m3, float8_e5m2, float16, float32, float64, int8, int32,
                            tfloat32, uint8)
from tilegen.layout import quad_place

Place = Callable[[int, int, int], tuple[int, int]]


@dataclass(frozen=True)
class Fragment:
    """How the lanes of a warp hold a matrix of `rows` x `columns`.

    Each lane has `registers` registers of `packed` elements, low bits first; `place(lane, register, element)`
    is the (row, column) of one of them. Where several lanes hold the same element they hold copies.
    """

    rows: int
    columns: int
    dtype: DType
    lanes: int
    registers: int
    packed: int
    place: Place

    @property
    def elements(self) -> int:
        """Elements held by one lane."""
        return self.registers * self.packed

    @property
    def replicas(self) -> int:
        """How many lanes hold each element."""
        return self.lanes * self.elements // (self.rows * self.columns)

    def at(self, lane: int, index: int) -> tuple[int, int]:
        """The (row, column) of a lane's element `index`, counted through its registers."""
        return self.place(lane, index // self.packed, index % self.packed)

    def table(self) -> list[list[tuple[int, int]]]:
        """`at` for every lane and element: table[lane][index]."""
        return [[self.at(lane, index) for index in range(self.elements)] for lane in range(self.lanes)]

    def holders(self) -> dict[tuple[int, int], list[tuple[int, int]]]:
        """The inverse: for each (row, column) the (lane, index) of every copy."""
        found: dict[tuple[int, int], list[tuple[int, int]]] = {}
        for lane, places in enumerate(self.table()):
            for index, place in enumerate(places):
                found.setdefault(place, []).append((lane, index))
        return found


@dataclass(frozen=True)
class MatrixInstruction:
    """C += A * B by one warp (or, for `warps` > 1, by several warps together).

    `helper` is the device function that stands for it in emitted files; `spelling` the PTX opcode or the
    compiler's builtin behind it. `archs` are the archs that have it: an NVIDIA row that names one has it from
    there on, other rows name all of them. `call` is the form of the function's arguments, and for NVIDIA also
    the arrangement of its accumulator (layout.FragmentLayout).
    """

    helper: str
    spelling: str
    target: str
    archs: tuple[str, ...]
    m: int
    n: int
    k: int
    a: Fragment
    b: Fragment
    c: Fragment
    call: str = ""

    @property
    def lanes(self) -> int:
        return self.c.lanes

    @property
    def flops(self) -> int:
        return 2 * self.m * self.n * self.k

    def runs_on(self, arch: str) -> bool:
        """Whether `arch` (sm_80, gfx942, ...) has this instruction."""
        if self.target == "cuda" and len(self.archs) > 1:
            return arch in self.archs
        if self.target == "cuda":
            return arch.startswith("sm_") and _number(arch) >= _number(self.archs[0])
        return arch in self.archs


def _number(arch: str) -> int:
    return int("".join(c for c in arch if c.isdigit()))


# ---- NVIDIA mma.sync: lane = 4 * group + thread; pairs, quads or single elements lie along k ---------------
def mma_a(m: int, k: int, dtype: DType, bits: int) -> Fragment:
    packed = 32 // bits if bits < 32 else 1
    halves = m // 8
    def place(lane: int, register: int, element: int) -> tuple[int, int]:
        column = lane % 4 * packed + element + 4 * packed * (register // halves)
        return lane // 4 + 8 * (register % halves), column
    return Fragment(m, k, dtype, 32, m * k // 32 // packed, packed, place)


def _mma_b(k: int, n: int, dtype: DType, bits: int) -> Fragment:
    packed = 32 // bits if bits < 32 else 1
    def place(lane: int, register: int, element: int) -> tuple[int, int]:
        return lane % 4 * packed + element + 4 * packed * register, lane // 4
    return Fragment(k, n, dtype, 32, k * n // 32 // packed, packed, place)


def _mma_c(m: int, n: int, dtype: DType) -> Fragment:
    if dtype.bits == 16:
        def place(lane: int, register: int, element: int) -> tuple[int, int]:
            return lane // 4 + 8 * register, lane % 4 * 2 + element
        return Fragment(m, n, dtype, 32, m * n // 64, 2, place)
    def single(lane: int, register: int, element: int) -> tuple[int, int]:
        return lane // 4 + 8 * (register // 2), lane % 4 * 2 + register % 2
    return Fragment(m, n, dtype, 32, m * n // 32, 1, single)


_PTX = {float16: "f16", bfloat16: "bf16", tfloat32: "tf32", float32: "f32", float64: "f64", int8: "s8",
        uint8: "u8", int32: "s32", PACKED["int4"]: "s4", PACKED["uint4"]: "u4",
        float8_e4m3: "e4m3", float8_e5m2: "e5m2"}


# The archs on which products of 4-bit integers are twice as fast as those of 8 bits; from sm_90 on they are slower.
_NIBBLES = ("sm_80", "sm_86", "sm_87", "sm_89")


def _mma(m: int, n: int, k: int, dtype: DType, accumulator: DType, *archs: str,
         dtype_b: DType | None = None) -> MatrixInstruction:
    other = dtype_b or dtype
    name, sum_name = _PTX[dtype], _PTX[accumulator]
    suffix = name + (f"_{_PTX[other]}" if dtype_b else "") + (f"_{sum_name}" if accumulator is float16 else "")
    types = f"{sum_name}.{name}.{_PTX[other]}.{sum_name}"
    return MatrixInstruction(
        f"mma_m{m}n{n}k{k}_{suffix}", f"mma.sync.aligned.m{m}n{n}k{k}.row.col.{types}", "cuda",
        archs, m, n, k, mma_a(m, k, dtype, dtype.bits), _mma_b(k, n, other, other.bits),
        _mma_c(m, n, accumulator), "mma")


# ---- NVIDIA mma.m8n8k4 of Volta: four products of 8 x 8, each by a quad of lanes and the one 16 lanes on -----
# The quads stand 2 x 2, so that a warp multiplies 16 x 4 by 4 x 16. Which rows and columns of the tile an
# instruction's own 8 x 8 are is free, as long as operands and sums agree. Here they are chosen so that a
# thread holds what it holds after the later instructions: a row in each 8, pairs of columns in each 8.
def _quad_a(lane: int, register: int, element: int) -> tuple[int, int]:
    return lane // 2 % 2 * 8 + quad_place(lane)[0], 2 * register + element


def _quad_b(lane: int, register: int, element: int) -> tuple[int, int]:
    return 2 * register + element, (lane // 16 * 4 + quad_place(lane)[1]) * 2 + lane % 2


def _quad_b_rows(lane: int, register: int, element: int) -> tuple[int, int]:
    return lane % 4, (lane // 16 * 4 + lane // 8 % 2 * 2) * 2 + 2 * register + element


def _quad_c(lane: int, register: int, element: int) -> tuple[int, int]:
    row, pair = quad_place(lane)
    return register // 2 % 2 * 8 + row, (register // 4 * 4 + pair) * 2 + register % 2


def _quads(name: str, b_order: str, place_b: Place) -> MatrixInstruction:
    a, b = (Fragment(*shape, float16, 32, 2, 2, place) for shape, place in (((16, 4), _quad_a), ((4, 16), place_b)))
    return MatrixInstruction(name, f"mma.sync.aligned.m8n8k4.row.{b_order}.f32.f16.f16.f32", "cuda",
                             ("sm_70", "sm_72"), 16, 16, 4, a, b, Fragment(16, 16, float32, 32, 8, 1, _quad_c), "quad")


# ---- AMD MFMA and MetaX mma: a wave of 64; lane = row or column of the tile, lane groups along k -----------
def _along_k(tile: int, k: int, dtype: DType, by_row: bool, lanes: int = 64) -> Fragment:
    """A (by_row) or B: lane % tile picks the row or column, lane // tile a run of k values."""
    run = tile * k // lanes
    packed = max(1, 32 // dtype.bits) if run * dtype.bits >= 32 else run
    def place(lane: int, register: int, element: int) -> tuple[int, int]:
        depth = lane // tile * run + register * packed + element
        return (lane % tile, depth) if by_row else (depth, lane % tile)
    rows, columns = (tile, k) if by_row else (k, tile)
    return Fragment(rows, columns, dtype, lanes, run // packed, packed, place)


def _wave_c(tile: int, dtype: DType) -> Fragment:
    """The accumulator: groups of four rows, dealt to the lane groups in turn; of single rows for float64."""
    group, groups = (1, 64 // tile) if dtype is float64 else (4, 64 // tile)
    def place(lane: int, register: int, element: int) -> tuple[int, int]:
        row = register // group * (group * groups) + lane // tile * group + register % group
        return row, lane % tile
    return Fragment(tile, tile, dtype, 64, tile * tile // 64, 1, place)


_CDNA = ("gfx90a", "gfx942", "gfx950")
_CDNA3 = ("gfx942", "gfx950")
_CDNA4 = ("gfx950",)
_XCORE = ("xcore1000",)


def _wave(builtin: str, tile: int, k: int, dtype: DType, accumulator: DType, target: str,
          archs: tuple[str, ...], call: str) -> MatrixInstruction:
    helper = builtin.removeprefix("__builtin_amdgcn_").removeprefix("__builtin_")
    return MatrixInstruction(helper, builtin, target, archs, tile, tile, k, _along_k(tile, k, dtype, True),
                             _along_k(tile, k, dtype, False), _wave_c(tile, accumulator), call)


def _mfma(name: str, tile: int, k: int, dtype: DType, accumulator: DType,
          archs: tuple[str, ...]) -> MatrixInstruction:
    return _wave(f"__builtin_amdgcn_mfma_{name}", tile, k, dtype, accumulator, "hip", archs, "mfma")


def _mxc(name: str, k: int, dtype: DType, accumulator: DType) -> MatrixInstruction:
    return _wave(f"__builtin_mxc_mma_{name}", 16, k, dtype, accumulator, "maca", _XCORE, "mxc")


# ---- AMD RDNA3 WMMA: a wave of 32; lanes 16 to 31 hold copies of A and B -----------------------------------
def _wmma_operand(dtype: DType, by_row: bool) -> Fragment:
    packed = 32 // dtype.bits
    def place(lane: int, register: int, element: int) -> tuple[int, int]:
        depth = register * packed + element
        return (lane % 16, depth) if by_row else (depth, lane % 16)
    return Fragment(16, 16, dtype, 32, 16 // packed, packed, place)


def _wmma(name: str, dtype: DType, accumulator: DType, call: str) -> MatrixInstruction:
    def place(lane: int, register: int, element: int) -> tuple[int, int]:
        return 2 * register + lane // 16, lane % 16
    c = Fragment(16, 16, accumulator, 32, 8, 1, place)
    builtin = f"__builtin_amdgcn_wmma_{name}_w32"
    return MatrixInstruction(f"wmma_{name}", builtin, "hip", ("gfx1100", "gfx1101", "gfx1102"), 16, 16, 16,
                             _wmma_operand(dtype, True), _wmma_operand(dtype, False), c, call)


MATRIX_INSTRUCTIONS: tuple[MatrixInstruction, ...] = (
    _mma(16, 8, 16, float16, float32, "sm_80"),
    _mma(16, 8, 16, float16, float16, "sm_80"),
    _mma(16, 8, 16, bfloat16, float32, "sm_80"),
    _mma(16, 8, 8, float16, float32, "sm_75"),
    _mma(16, 8, 8, float16, float16, "sm_75"),
    _mma(16, 8, 8, bfloat16, float32, "sm_80"),
    _mma(16, 8, 8, tfloat32, float32, "sm_80"),
    _mma(16, 8, 4, tfloat32, float32, "sm_80"),
    _mma(16, 8, 32, int8, int32, "sm_80"),
    _mma(16, 8, 32, uint8, int32, "sm_80"),
    _mma(16, 8, 16, int8, int32, "sm_80"),
    _mma(16, 8, 16, uint8, int32, "sm_80"),
    _mma(8, 8, 16, int8, int32, "sm_75"),
    _mma(16, 8, 32, float8_e4m3, float32, "sm_89"),
    _mma(16, 8, 32, float8_e5m2, float32, "sm_89"),
    _mma(16, 8, 32, float8_e4m3, float32, "sm_89", dtype_b=float8_e5m2),
    _mma(16, 8, 32, float8_e5m2, float32, "sm_89", dtype_b=float8_e4m3),
    _mma(8, 8, 4, float64, float64, "sm_80"),
    _mma(16, 8, 4, float64, float64, "sm_90"),
    _mma(16, 8, 8, float64, float64, "sm_90"),
    _mma(16, 8, 16, float64, float64, "sm_90"),
    _mma(8, 8, 16, uint8, int32, "sm_75"),
    *(_mma(16, 8, k, dtype, int32, *_NIBBLES) for dtype in PACKED.values() for k in (64, 32)),
    *(_mma(8, 8, 32, dtype, int32, "sm_75", *_NIBBLES) for dtype in PACKED.values()),
    _quads("mma_m8n8k4_f16", "col", _quad_b),
    _quads("mma_m8n8k4_f16_rows", "row", _quad_b_rows),
    _mfma("f32_32x32x8f16", 32, 8, float16, float32, _CDNA),
    _mfma("f32_16x16x16f16", 16, 16, float16, float32, _CDNA),
    _mfma("f32_32x32x8bf16_1k", 32, 8, bfloat16, float32, _CDNA),
    _mfma("f32_16x16x16bf16_1k", 16, 16, bfloat16, float32, _CDNA),
    _mfma("f32_32x32x2f32", 32, 2, float32, float32, _CDNA),
    _mfma("f32_16x16x4f32", 16, 4, float32, float32, _CDNA),
    _mfma("f64_16x16x4f64", 16, 4, float64, float64, _CDNA),
    _mfma("i32_32x32x16_i8", 32, 16, int8, int32, _CDNA3),
    _mfma("i32_16x16x32_i8", 16, 32, int8, int32, _CDNA3),
    _mfma("i32_32x32x8i8", 32, 8, int8, int32, ("gfx90a",)),
    _mfma("i32_16x16x16i8", 16, 16, int8, int32, ("gfx90a",)),
    _mfma("f32_32x32x16_f16", 32, 16, float16, float32, _CDNA4),
    _mfma("f32_16x16x32_f16", 16, 32, float16, float32, _CDNA4),
    _mfma("f32_32x32x16_bf16", 32, 16, bfloat16, float32, _CDNA4),
    _mfma("f32_16x16x32_bf16", 16, 32, bfloat16, float32, _CDNA4),
    _mfma("f32_32x32x16_fp8_fp8", 32, 16, float8_e4m3, float32, _CDNA4),
    _mfma("f32_16x16x32_fp8_fp8", 16, 32, float8_e4m3, float32, _CDNA4),
    _wmma("f32_16x16x16_f16", float16, float32, "wmma"),
    _wmma("f32_16x16x16_bf16", bfloat16, float32, "wmma"),
    _wmma("i32_16x16x16_iu8", int8, int32, "wmma_integer"),
    _mxc("16x16x16f16", 16, float16, float32),
    _mxc("16x16x16bf16", 16, bfloat16, float32),
    _mxc("16x16x16i8", 16, int8, int32),
)


@cache
def _by_helper() -> dict[str, MatrixInstruction]:
    return {instruction.helper: instruction for instruction in MATRIX_INSTRUCTIONS}


def matrix_instruction(helper: str) -> MatrixInstruction:
    """The row of the table whose device function is `helper`."""
    return _by_helper()[helper]


def matrix_instructions(target: str, arch: str, dtype: DType, accumulator: DType) -> list[MatrixInstruction]:
    """Every instruction of `arch` that multiplies `dtype` into `accumulator`, the largest first."""
    found = [i for i in MATRIX_INSTRUCTIONS if i.target == target and i.runs_on(arch)
             and i.a.dtype == dtype and i.c.dtype == accumulator]
    return sorted(found, key=lambda i: -i.flops)


# ---- ldmatrix, stmatrix: 8 x 8 matrices of 16-bit elements -------------------------------------------------
def _matrix_8x8(lane: int, register: int, element: int) -> tuple[int, int]:
    return lane // 4, lane % 4 * 2 + element


def _matrix_8x8_transposed(lane: int, register: int, element: int) -> tuple[int, int]:
    return lane % 4 * 2 + element, lane // 4


# One matrix as a warp holds it after ldmatrix, plain or .trans; lane l named row l % 8 of matrix l // 8.
LDMATRIX = Fragment(8, 8, float16, 32, 1, 2, _matrix_8x8)
LDMATRIX_TRANSPOSED = Fragment(8, 8, float16, 32, 1, 2, _matrix_8x8_transposed)
