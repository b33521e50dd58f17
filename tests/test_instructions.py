"""The table of matrix instructions: by brute force, and against the layouts as the vendors write them down."""

from __future__ import annotations

import pytest

from tilegen.dtypes import bfloat16, float16, float32, float64, int8, int32
from tilegen.instructions import LDMATRIX, LDMATRIX_TRANSPOSED, MATRIX_INSTRUCTIONS, Fragment, matrix_instruction, matrix_instructions, tfloat32
from tilegen.wgmma import wgmma_a, wgmma_sums
from tilegen.layout import Axis, FragmentLayout

ALL = pytest.mark.parametrize("instruction", MATRIX_INSTRUCTIONS, ids=lambda i: i.helper)


@ALL
def test_every_element_is_held_equally_often(instruction):
    for fragment in (instruction.a, instruction.b, instruction.c):
        holders = fragment.holders()
        assert set(holders) == {(r, c) for r in range(fragment.rows) for c in range(fragment.columns)}
        assert {len(copies) for copies in holders.values()} == {fragment.replicas}


@ALL
def test_sizes_fit_together(instruction):
    assert (instruction.a.rows, instruction.a.columns) == (instruction.m, instruction.k)
    assert (instruction.b.rows, instruction.b.columns) == (instruction.k, instruction.n)
    assert (instruction.c.rows, instruction.c.columns) == (instruction.m, instruction.n)
    assert instruction.a.lanes == instruction.b.lanes == instruction.c.lanes
    assert instruction.c.replicas == 1


@ALL
def test_registers_are_full(instruction):
    for fragment in (instruction.a, instruction.b, instruction.c):
        assert fragment.packed * fragment.dtype.bits in (32, 64)


def test_names_are_unique():
    assert len({i.helper for i in MATRIX_INSTRUCTIONS}) == len({i.spelling for i in MATRIX_INSTRUCTIONS}) \
        == len(MATRIX_INSTRUCTIONS)


# ---- PTX ISA, "Matrix Fragments for mma": for element i of a lane, counted through its registers ---------------
def _ptx(lane: int) -> tuple[int, int]:
    return lane >> 2, lane % 4                   # groupID, threadID_in_group


def a_m16n8k16_16bit(lane, i):
    group, thread = _ptx(lane)
    return group if i < 2 or 4 <= i < 6 else group + 8, thread * 2 + (i & 1) if i < 4 else thread * 2 + (i & 1) + 8


def b_m16n8k16_16bit(lane, i):
    group, thread = _ptx(lane)
    return thread * 2 + (i & 1) if i < 2 else thread * 2 + (i & 1) + 8, group


def c_m16n8(lane, i):
    group, thread = _ptx(lane)
    return group if i < 2 else group + 8, thread * 2 + (i & 1)


def a_m16n8k8_16bit(lane, i):
    group, thread = _ptx(lane)
    return group if i < 2 else group + 8, thread * 2 + (i & 1)


def b_m16n8k8_16bit(lane, i):
    group, thread = _ptx(lane)
    return thread * 2 + (i & 1), group


def a_m16n8k8_tf32(lane, i):
    group, thread = _ptx(lane)
    return group if i in (0, 2) else group + 8, thread if i in (0, 1) else thread + 4


def b_m16n8k8_tf32(lane, i):
    group, thread = _ptx(lane)
    return thread if i == 0 else thread + 4, group


def a_m16n8k4_tf32(lane, i):
    group, thread = _ptx(lane)
    return group if i == 0 else group + 8, thread


def b_m16n8k4_tf32(lane, i):
    group, thread = _ptx(lane)
    return thread, group


def a_m16n8k32_8bit(lane, i):
    group, thread = _ptx(lane)
    row = group if 0 <= i < 4 or 8 <= i < 12 else group + 8
    return row, thread * 4 + (i & 3) if i < 8 else thread * 4 + (i & 3) + 16


def b_m16n8k32_8bit(lane, i):
    group, thread = _ptx(lane)
    return thread * 4 + (i & 3) if i < 4 else thread * 4 + (i & 3) + 16, group


def a_m16n8k16_8bit(lane, i):
    group, thread = _ptx(lane)
    return group if i < 4 else group + 8, thread * 4 + (i & 3)


def b_m16n8k16_8bit(lane, i):
    group, thread = _ptx(lane)
    return thread * 4 + (i & 3), group


def a_m16n8k64_4bit(lane, i):
    group, thread = _ptx(lane)
    row = group if i < 8 or 16 <= i < 24 else group + 8
    return row, thread * 8 + (i & 7) + (0 if i < 16 else 32)


