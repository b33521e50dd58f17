"""The examples for each generation of NVIDIA GPUs: the text emitted for an arch compiles for it, and computes what
the interpreter does."""

import pytest
from generated_files import EXAMPLES, ROOT, Generated
from generated_runs import RAGGED, SIZES, wrong
from tilegen.build import nvrtc
from tilegen.build.toolchain import compile_text

# The arch of the committed files, sm_80, is in test_compile_generated.py and test_run_generated.py.
ARCHS = ("sm_70", "sm_75", "sm_86", "sm_89", "sm_90a", "sm_100", "sm_120")
# The matrix instruction of an example by the first generation that has it.
INSTRUCTIONS = {"sm_70": "mma_m8n8k4_f16", "sm_75": "mma_m16n8k8_f16", "sm_90a": "mma_m16n8k16_f16"}
# Of an example whose loads and products are the copy engine's and warpgroups', the sizes that the engine can move.
BY_WARPGROUPS = {("09_gemm_tensor_core", "sm_90a"): ("wgmma_m64n256k16_f16", SIZES["09_gemm_tensor_core_sm90a"]),
                 ("10_flash_attention", "sm_90a"): ("wgmma_m64n64k16_f16_registers", SIZES["10_flash_attention"])}
PRODUCTS = ("09_gemm_tensor_core", "10_flash_attention", "11_gemm_level3")


@pytest.fixture(autouse=True)
def in_the_project(monkeypatch):
    monkeypatch.chdir(ROOT)


@pytest.mark.parametrize("arch", ARCHS)
@pytest.mark.parametrize("example", EXAMPLES)
def test_an_example_compiles(example, arch):
    """With NVRTC: no warning, no register that goes to memory."""
    toolchain = nvrtc.find()
    if arch.rstrip("a") not in toolchain.architectures():
        pytest.skip(f"NVRTC {toolchain.version} knows no {arch}; 12.9 knows all of them")
    file = Generated(example, "cuda")
    text = file.specialised(arch).source
    artifact = compile_text(text, toolchain, name=file.path.name, target="cuda", arch=arch)
    assert not artifact.findings
    assert artifact.resources.registers > 0 and artifact.resources.stack == 0


@pytest.mark.parametrize("arch", INSTRUCTIONS)
@pytest.mark.parametrize("example", PRODUCTS)
def test_a_product_by_the_instruction_of_its_generation(example, arch):
    file = Generated(example, "cuda")
    special = file.specialised(arch)
    instruction, sizes = BY_WARPGROUPS.get((example, arch), (INSTRUCTIONS[arch], SIZES[example]))
    assert instruction in special.source
    assert not wrong(file, special.kernel, special.source, sizes[RAGGED])
