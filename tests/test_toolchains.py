"""Compilers: found, run, and their messages turned into errors at the Python line."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from stand_ins import PyhipModules

from tilegen.build import clang_hip, cxx, hiprtc, lint, nvcc, nvrtc
from tilegen.build.toolchain import Artifact, Toolchain, compile_text
from tilegen.emit import templates
from tilegen.errors import TilegenError
from tilegen.runtime.backend import compile_contract
from tilegen.runtime.contract import read_contract
from tilegen.targets import hip as hip_target

SAMPLES = Path(__file__).parent / "samples"


@pytest.fixture(autouse=True, scope="module")
def cache_folder(tmp_path_factory: pytest.TempPathFactory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TILEGEN_CACHE_DIR", str(tmp_path_factory.mktemp("cache")))
        yield


def build(sample: str, toolchain: Toolchain, arch: str, *edits: tuple[str, str]) -> Artifact:
    text = (SAMPLES / sample).read_text()
    for old, new in edits:
        assert old in text
        text = text.replace(old, new)
    return compile_contract(text, read_contract(text, sample), toolchain, arch)


def refused(code: str, call: object, *arguments: object) -> TilegenError:
    with pytest.raises(TilegenError) as caught:
        call(*arguments)
    assert caught.value.code == code, caught.value
    return caught.value


@pytest.mark.parametrize("name", ["g++", "zig"])
def test_cxx_compiles_without_a_warning(name: str) -> None:
    first = build("scale_add.cpp", cxx.find(name, strict=True), "avx2")
    again = build("scale_add.cpp", cxx.find(name, strict=True), "avx2")
    assert first.path.read_bytes()[:4] == b"\x7fELF"
    assert first.path.parent.name.startswith("scale_add-cpu-avx2-")
    assert not first.cached and again.cached and again.path == first.path and first.findings == []
    assert first.source.read_text() == (SAMPLES / "scale_add.cpp").read_text()
    assert ("no OpenMP" in first.log) == (name == "zig")


def test_zig_links_the_runtime_library_where_needed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A library that loads as it is does not go through the driver's slow linking."""
    commands: list[tuple] = []
    monkeypatch.setattr(cxx, "compile_with", lambda command, source: commands.append(command) or "")
    monkeypatch.setattr(cxx, "_loads", lambda library: "needs" not in library.name)
    for name in ("plain", "needs"):
        (tmp_path / f"{name}.o").write_text("")
        cxx.find("zig").compile(tmp_path / f"{name}.cpp", tmp_path / f"{name}.so", "avx2")
    assert ["ld.lld" in c for c in commands] == [False, True, False, True, False]
    assert commands[-1][-2:] == ("needs.so", "needs.o") and "-shared" in commands[-1]


def test_an_error_in_cxx_is_at_the_python_line() -> None:
    error = refused("TG0302", build, "scale_add.cpp", cxx.find("g++"), "avx2", ("alpha * A", "beta * A"))
    assert error.message.startswith("g++ refused scale_add.cpp:19: 'beta' was not declared")
    assert (error.loc.file, error.loc.line) == ("scale.py", 9)
    log = Path(error.notes[-1].message.removeprefix("the compiler's log is in "))
    assert "beta" in log.read_text() and "beta * A" in (log.parent / "scale_add.cpp").read_text()


def test_the_python_line_after_a_hand_edit_that_moved_lines() -> None:
    error = refused("TG0302", build, "scale_add.cpp", cxx.find("g++"), "avx2",
                    ("alpha * A", "beta * A"), ("constexpr int BM", "\n\n\n\n\nconstexpr int BM"))
    assert "scale_add.cpp:24:" in error.message and error.loc.line == 9


def test_warnings_are_errors_only_when_strict() -> None:
    edit = ("const int blocks_m", "int unused; const int blocks_m")
    loose = build("scale_add.cpp", cxx.find("g++"), "avx2", edit)
    assert [(f.kind, f.line) for f in loose.findings] == [("warning", 12)]
    error = refused("TG0302", build, "scale_add.cpp", cxx.find("g++", True), "avx2", edit)
    assert "unused variable" in error.message


def test_unknown_arch_and_missing_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "avx512" in refused("TG0502", build, "scale_add.cpp", cxx.find("g++"), "avx9").hint
    assert "nosuch++ is not installed" in refused("TG0301", cxx.find, "nosuch++").message
    monkeypatch.setattr(cxx.shutil, "which", lambda name: None)
    monkeypatch.setattr(cxx.importlib.util, "find_spec", lambda name: None)
    assert "apt-get install g++" in refused("TG0301", cxx.find).hint


def test_cxx_and_cc_are_honoured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CXX", raising=False)
    monkeypatch.delenv("CC", raising=False)
    assert cxx.candidates()[0][0] == "g++"
    monkeypatch.setenv("CC", "/usr/bin/gcc-12 -m64")
    assert cxx.candidates()[0][1] == ("/usr/bin/g++-12", "-m64")
    monkeypatch.setenv("CC", "clang")
    assert cxx.candidates()[0][1] == ("clang++",)
    monkeypatch.setenv("CXX", f"{sys.executable} -m ziglang c++")
    assert cxx.find().command == (sys.executable, "-m", "ziglang", "c++") and not cxx.find().openmp


