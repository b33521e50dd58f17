"""Every emitted file compiles without a warning, for several architectures of its target."""

import pytest
from generated_files import ARCHS, FILES, ROOT
from tilegen.build import clang_hip, cxx, nvrtc
from tilegen.build.toolchain import compile_text

CUDA_ARCHS = ("sm_75", "sm_80", "sm_90a")
HIP_ARCHS = ("gfx90a", "gfx942", "gfx1100")


def of(target):
    return [file for file in FILES if file.target == target]


@pytest.fixture(autouse=True)
def in_the_project(monkeypatch):
    monkeypatch.chdir(ROOT)


def compiled(file, text, toolchain, arch):
    return compile_text(text, toolchain, name=file.path.name, target=file.target, arch=arch)


@pytest.mark.parametrize("file, arch", [(file, arch) for file in of("cuda") for arch in CUDA_ARCHS
                                        if file.arch in (arch, ARCHS["cuda"])], ids=str)
def test_cuda(file, arch):
    """What is emitted for the arch, and what is committed, with NVRTC: no warning, no spill."""
    text = file.text if arch == file.arch else file.specialised(arch).source
    artifact = compiled(file, text, nvrtc.find(), arch)
    assert not artifact.findings
    assert artifact.resources.registers > 0 and artifact.resources.stack == 0


@pytest.mark.parametrize("file", of("cuda"), ids=str)
def test_the_committed_cuda_file_compiles_for_newer_gpus(file):
    assert not compiled(file, file.text, nvrtc.find(), "sm_90a").findings


@pytest.mark.parametrize("arch", HIP_ARCHS)
@pytest.mark.parametrize("file", of("hip"), ids=str)
def test_hip(file, arch):
    """To assembly with -O3: no warning, and no register that goes to memory."""
    text = file.text if arch == ARCHS["hip"] else file.specialised(arch).source
    artifact = compiled(file, text, clang_hip.find(), arch)
    assert not artifact.findings
    assert artifact.resources.registers > 0


@pytest.mark.parametrize("file", of("maca"), ids=str)
def test_maca_as_text_for_clang(file):
    """There is no public compiler for MACA: clang reads the text through a header that stands for MACA's."""
    assert not compiled(file, file.text, clang_hip.find(), "gfx942").findings


@pytest.mark.parametrize("compiler", ["g++", "zig"])
@pytest.mark.parametrize("file", of("cpu"), ids=str)
def test_cpp(file, compiler):
    """With -Wall -Wextra -Werror."""
    artifact = compiled(file, file.text, cxx.find(compiler, strict=True), ARCHS["cpu"])
    assert not artifact.findings


@pytest.mark.parametrize("file", of("cpu"), ids=str)
def test_the_stand_alone_part_of_a_cpp_file_compiles(file):
    text = "#define TILEGEN_MAIN\n" + file.text
    assert not compiled(file, text, cxx.find("g++", strict=True), ARCHS["cpu"]).findings
