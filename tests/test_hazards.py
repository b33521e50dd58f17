"""What costs speed in machine code is found, told at the Python line, and in no emitted file."""

import warnings

import pytest
from generated_files import FILES, ROOT

from tilegen.build import hazards, nvrtc, sass
from tilegen.build.toolchain import compile_text
from tilegen.errors import TilegenError
from tilegen.runtime.load import load

PRODUCT = (ROOT / "generated/cuda/09_gemm_tensor_core_sm90a.cu").read_text()
CALL = "wgmma_m64n256k16_f16<0, 1>(C_local[2 * i], C_local[2 * i + 1], a, b, 1);"
LINE = PRODUCT[:PRODUCT.index(CALL)].count("\n") + 1
EDITS = {"sums that are touched": (CALL, CALL + " C_local[2 * i][0] += 1;"),
         "an index of run time": (CALL, CALL.replace("2 * i + 1", "2 * ((i + ko) & 1) + 1"))}
FENCE = """extern "C" __global__ void kernel(int* flags, int n)
{
    for (int i = 0; i < n; ++i) {
        flags[2 * i] = i;
        INSIDE
        flags[2 * i + 1] = i;
    }
    __threadfence();
    flags[2 * n] = 1;
}
"""


def edited(name: str) -> str:
    assert EDITS[name][0] in PRODUCT
    return PRODUCT.replace(*EDITS[name])


def compiled(text: str, arch: str = "sm_90a"):
    return compile_text(text, nvrtc.find(), name="kernel", target="cuda", arch=arch)


@pytest.mark.parametrize("file", [f for f in FILES if f.target == "cuda"], ids=str)
def test_no_committed_file_has_a_hazard(file):
    artifact = compiled(file.text, file.arch)
    assert not artifact.findings and not hazards.of(artifact.path)


@pytest.mark.parametrize("file", [f for f in FILES if f.target == "cuda" and not f.variation.get("arch")], ids=str)
def test_no_file_for_warpgroups_has_a_hazard(file, monkeypatch):
    """Those that have products of warpgroups on sm_90a; the disassembler takes half a second for each."""
    monkeypatch.chdir(ROOT)
    text = file.specialised("sm_90a").source
    if "wgmma" in text:
        assert not hazards.of(compiled(text).path)


def test_products_one_by_one_are_found():
    artifact = compiled(edited("sums that are touched"))
    [finding] = hazards.of(artifact.path)
    assert finding.kind == "serialised" and finding.message == "products of warpgroups that wait for the one before: 3"
    assert CALL in artifact.source.read_text().splitlines()[finding.line - 1]
    [told] = hazards.placed(artifact.findings, artifact.path)
    assert told.message.startswith("C7511: ") and told.line == finding.line and "smaller tiles" in told.cure


def test_local_memory_is_found():
    found = hazards.of(compiled(edited("an index of run time")).path)
    assert {f.kind for f in found} == {"serialised", "local memory"}


@pytest.mark.parametrize("inside, lines", [("__threadfence();", [5]), ("__threadfence_block();", []), ("", [])])
def test_fences_of_the_whole_gpu_in_a_loop_are_found(inside, lines):
    found = hazards.of(compiled(FENCE.replace("INSIDE", inside)).path)
    assert [(f.kind, f.line) for f in found] == [("fence", line) for line in lines]


def test_branches_to_addresses_are_loops_as_well():
    """As cuobjdump prints them."""
    listing = """
		Function : kernel
        /*0010*/                   LDG.E R4, [R2.64] ;
        /*0020*/                   MEMBAR.SC.GPU ;
        /*0030*/               @P0 BRA 0x10 ;
		Function : other
        /*0010*/                   MEMBAR.SC.GPU ;
        /*0020*/                   BRA `(.L_x_1);
"""
    [finding] = hazards.findings_in(hazards.instructions(listing))
    assert (finding.kind, finding.message, finding.line) == ("fence", "fences for the whole GPU in a loop: 1", 0)


@pytest.mark.parametrize("edit", EDITS)
def test_a_user_is_warned_at_the_python_line(edit):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        loaded = load(edited(edit))
        assert loaded.artifact and loaded.findings
    first, *others = (str(warning.message) for warning in caught)
    assert first.startswith(f"<text>:{LINE} is slower than it could be: C7511")
    assert first.endswith("from 09_gemm_tensor_core.py:40; a thread holds too much for products that overlap: smaller "
                          "tiles, or more threads")
    assert ["spill stores" in other for other in others] == [True] * (edit == "an index of run time")


def test_without_a_disassembler_the_warning_has_no_line(monkeypatch):
    def missing():
        raise TilegenError("TG0301", "neither nvdisasm nor cuobjdump was found")
    monkeypatch.setattr(sass, "disassembler", missing)
    with pytest.warns(UserWarning, match="^<text> is slower than it could be: C7511.*; a thread holds too much"):
        loaded = load(edited("sums that are touched"))
        assert loaded.artifact
    with pytest.raises(TilegenError, match="neither nvdisasm"):
        loaded.findings


def test_good_code_brings_no_warning():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert load(PRODUCT).findings == []