def test_a_compiler_that_does_not_work(tmp_path: Path) -> None:
    broken = tmp_path / "broken++"
    broken.write_text("#!/bin/sh\necho no licence\nexit 3\n")
    broken.chmod(0o700)
    assert "no licence" in refused("TG0301", cxx.find, str(broken)).message


def test_openmp_is_probed() -> None:
    assert cxx.has_openmp(("g++",))
    assert not cxx.has_openmp((sys.executable, "-m", "ziglang", "c++"))


@pytest.mark.parametrize("arch", ["sm_75", "sm_80", "sm_90a"])
def test_nvrtc_makes_a_cubin(arch: str) -> None:
    artifact = build("transpose.cu", nvrtc.find(), arch)
    assert artifact.path.suffix == ".cubin" and artifact.path.read_bytes()[:4] == b"\x7fELF"
    assert artifact.findings == []
    assert artifact.resources.registers > 0 and artifact.resources.spill_stores == 0


def test_nvrtc_errors() -> None:
    error = refused("TG0302", build, "transpose.cu", nvrtc.find(), "sm_80", ("__syncthreads", "__syncthread"))
    assert "identifier \"__syncthread\" is undefined" in error.message and error.loc.line == 9
    shared = ("extern __shared__ __align__(16) float A_shared[]", "__shared__ float A_shared[123456]")
    error = refused("TG0302", build, "transpose.cu", nvrtc.find(), "sm_80", shared)
    assert "uses too much shared data" in error.message and error.loc is None
    error = refused("TG0502", build, "transpose.cu", nvrtc.find(), "sm_33")
    assert "cannot compile for sm_33" in error.message and "sm_90" in error.hint