def b_m16n8k64_4bit(lane, i):
    group, thread = _ptx(lane)
    return thread * 8 + (i & 7) + (0 if i < 8 else 32), group


def a_m16n8k32_4bit(lane, i):
    group, thread = _ptx(lane)
    return group if i < 8 else group + 8, thread * 8 + (i & 7)


def b_m16n8k32_4bit(lane, i):
    group, thread = _ptx(lane)
    return thread * 8 + (i & 7), group


def a_m16n8k16_f64(lane, i):
    group, thread = _ptx(lane)
    return group if i % 2 == 0 else group + 8, i // 2 * 4 + thread


def b_m16n8k16_f64(lane, i):
    group, thread = _ptx(lane)
    return thread + i * 4, group


def a_m8n8k4_f64(lane, i):
    return lane >> 2, lane % 4


def b_m8n8k4_f64(lane, i):
    return lane % 4, lane >> 2


def c_m8n8(lane, i):
    return lane >> 2, (lane % 4) * 2 + (i & 1)


DOCUMENTED = {
    "mma_m16n8k16_f16": (a_m16n8k16_16bit, b_m16n8k16_16bit, c_m16n8),
    "mma_m16n8k16_f16_f16": (a_m16n8k16_16bit, b_m16n8k16_16bit, c_m16n8),
    "mma_m16n8k16_bf16": (a_m16n8k16_16bit, b_m16n8k16_16bit, c_m16n8),
    "mma_m16n8k8_f16": (a_m16n8k8_16bit, b_m16n8k8_16bit, c_m16n8),
    "mma_m16n8k8_f16_f16": (a_m16n8k8_16bit, b_m16n8k8_16bit, c_m16n8),
    "mma_m16n8k8_bf16": (a_m16n8k8_16bit, b_m16n8k8_16bit, c_m16n8),
    "mma_m16n8k8_tf32": (a_m16n8k8_tf32, b_m16n8k8_tf32, c_m16n8),
    "mma_m16n8k4_tf32": (a_m16n8k4_tf32, b_m16n8k4_tf32, c_m16n8),
    "mma_m16n8k32_s8": (a_m16n8k32_8bit, b_m16n8k32_8bit, c_m16n8),
    "mma_m16n8k32_u8": (a_m16n8k32_8bit, b_m16n8k32_8bit, c_m16n8),
    "mma_m16n8k32_e4m3": (a_m16n8k32_8bit, b_m16n8k32_8bit, c_m16n8),
    "mma_m16n8k32_e5m2": (a_m16n8k32_8bit, b_m16n8k32_8bit, c_m16n8),
    "mma_m16n8k16_s8": (a_m16n8k16_8bit, b_m16n8k16_8bit, c_m16n8),
    "mma_m16n8k16_u8": (a_m16n8k16_8bit, b_m16n8k16_8bit, c_m16n8),
    "mma_m8n8k16_s8": (a_m16n8k16_8bit, b_m16n8k16_8bit, c_m8n8),
    **{f"mma_m16n8k64_{kind}": (a_m16n8k64_4bit, b_m16n8k64_4bit, c_m16n8) for kind in ("s4", "u4")},
    **{f"mma_m16n8k32_{kind}": (a_m16n8k32_4bit, b_m16n8k32_4bit, c_m16n8) for kind in ("s4", "u4")},
    **{f"mma_m8n8k32_{kind}": (a_m16n8k32_4bit, b_m16n8k32_4bit, c_m8n8) for kind in ("s4", "u4")},
    "mma_m8n8k16_u8": (a_m16n8k16_8bit, b_m16n8k16_8bit, c_m8n8),
    "mma_m16n8k32_e4m3_e5m2": (a_m16n8k32_8bit, b_m16n8k32_8bit, c_m16n8),
    "mma_m16n8k32_e5m2_e4m3": (a_m16n8k32_8bit, b_m16n8k32_8bit, c_m16n8),
    "mma_m8n8k4_f64": (a_m8n8k4_f64, b_m8n8k4_f64, c_m8n8),
    "mma_m16n8k4_f64": (a_m16n8k4_tf32, b_m16n8k4_tf32, c_m16n8),
    "mma_m16n8k8_f64": (a_m16n8k8_tf32, b_m16n8k8_tf32, c_m16n8),
    "mma_m16n8k16_f64": (a_m16n8k16_f64, b_m16n8k16_f64, c_m16n8),
}


