"""Emitted files as callables: on the CPU, in the emulator, and through CuPy and pyhip."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy
import pytest
from stand_ins import (CudaError, CudaInterface, CupyModule, Dlpack, PyhipModules, Tensor, floats_at,
                       torch_module)

from tilegen import doctor
from tilegen.errors import TilegenError
from tilegen.runtime import cupy as cupy_launcher
from tilegen.runtime import hip as hip_launcher
from tilegen.runtime.load import load

SAMPLES = Path(__file__).parent / "samples"
SCALE, TRANSPOSE, SOFTMAX = (SAMPLES / name for name in ("scale_add.cpp", "transpose.cu", "row_softmax.hip"))
generator = numpy.random.default_rng(0)


@pytest.fixture(autouse=True, scope="module")
def cache_folder(tmp_path_factory: pytest.TempPathFactory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TILEGEN_CACHE_DIR", str(tmp_path_factory.mktemp("cache")))
        yield


def floats(*shape: int) -> numpy.ndarray:
    return generator.standard_normal(shape, dtype="float32")


def refused(code: str, call: object, *arguments: object, **named: object) -> TilegenError:
    with pytest.raises(TilegenError) as caught:
        call(*arguments, **named)
    assert caught.value.code == code, caught.value
    return caught.value


@pytest.mark.parametrize("m, n", [(32, 64), (37, 50), (1, 1), (0, 5), (5, 0)])
def test_a_cpu_file(m: int, n: int) -> None:
    kernel = load(SCALE)
    A, B = floats(m, n), floats(n)
    C = kernel(A, B, 2.5)
    assert C.dtype == "float32" and numpy.allclose(C, numpy.float32(2.5) * A + B, rtol=1e-6, atol=1e-6)


def test_the_ways_to_call() -> None:
    kernel = load(SCALE)
    A, B = floats(3, 4), floats(4)
    expected, C, D = kernel(A, B, 2.0), numpy.zeros((3, 4), "f"), numpy.zeros((3, 4), "f")
    assert kernel(A, B, C, 2.0) is None and (C == expected).all()
    assert kernel(A, B, 2.0, out=D) is D and (D == expected).all()
    assert (kernel(A, B, alpha=2.0) == expected).all() and (kernel(B=B, A=A, alpha=2) == expected).all()
    bound = kernel.bind(A, B, 2.0)
    A[:] = 0
    assert (bound() == B).all()


@pytest.mark.parametrize("arguments, named, words", [
    ((), {}, "argument A is missing"), ((1, 2, 3, 4, 5), {}, "takes 4 positional arguments, not 5"),
    ((1, 2), {}, "argument alpha is missing"), ((1, 2, 3), {"beta": 1}, "has no argument beta"),
    ((1, 2, 3, 4), {"out": 5}, "out= has 1 arrays, but 0 outputs are left")])
def test_wrong_calls(arguments: tuple, named: dict, words: str) -> None:
    error = refused("TG0401", load(SCALE), *arguments, **named)
    assert words in error.message and "scale_add(A, B, C, alpha) or C = scale_add(A, B, alpha)" in error.hint


def test_several_outputs_and_none_to_go_by() -> None:
    text = SCALE.read_text().replace('"shape": ["N"], "access": "read"', '"shape": ["N"], "access": "write"')
    text = text.replace("const float* __restrict__ B", "float* __restrict__ B")
    text = text.replace("+ B[col];", "; B[0] = 7;")
    C_and_B = load(text)(floats(3, 4), 1.0)
    assert isinstance(C_and_B, tuple) and [c.shape for c in C_and_B] == [(4,), (3, 4)] and C_and_B[0][0] == 7
    text = text.replace('["M", "N"], "access": "read"', '["M", "N"], "access": "write"')
    assert "no array to allocate" in refused("TG0401", load(text), alpha=1.0, M=3, N=4).message


def test_a_turned_knob_changes_kernel_and_launch() -> None:
    text = SCALE.read_text()
    edited = load(text.replace("BM = 16;", "BM = 5;").replace("8 * 4;", "8 * 2;"))
    assert edited.knobs == {"BM": 5, "BN": 16} and load(text).knobs == {"BM": 16, "BN": 32}
    A, B = floats(11, 40), floats(40)
    assert numpy.allclose(edited(A, B, 1.5), 1.5 * A + B, atol=1e-6)
    assert edited.artifact.path != load(text).artifact.path


def test_files_are_known_by_their_content(tmp_path: Path) -> None:
    renamed = tmp_path / "kernel.txt"
    renamed.write_text(SCALE.read_text())
    kernel = load(str(renamed))
    assert (kernel(floats(2, 2), floats(2), 0.0)).shape == (2, 2) and kernel.contract.target == "cpu"
    assert kernel.source == SCALE.read_text() and repr(kernel) == "<scale_add(A, B, C, alpha) for cpu avx2>"


def test_files_that_cannot_be_loaded(tmp_path: Path) -> None:
    assert "No such file" in refused("TG0504", load, tmp_path / "none.cu").message
    (tmp_path / "binary.cu").write_bytes(b"\xff\xfe\x00")
    assert "not UTF-8" in refused("TG0504", load, tmp_path / "binary.cu").message
    (tmp_path / "plain.cu").write_text("int x;\n")
    assert "plain.cu has no launch contract" in refused("TG0701", load, tmp_path / "plain.cu").message
    other = SCALE.read_text().replace('"target": "cpu"', '"target": "maca"')
    assert "is for maca and cannot be launched" in refused("TG0502", load, other).message
    assert "with the target cuda" in refused("TG0502", load, SCALE, target="cuda").message
    arguments = (floats(1, 1), floats(1), 1.0)
    assert "not installed" in refused("TG0301", load(SCALE, compiler="nosuch++"), *arguments).message
    other = SCALE.read_text().replace('"entry": "scale_add"', '"entry": "f"')
    assert "cannot load" in refused("TG0411", load(other), *arguments).message


def test_an_error_of_the_compiler_names_the_users_file(tmp_path: Path) -> None:
    edited = tmp_path / "edited.cpp"
    edited.write_text(SCALE.read_text().replace("alpha * A", "beta * A"))
    error = refused("TG0302", load(edited), floats(1, 1), floats(1), 1.0)
    assert f"{edited}:19: 'beta' was not declared" in error.message and error.loc.line == 9


def test_a_broken_cache_entry_is_built_again() -> None:
    text = SCALE.read_text() + "// another\n"
    first = load(text).artifact
    first.path.write_bytes(first.path.read_bytes()[:100])
    again = load(text)
    assert not again.artifact.cached and again(floats(1, 1), floats(1), 0.0).shape == (1, 1)


def test_checks_are_made_at_every_call() -> None:
    kernel = load(SCALE)
    A, B, memory = floats(2, 3), floats(3), numpy.zeros(28, "uint8")
    kernel(A, B, memory[:24].view("f").reshape(2, 3), 1.0)
    assert refused("TG0406", kernel, A, B, memory[1:25].view("f").reshape(2, 3), 1.0)
    assert refused("TG0413", kernel, A, A[0], A, 1.0)


def test_other_libraries_on_the_cpu(monkeypatch: pytest.MonkeyPatch) -> None:
    kernel = load(SCALE)
    A, B = floats(3, 5), floats(5)
    expected = kernel(A, B, 3.0)
    assert (kernel(Dlpack(A), Dlpack(B), 3.0) == expected).all()
    monkeypatch.setitem(sys.modules, "torch", torch_module())
    result = kernel(Tensor(A), B, 3.0)
    assert type(result) is Tensor and (result.array == expected).all()
    assert "argument B is on GPU 0" in refused("TG0405", kernel, A, CudaInterface(B), 3.0).message
    assert "A.cpu()" in refused("TG0405", kernel, Tensor(A, "cuda"), B, A * 0, 3.0).hint
    assert refused("TG0405", kernel, A, B, 3.0, stream=5)


def test_a_processor_without_avx2(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tilegen.runtime.cpu.has_avx2", lambda: False)
    assert "AVX2" in refused("TG0408", load(SCALE), floats(1, 1), floats(1), 1.0).message


# ---- The emulator ------------------------------------------------------------------------------
@pytest.mark.parametrize("m, n", [(40, 33), (1, 1), (0, 3)])
def test_a_cuda_file_in_the_emulator(m: int, n: int) -> None:
    A = floats(m, n)
    assert (load(TRANSPOSE, target="emulator")(A) == A.T).all()


def test_a_hip_file_in_the_emulator() -> None:
    X, total = floats(3, 70), numpy.zeros(3)
    Y = load(SOFTMAX, target="emulator")(X, total=total)
    assert numpy.allclose(Y / total[:, None], numpy.exp(X) / numpy.exp(X).sum(1, keepdims=True), rtol=1e-5)
    assert "is for cpu" in refused("TG0502", load(SCALE, target="emulator"), X, X[0], 1.0).message


# ---- CUDA, through a stand-in for CuPy ---------------------------------------------------------
def transpose(source: int, result: int, m: numpy.ndarray, n: numpy.ndarray) -> None:
    m, n = int(m.view("int32")[0]), int(n.view("int32")[0])
    floats_at(result, m * n).reshape(n, m)[:] = floats_at(source, m * n).reshape(m, n).T


@pytest.fixture
def cupy(monkeypatch: pytest.MonkeyPatch) -> CupyModule:
    module = CupyModule(transpose)
    monkeypatch.setitem(sys.modules, "cupy", module)
    return module


def test_numpy_arrays_through_cupy(cupy: CupyModule) -> None:
    A = floats(40, 70)
    B = load(TRANSPOSE)(A)
    assert type(B) is numpy.ndarray and (B == A.T).all()
    launch = cupy.launches[0]
    assert (launch.grid, launch.block, launch.shared, launch.stream) == ((3, 2, 1), (32, 8, 1), 4224, 7)
    assert [c for c in cupy.calls if c[0] != "function"] == [
        ("to device", A.nbytes, 7), ("to host", A.nbytes, 7), ("synchronize", 7)]


def test_an_output_that_the_caller_gave_is_copied_in_too(cupy: CupyModule) -> None:
    cupy.run = None
    B = floats(4, 3)
    before = B.copy()
    load(TRANSPOSE)(floats(3, 4), B)
    assert (B == before).all() and [c[0] for c in cupy.calls].count("to device") == 2


def test_gpu_arrays_are_not_copied(cupy: CupyModule, monkeypatch: pytest.MonkeyPatch) -> None:
    A, B = floats(3, 4), floats(4, 3)
    monkeypatch.setitem(sys.modules, "torch", torch_module(stream=33))
    kernel = load(TRANSPOSE)
    result = kernel(Tensor(A, "cuda", 0))
    assert type(result) is Tensor and result.device.type == "cuda" and (result.array == A.T).all()
    assert cupy.launches[0].stream == 33
    assert kernel(CudaInterface(A, stream=5), CudaInterface(B)) is None and (B == A.T).all()
    assert [c[0] for c in cupy.calls] == ["function", "record", "wait"]
    error = refused("TG0405", kernel, Tensor(A, "cuda", 0), Tensor(B, "cuda", 1))
    assert "argument A is on GPU 0 and argument B is on GPU 1" in error.message


@pytest.mark.parametrize("stream, address", [
    (12, 12), (type("S", (), {"ptr": 13})(), 13), (type("S", (), {"cuda_stream": 14})(), 14),
    (type("S", (), {"__cuda_stream__": lambda self: (0, 15)})(), 15)])
def test_streams(cupy: CupyModule, stream: object, address: int) -> None:
    load(TRANSPOSE)(floats(3, 4), stream=stream)
    assert cupy.launches[0].stream == address
    assert "stream= is a str" in refused("TG0407", load(TRANSPOSE), floats(3, 4), stream="s").message


def test_a_prepared_call_copies_at_every_launch(cupy: CupyModule) -> None:
    A = floats(3, 4)
    bound = load(TRANSPOSE).bind(A)
    A[:] = 1
    assert (bound() == 1).all()
    A[:] = 2
    assert (bound() == 2).all() and len(cupy.launches) == 2


def test_more_than_48_kilobytes_of_shared_memory(cupy: CupyModule) -> None:
    text = TRANSPOSE.read_text()
    kernel = load(text.replace("STRIDE * 4;", "STRIDE * 4 + 50000;"))
    kernel(floats(3, 4))
    kernel(floats(3, 4))
    assert [launch.shared for launch in cupy.launches] == [54224, 54224]
    assert kernel._kernel.functions[0, kernel.contract.entry].max_dynamic_shared_size_bytes == 54224
    huge = text.replace("STRIDE * 4;", "STRIDE * 4 + 300000;").replace("static_assert", "// static_assert")
    assert "304224 bytes of shared memory per block, but GPU 0 has 232448" in refused(
        "TG0411", load(huge), floats(3, 4)).message


def test_launches_that_no_gpu_takes(cupy: CupyModule) -> None:
    text = TRANSPOSE.read_text()
    blocks = text.replace('"block": ["TILE", "ROWS", "1"]', '"block": "4 * TILE * ROWS + 1"')
    assert "a block has 1025 threads" in refused("TG0411", load(blocks), floats(1, 1)).message
    grid = text.replace('"ceildiv(M, TILE)"', '"70000 * M"')
    assert "grid dimension 1 is 70000, more than 65535" in refused("TG0411", load(grid), floats(1, 1)).message
    cluster = text.replace('"block":', '"cluster": ["2"], "block":')
    assert "not a multiple of the cluster's 2" in refused("TG0411", load(cluster), floats(1, 1)).message

    def fail(*arguments: object) -> None:
        raise CudaError("CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES")
    cupy.run = fail
    assert "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES" in refused("TG0411", load(TRANSPOSE), floats(1, 1)).message


def test_a_cubin_that_the_gpu_does_not_take(cupy: CupyModule) -> None:
    def fail(path: str) -> None:
        raise CudaError("CUDA_ERROR_NO_BINARY_FOR_GPU")
    cupy.RawModule = fail
    kernel = load(TRANSPOSE, arch="sm_80")
    assert "CUDA_ERROR_NO_BINARY_FOR_GPU" in refused("TG0408", kernel, floats(1, 1)).message


def test_empty_arrays_are_not_launched(cupy: CupyModule) -> None:
    assert load(TRANSPOSE)(floats(0, 4)).shape == (4, 0) and cupy.launches == []


def test_the_arch_follows_the_device(cupy: CupyModule) -> None:
    assert "-sm_90-" in load(TRANSPOSE).artifact.path.parent.name
    assert "-sm_80-" in load(TRANSPOSE, arch="sm_80").artifact.path.parent.name
    assert cupy_launcher.device_arch("sm_90a") == "sm_90a" and cupy_launcher.device_arch("sm_90") == "sm_90"
    assert "made for sm_100" in refused("TG0408", cupy_launcher.device_arch, "sm_100").message
    cupy.capability = "120"
    assert cupy_launcher.device_arch("sm_90") == "sm_120"
    assert "emit the kernel with -a sm_120" in refused("TG0408", cupy_launcher.device_arch, "sm_90a").hint


def test_cuda_without_cupy_or_gpu(cupy: CupyModule, monkeypatch: pytest.MonkeyPatch) -> None:
    cupy.devices = 0
    kernel = load(TRANSPOSE)
    error = refused("TG0408", kernel, floats(3, 4))
    assert "cudaErrorNoDevice" in error.message and "-t cpu" in error.hint
    assert kernel.resources.registers > 0 and "-sm_75-" in kernel.artifact.path.parent.name
    monkeypatch.setitem(sys.modules, "cupy", None)
    assert "tilegen[cuda12]" in refused("TG0304", load(TRANSPOSE), floats(3, 4)).hint
    wrong = load(TRANSPOSE, compiler="g++")
    assert "is no CUDA compiler" in refused("TG0301", getattr, wrong, "artifact").message


# ---- HIP, through a stand-in for pyhip ---------------------------------------------------------
def test_hip_through_pyhip(monkeypatch: pytest.MonkeyPatch) -> None:
    def softmax(packed: object) -> None:
        rows, columns = packed.argument3, packed.argument4
        floats_at(packed.argument1, rows * columns)[:] = 2 * floats_at(packed.argument0, rows * columns)
    modules = PyhipModules(softmax)
    modules.install(monkeypatch)
    X, total = floats(5, 9), numpy.zeros(5)
    kernel = load(SOFTMAX)
    assert (kernel(X, total=total) == 2 * X).all()
    assert modules.launches[0][:9] == ("row_softmax", 5, 1, 1, 256, 1, 1, 0, 0) and modules.freed == 3
    assert "-gfx90a-" in load(SOFTMAX, arch="gfx90a").artifact.path.parent.name
    kernel(X, total=total, stream=21)
    assert modules.launches[1][8] == 21


def test_hip_without_a_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    PyhipModules(devices=0).install(monkeypatch)
    assert "no AMD GPU" in refused("TG0408", load(SOFTMAX), floats(2, 2), total=numpy.zeros(2)).message
    monkeypatch.setitem(sys.modules, "pyhip", None)
    assert "tilegen[hip]" in refused("TG0304", hip_launcher.require_device).hint


# ---- What is installed -------------------------------------------------------------------------
def test_doctor(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cupy", None)
    checks = {check.name: check for check in doctor.collect()}
    assert checks["g++"].ok and "with OpenMP" in checks["g++"].detail and checks["Python"].ok
    assert not checks["NVIDIA GPU"].ok and "tilegen[cuda12]" in checks["NVIDIA GPU"].fix
    assert checks["NVRTC"].ok and "sm_" in checks["NVRTC"].detail
    assert checks["cache"].ok and all(check.ok or check.fix for check in checks.values())


# ---- A real GPU --------------------------------------------------------------------------------
@pytest.mark.gpu
@pytest.mark.parametrize("m, n", [(1000, 777), (1, 1), (0, 5)])
def test_gpu_numpy_cupy_and_torch(m: int, n: int) -> None:
    import cupy
    import torch
    kernel, A = load(TRANSPOSE), floats(m, n)
    assert (kernel(A) == A.T).all()
    through_torch = (lambda a: torch.from_numpy(a).cuda(), lambda t: t.cpu().numpy())
    for to, back in ((cupy.asarray, cupy.asnumpy), through_torch):
        result = kernel(to(A))
        assert type(result) is type(to(A)) and (back(result) == A.T).all()
        out = to(numpy.zeros((n, m), "float32"))
        kernel(to(A), out)
        assert (back(out) == A.T).all()


@pytest.mark.gpu
def test_gpu_streams_and_graphs() -> None:
    import cupy
    import torch
    kernel, A = load(TRANSPOSE), floats(300, 200)
    given = cupy.asarray(A)
    with cupy.cuda.Stream(non_blocking=True) as stream:
        result = kernel(given)
        stream.synchronize()
    assert (cupy.asnumpy(result) == A.T).all()
    tensor = torch.from_numpy(A).cuda()
    bound = kernel.bind(tensor)
    bound()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        bound()
    tensor.fill_(3)
    graph.replay()
    torch.cuda.synchronize()
    assert (bound.result == 3).all()


@pytest.mark.gpu
def test_gpu_large_shared_memory_and_nvcc() -> None:
    text = TRANSPOSE.read_text().replace("STRIDE * 4;", "STRIDE * 4 + 50000;")
    A = floats(100, 60)
    for compiler in ("nvrtc", "nvcc"):
        assert (load(text, compiler=compiler)(A) == A.T).all()