def test_nvrtc_that_is_not_there(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    nvrtc.find.cache_clear()
    monkeypatch.setattr(nvrtc, "_wheel_files", lambda: iter(()))
    monkeypatch.setattr(nvrtc, "_toolkit_files", lambda: iter((tmp_path / "libnvrtc.so.13",)))
    monkeypatch.setattr(nvrtc, "_SYSTEM_NAMES", ("libnvrtc-of-nobody.so",))
    assert "nvidia-cuda-nvrtc-cu12" in refused("TG0301", nvrtc.find).hint
    nvrtc.find.cache_clear()


def test_the_newest_nvrtc_comes_first(tmp_path: Path) -> None:
    for name in ("libnvrtc.so.12", "libnvrtc.so.13", "libnvrtc-builtins.so.13.0", "libnvrtc.alt.so.12"):
        (tmp_path / name).write_text("")
    assert [p.name for p in nvrtc._newest_first(iter([tmp_path, tmp_path / "none"]))] == [
        "libnvrtc.so.13", "libnvrtc.so.12"]


FAKE_NVCC = """#!/bin/sh
if [ "$1" = --version ]; then echo "Cuda compilation tools, release 12.4, V12.4.99"; exit 0; fi
echo "ptxas info    : Used 40 registers, 8 bytes stack frame" >&2
for word; do case $last in -o) out=$word;; esac; last=$word; done
echo "$@" > $out
"""


def test_nvcc_of_cuda_home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    command = tmp_path / "bin" / "nvcc"
    command.parent.mkdir()
    command.write_text(FAKE_NVCC)
    command.chmod(0o700)
    monkeypatch.setenv("CUDA_HOME", str(tmp_path))
    nvcc.find.cache_clear()
    found = nvcc.find()
    artifact = build("transpose.cu", found, "sm_80")
    nvcc.find.cache_clear()
    assert (found.command, found.version) == (str(command), "12.4.99") and artifact.resources.registers == 40
    assert artifact.path.read_text().split()[:3] == ["-cubin", "-arch=sm_80", "-O3"]


@pytest.mark.parametrize("arch", ["gfx90a", "gfx942", "gfx1100"])
def test_hip_compiles_without_rocm(arch: str) -> None:
    artifact = build("row_softmax.hip", clang_hip.find("zig"), arch)
    assembly = artifact.path.read_text()
    assert f'amdgcn-amd-amdhsa--{arch}"' in assembly and artifact.findings == []
    assert artifact.resources.registers > 0 and artifact.resources.shared == 32
    assert "global_atomic_add_f64" in assembly or arch == "gfx1100"


@pytest.mark.parametrize("arch", ["gfx90a", "gfx1100"])
def test_the_stub_header_has_every_function_of_the_target(arch: str) -> None:
    functions = hip_target.make(arch).functions
    pairs = {"pow", "fmod", "hypot", "fmin", "fmax", "min", "max", "atan2", "copysign"}
    ours = {path.stem for path in (templates.root() / "cuda" / "helpers").iterdir()}
    lines = []
    kinds = {"float32": "float", "float64": "double", "int32": "int", "int64": "long long"}
    for dtype, kind in kinds.items():
        for name in sorted(set(functions[dtype].values()) - ours):
            second = ", x[1]" if name.removesuffix("f") in pairs or name in pairs else ""
            lines.append(f"    {{ {kind}* x = ({kind}*)data; x[{len(lines) + 2}] = {name}(x[0]{second}); }}")
    body = "\n".join(lines)
    text = f'#include <hip/hip_runtime.h>\nextern "C" __global__ void all(void* data)\n{{\n{body}\n}}\n'
    artifact = compile_text(text, clang_hip.find("zig"), name="all", target="hip", arch=arch)
    assert artifact.findings == [] and "__ocml_tanh_f32" in artifact.path.read_text()


def test_maca_sources_are_checked_the_same_way() -> None:
    text = (SAMPLES / "row_softmax.hip").read_text().replace("<hip/hip_runtime.h>", "<mc_runtime.h>")
    artifact = compile_text(text, clang_hip.find("zig"), name="f", target="maca", arch="gfx942")
    assert artifact.resources.registers > 0


def test_hip_errors() -> None:
    error = refused("TG0302", build, "row_softmax.hip", clang_hip.find("zig"), "gfx90a", ("fmaxf", "fmaxg"))
    assert "undeclared identifier 'fmaxg'" in error.message and error.loc.line == 8
    assert "clang-99 is not installed" in refused("TG0301", clang_hip.find, "clang-99").message
    wide = ("atomicAdd(&total[row], sum)", "__builtin_amdgcn_mfma_f32_32x32x1f32(0, 0, {}, 0, 0, 0)")
    error = refused("TG0302", build, "row_softmax.hip", clang_hip.find("zig"), "gfx1100", wide)
    assert "mai-insts" in error.message


def test_hiprtc_through_pyhip(monkeypatch: pytest.MonkeyPatch) -> None:
    modules = PyhipModules()
    modules.install(monkeypatch)
    artifact = build("row_softmax.hip", hiprtc.find(), "gfx90a")
    assert artifact.path.read_bytes() == b"code object" and artifact.path.suffix == ".co"
    assert modules.options == ["--offload-arch=gfx90a", "-O3", "-std=c++17"]
    PyhipModules(refuse="row_softmax.hip:21:5: error: no such thing").install(monkeypatch)
    error = refused("TG0302", build, "row_softmax.hip", hiprtc.find(), "gfx942")
    assert error.message == "hiprtc refused row_softmax.hip:21: no such thing" and error.loc.line == 8


def test_pyhip_or_rocm_missing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(sys.modules, "pyhip", None)
    assert "tilegen[hip]" in refused("TG0304", hiprtc.find).hint
    monkeypatch.delitem(sys.modules, "pyhip")
    package = tmp_path / "pyhip"
    package.mkdir()
    (package / "__init__.py").write_text("raise RuntimeError('cant find libamdhip64.so')\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    assert "libamdhip64.so" in refused("TG0408", hiprtc.find).message


PTXAS_LOG = """\
ptxas info    : (C7508) Potential Performance Loss: 'setmaxnreg' ignored to maintain minimum register use.
ptxas info    : Compiling entry function 'matmul' for 'sm_90a'
ptxas info    : Function properties for matmul
    24 bytes stack frame, 16 bytes spill stores, 20 bytes spill loads
ptxas info    : Used 168 registers, used 3 barriers, 1024 bytes smem, 532 bytes cmem[0]
matmul.cu(12): warning #177-D: variable "x" was declared but never referenced
"""


def test_what_a_log_says() -> None:
    assert lint.resources(PTXAS_LOG) == lint.Resources(168, 16, 20, 24, 1024)
    found = {(f.kind, f.message.split(":")[0], f.line) for f in lint.findings(PTXAS_LOG)}
    assert found == {("performance", "C7508", 0), ("spill", "16 bytes spill stores, 20 bytes spill loads", 0),
                     ("warning", 'variable "x" was declared but never referenced', 12)}
    assert lint.resources("nothing here") is None and lint.findings("all is well\n") == []


def test_the_narrowest_range_of_the_map_decides() -> None:
    text = "\n// k.py:3  for\nfor\n// k.py:4  body\nbody\nend\n"
    origin = lint.Origin("k.cu", "k.py:1", {"3": (2, 6), "4": (4, 5), "lib.py:9": (5, 5)})
    assert [lint.python_line(text, line, origin).line for line in (3, 5, 6)] == [3, 4, 3]
    no_comments = lint.Origin("k.cu", "k.py:1", {"3": (1, 3), "lib.py:9": (2, 2)})
    assert str(lint.python_line("a\nb\nc\n", 2, no_comments)) == "lib.py:9:1"
    assert lint.python_line("a\nb\n", 2, lint.Origin("k.cu")) is None