@pytest.mark.parametrize("helper", [i.helper for i in MATRIX_INSTRUCTIONS if i.call == "mma"])
def test_nvidia_layouts_as_documented(helper):
    instruction = matrix_instruction(helper)
    for fragment, documented in zip((instruction.a, instruction.b, instruction.c), DOCUMENTED[helper], strict=True):
        for lane in range(32):
            assert [fragment.at(lane, i) for i in range(fragment.elements)] == \
                [documented(lane, i) for i in range(fragment.elements)]


# ---- m8n8k4: four quads of lanes, each with the one 16 lanes on, hold a product of 8 x 8 x 4 -----------------
def _halves(lane: int) -> int:
    return 0 if lane < 16 else 4


def a_m8n8k4(lane, i):
    return lane % 4 + _halves(lane), i


def b_m8n8k4_col(lane, i):
    return i, lane % 4 + _halves(lane)


def b_m8n8k4_row(lane, i):
    return lane % 4, i + _halves(lane)


def c_m8n8k4_f32(lane, i):
    return (lane & 1) + (i & 2) + _halves(lane), (i & 4) + (lane & 2) + (i & 1)


@pytest.mark.parametrize("helper, b_documented", [("mma_m8n8k4_f16", b_m8n8k4_col), ("mma_m8n8k4_f16_rows", b_m8n8k4_row)])
def test_the_quads_of_volta_multiply_one_tile(helper, b_documented):
    """A row of an own 8 x 8 is one row of the tile, in A and in C; a column one of its columns, in B and in C."""
    instruction = matrix_instruction(helper)
    rows: dict = {}
    cols: dict = {}
    for lane in range(32):
        quad = lane // 4 % 4
        for i in range(4):
            (own_row, depth), (row, k) = a_m8n8k4(lane, i), instruction.a.at(lane, i)
            assert depth == k and rows.setdefault((quad, own_row), row) == row
            (depth, own_col), (k, col) = b_documented(lane, i), instruction.b.at(lane, i)
            assert depth == k and cols.setdefault((quad, own_col), col) == col
    for lane in range(32):
        quad = lane // 4 % 4
        for i in range(8):
            own_row, own_col = c_m8n8k4_f32(lane, i)
            assert instruction.c.at(lane, i) == (rows[quad, own_row], cols[quad, own_col])


@pytest.mark.parametrize("arrangement", ["mma", "quad"])
def test_an_accumulator_is_a_fragment_of_its_arrangement(arrangement):
    """The product of two axes that layout inference makes of a tile of one warp."""
    instruction = matrix_instruction({"mma": "mma_m16n8k16_f16", "quad": "mma_m8n8k4_f16"}[arrangement])
    rows = Axis("row", "ROWS", instruction.m, "m", 8, arrangement=arrangement)
    cols = Axis("col", "COLS", instruction.n, "n", 4, 2, arrangement=arrangement)
    layout = FragmentLayout((rows, cols), 8, 4, arrangement)
    found: dict = {}
    for (thread, _), element in layout.table().items():
        found.setdefault(element, []).append(thread)
    assert found == {place: [lane for lane, _ in copies] for place, copies in instruction.c.holders().items()}


