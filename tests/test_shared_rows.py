"""How rows of shared tiles lie: the swizzle itself, what is chosen and why, and that no bank is hit twice."""

import pathlib

import pytest
from tilegen import kernel_files
from tilegen.layout import Swizzle, bank_conflicts

EXAMPLES = pathlib.Path(__file__).resolve().parent.parent / "examples"


def notes(name: str, arch: str = "sm_80", **knobs) -> dict[str, str]:
    found = kernel_files.find(str(EXAMPLES / f"{name}.py"))
    kernel = found if hasattr(found, "specialised") else found()
    return dict(kernel.specialised("cuda", arch, knobs).planned.plan.notes)


@pytest.mark.parametrize("size", [1, 2, 4])
@pytest.mark.parametrize("pieces", range(1, 33))
def test_a_swizzle_moves_no_element_out_of_its_row_and_keeps_banks_apart(size, pieces):
    piece = 16 // size
    cols = pieces * piece
    swizzle = Swizzle.of(cols, piece)
    for row in range(16):
        places = [swizzle.place(row, col) for col in range(cols)]
        assert sorted(places) == list(range(cols))
        assert all(places[c + i] == places[c] + i for c in range(0, cols, piece) for i in range(piece))
    for col in range(0, cols, piece):                     # ldmatrix: eight rows of 16 bytes, below each other
        assert bank_conflicts([(row * cols + swizzle.place(row, col)) * size for row in range(8)], 16) == 1
    lanes = [divmod(lane * piece, cols) for lane in range(32)]     # a copy along the rows, 16 bytes a lane
    assert bank_conflicts([(row * cols + swizzle.place(row, col)) * size for row, col in lanes], 16) == 1


@pytest.mark.parametrize("name, tile", [("09_gemm_tensor_core", "A"), ("11_gemm_level3", "A")])
def test_short_rows_of_tensor_cores_are_swizzled(name, tile):
    reason = notes(name)[f"bank conflicts of {tile}_shared"]
    assert reason.startswith("swizzled") and "ldmatrix 1 pass, " not in reason.partition("(")[2]
    assert "copies of the block 1 pass" in reason and "ldmatrix 1 pass" in reason


@pytest.mark.parametrize("name, tiles", [("09_gemm_tensor_core", "B"), ("10_flash_attention", "QKV")])
def test_rows_that_padding_serves_as_well_are_padded(name, tiles):
    for tile in tiles:
        reason = notes(name)[f"bank conflicts of {tile}_shared"]
        assert reason.startswith("8 passes without padding, 1 with 8 more column(s)")
        assert "a swizzle takes 1 too, and a register for each place" in reason


def test_padding_takes_no_room_from_blocks():
    """sm_86 has 99 KB for a block: with D = 128 the padded tiles of attention do not fit, the swizzled ones do."""
    for arch, how in (("sm_80", "8 passes"), ("sm_86", "swizzled")):
        assert notes("10_flash_attention", arch, D=128)["bank conflicts of K_shared"].startswith(how)


def test_what_cannot_be_swizzled_is_padded_and_says_why():
    assert "with 1 more column(s); no swizzle" in notes("03_transpose")["bank conflicts of tile"]
    assert "an operand is read along several pieces" in notes("06_gemm")["bank conflicts of A_shared"]
    assert "own padding of 4 column(s) is kept" in notes("11_gemm_level3")["bank conflicts of B_shared"]
