"""Every emitted file, run as it is committed and with its knobs turned, against the interpreter.

Files for a GPU run in the emulator, which also reports races, reads of what nobody wrote, accesses out of
bounds or at a wrong alignment, and barriers that not all threads reach.
"""

import pytest
from generated_files import FILES, ROOT
from generated_runs import knobs, RAGGED, refuses, sizes_of, turned, wrong
from tilegen.errors import TilegenError

GPU = [file for file in FILES if file.target != "cpu"]
# Knobs that say what is computed, not how.
MEANING = {name: {"D"} for name in ("10_flash_attention", "20_flash_attention_causal_gqa",
                                    "21_flash_attention_varlen", "22_flash_attention_backward")}
MEANING |= {"24_int4_dequant_gemm": {"GROUP", "THOUSAND", "SIXTYFOUR"}, "25_conv2d": {"R", "S", "stride", "pad", "dilation"},
            "26_topk": {"TOP", "SIGNLESS"}, "28_histogram": {"BINS"},
           **dict.fromkeys(("04_softmax", "05_layernorm", "16_rmsnorm", "17_layernorm_backward", "18_online_softmax",
                            "19_row_sum"), {"multiple"})}


@pytest.fixture(autouse=True)
def in_the_project(monkeypatch):
    monkeypatch.chdir(ROOT)


@pytest.mark.parametrize("file", FILES, ids=str)
def test_whole_and_ragged_tiles_one_element_and_none(file):
    kernel = file.specialised().kernel
    for sizes in sizes_of(file):
        problems = wrong(file, kernel, file.text, sizes)
        assert not problems, f"{sizes}: {problems}"


@pytest.mark.parametrize("order", ["reverse", "random"])
@pytest.mark.parametrize("file", GPU, ids=str)
def test_the_order_of_threads_does_not_matter(file, order):
    sizes = sizes_of(file)[RAGGED]
    problems = wrong(file, file.specialised().kernel, file.text, sizes, order)
    assert not problems


def run_with_knobs(file, changes):
    """Whether the text with these knobs was right; False where a static_assert refused it."""
    text = file.text
    for knob, value in changes.items():
        text = turned(text, knob, value)
    try:
        problems = wrong(file, file.specialised().kernel, text, sizes_of(file)[RAGGED])
    except TilegenError as error:
        if refuses(error):
            return False
        raise
    assert not problems, changes
    return True


TURNED = [file for file in FILES if file.target in ("cuda", "cpu")]


@pytest.mark.parametrize("file", TURNED, ids=str)
def test_a_knob_can_be_turned_with_no_other_edit(file):
    """Each knob down or up by a factor of two: the result is right, or a static_assert refuses it."""
    values = {
        knob: value for knob, value in knobs(file.text).items() if knob not in MEANING.get(file.example, ())
    }
    accepted = [
        knob
        for n, (knob, value) in enumerate(values.items())
        if run_with_knobs(file, {knob: value // 2 if n % 2 and value > 1 else 2 * value})
    ]
    # on sm_90a a product has one number of columns, and tiles and registers fill the SM
    assert len(accepted) * 3 >= (1 if file.arch == "sm_90a" else len(values)), accepted


SEVERAL = {
    ("06_gemm", "cuda"): [
        {"BM": 64, "BN": 64, "BK": 16},
        {"STAGES": 3, "THREADS": 128, "BM": 64},
        {"C_VEC": 2, "A_VEC": 2, "B_VEC": 1, "THREADS": 64},
    ],
    ("07_gemm_bias_gelu", "cuda"): [{"BM": 64, "BN": 64, "THREADS": 128}, {"stages": 4, "THREADS": 128}],
    ("04_softmax", "cuda"): [
        {"BM": 4, "BN": 1024, "THREADS_N": 128},
        {"threads": 128, "THREADS_N": 32, "BM": 4},
    ],
    ("06_gemm", "hip"): [{"BM": 64, "BN": 64, "BK": 16}],
    ("06_gemm", "cpu"): [{"BM": 12, "BN": 32, "BK": 8}, {"MR": 4, "NV": 3, "BM": 64, "BN": 96}],
}


@pytest.mark.parametrize("example, target", SEVERAL)
def test_several_knobs_can_be_turned_at_once(example, target):
    file = next(f for f in FILES if f.example == example and f.target == target)
    for changes in SEVERAL[example, target]:
        assert run_with_knobs(file, changes), changes


def test_a_wrong_edit_is_noticed():
    """That this file's checks can fail: without a barrier, with a wrong offset, with an illegal knob."""
    file = next(f for f in FILES if f.example == "06_gemm" and f.target == "hip")
    kernel, sizes = file.specialised().kernel, sizes_of(file)[RAGGED]
    barrier = next(line for line in file.text.splitlines() if "__syncthreads();" in line)
    with pytest.raises(TilegenError, match="TG0601"):
        wrong(file, kernel, file.text.replace(barrier, ""), sizes)
    assert wrong(file, kernel, file.text.replace("+= a[", "-= a["), sizes)
    assert not run_with_knobs(file, {"BM": 127})