# ---- AMD and MetaX write the inverse: for an element, its lane and its place among the lane's items ------------
def _wave_holder(instruction, operand: str, outer: int, depth: int) -> tuple[int, int]:
    tile, per_lane = instruction.m, instruction.a.elements
    return outer + tile * (depth // per_lane), depth % per_lane


def _accumulator_holder(tile: int, row: int, column: int, is_double: bool) -> tuple[int, int]:
    if is_double:                                # v_mfma_f64_16x16x4_f64: rows are dealt one by one
        return column + 16 * (row % 4), row // 4
    if tile == 32:
        return column + 32 * (row // 4 % 2), row // 8 * 4 + row % 4
    return column + 16 * (row // 4), row % 4


@pytest.mark.parametrize("instruction", [i for i in MATRIX_INSTRUCTIONS if i.lanes == 64], ids=lambda i: i.helper)
def test_wave64_layouts_as_documented(instruction):
    a, b, c = (f.holders() for f in (instruction.a, instruction.b, instruction.c))
    for outer in range(instruction.m):
        for depth in range(instruction.k):
            assert a[outer, depth] == [_wave_holder(instruction, "a", outer, depth)]
            assert b[depth, outer] == [_wave_holder(instruction, "b", outer, depth)]
    for (row, column), holder in c.items():
        assert holder == [_accumulator_holder(instruction.m, row, column, instruction.c.dtype.bits == 64)]


@pytest.mark.parametrize("instruction", [i for i in MATRIX_INSTRUCTIONS if i.helper.startswith("wmma")],
                         ids=lambda i: i.helper)
def test_wmma_layouts_as_documented(instruction):
    """Both halves of the wave hold row (column) lane % 16 of A (B); C alternates rows between the halves."""
    for lane in range(32):
        assert [instruction.a.at(lane, i) for i in range(16)] == [(lane % 16, i) for i in range(16)]
        assert [instruction.b.at(lane, i) for i in range(16)] == [(i, lane % 16) for i in range(16)]
        assert [instruction.c.at(lane, i) for i in range(8)] == [(2 * i + lane // 16, lane % 16) for i in range(8)]


def test_a_c_fragment_serves_as_a_of_the_next_product():
    """What attention relies on: two m16n8 accumulators side by side are one m16k16 operand, pair by pair."""
    instruction = matrix_instruction("mma_m16n8k16_f16")
    for lane in range(32):
        for register in range(4):
            for element in range(2):
                row, column = instruction.c.place(lane, register % 2 * 2 + element, 0)
                assert instruction.a.place(lane, register, element) == (row, column + 8 * (register // 2))


def test_ldmatrix_feeds_mma():
    """Register r of A is matrix (r % 2, r // 2) of ldmatrix.x4; B comes from the transposed form."""
    instruction = matrix_instruction("mma_m16n8k16_f16")
    for lane in range(32):
        for element in range(2):
            row, column = LDMATRIX.place(lane, 0, element)
            for register in range(4):
                assert instruction.a.place(lane, register, element) == (row + register % 2 * 8, column + register // 2 * 8)
            for register in range(2):
                row, column = LDMATRIX_TRANSPOSED.place(lane, 0, element)
                assert instruction.b.place(lane, register, element) == (row + register * 8, column)


@pytest.mark.parametrize("arch, dtype, accumulator, wanted", [
    ("sm_80", float16, float32, "mma_m16n8k16_f16"), ("sm_75", float16, float32, "mma_m16n8k8_f16"),
    ("sm_90a", bfloat16, float32, "mma_m16n8k16_bf16"), ("sm_80", tfloat32, float32, "mma_m16n8k8_tf32"),
    ("sm_75", int8, int32, "mma_m8n8k16_s8"), ("sm_70", float16, float32, "mma_m8n8k4_f16"),
    ("sm_80", float64, float64, "mma_m8n8k4_f64"), ("sm_90a", float64, float64, "mma_m16n8k16_f64")])
def test_choice_by_arch(arch, dtype, accumulator, wanted):
    assert matrix_instructions("cuda", arch, dtype, accumulator)[0].helper == wanted


def test_archs_without_matrix_units():
    assert matrix_instructions("cuda", "sm_70", float16, float16) == []
    assert matrix_instructions("cuda", "sm_70", bfloat16, float32) == []
    assert matrix_instructions("hip", "gfx1030", float16, float32) == []
    assert not matrix_instruction("mfma_f32_16x16x32_f16").runs_on("gfx942")


@pytest.mark.parametrize("fragment", [wgmma_sums(8), wgmma_sums(256), wgmma_a(bfloat16), wgmma_a(int8),
                                      wgmma_a(tfloat32)])
def test_wgmma_covers_its_tile_once(fragment):
    holders = fragment.holders()
    assert set(holders) == {(r, c) for r in range(64) for c in range(fragment.columns)} and fragment.replicas == 1


def test_a_warp_of_wgmma_is_an_mma():
    """Warp w has rows 16 w and on; within them the layouts of m16n8k16, 8 columns after the other."""
    instruction = matrix_instruction("mma_m16n8k16_bf16")
    sums, a = wgmma_sums(32), wgmma_a(bfloat16)
    for lane in range(128):
        for index in range(16):
            row, column = instruction.c.at(lane % 32, index % 4)
            assert sums.at(lane, index) == (row + lane // 32 * 16, column + index // 4 * 8)
        for index in range(8):
            row, column = instruction.a.at(lane % 32, index)
            assert a.at(lane, index) == (row + lane // 32 * 16, column)


def test_replicas_are_counted():
    def everywhere(lane: int, register: int, element: int) -> tuple[int, int]:
        return 0, element
    assert Fragment(1, 4, float32, 32, 1, 4, everywhere).replicas == 32
