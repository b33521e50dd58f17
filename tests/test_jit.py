"""`@tilegen.jit`: calling, specialising, looking at, and saving kernels; settings; edited files."""

import os
import subprocess
import sys
from pathlib import Path

import numpy
import pytest
from stand_ins import CudaInterface

import tilegen
import tilegen.language as T
from tilegen import placement
from tilegen.errors import TilegenError

ROOT = Path(__file__).resolve().parent.parent


@tilegen.jit
def scale(A: T.Tensor[("M", "N"), "float32"], B: T.Tensor[("M", "N"), "float32"], BM=4, BN=64, factor=2.0):
    with T.Kernel(T.ceildiv(N, BN), T.ceildiv(M, BM), threads=64) as (bx, by):
        for i, j in T.Parallel(BM, BN):
            B[by * BM + i, bx * BN + j] = A[by * BM + i, bx * BN + j] * factor


@tilegen.jit
def shifted(alpha: T.float32, x: T.Tensor[("n",), "float32"], BN=T.by_target(128, cpu=256)):
    y = T.empty((n,), "float32")
    with T.Kernel(T.ceildiv(n, BN), threads=64) as bx:
        for i in T.Parallel(BN):
            y[bx * BN + i] = x[bx * BN + i] + alpha


@tilegen.jit(target="cpu")
def matmul(M, N, K, block_M=32, block_N=32, block_K=16, dtype="float32"):
    @T.prim_func
    def kernel(A: T.Tensor((M, K), dtype), B: T.Tensor((K, N), dtype), C: T.Tensor((M, N), "float32")):
        with T.Kernel(T.ceildiv(N, block_N), T.ceildiv(M, block_M), threads=64) as (bx, by):
            A_shared = T.alloc_shared((block_M, block_K), dtype)
            B_shared = T.alloc_shared((block_K, block_N), dtype)
            C_local = T.alloc_fragment((block_M, block_N), "float32")
            T.clear(C_local)
            for ko in T.Pipelined(T.ceildiv(K, block_K), num_stages=2):
                T.copy(A[by * block_M, ko * block_K], A_shared)
                T.copy(B[ko * block_K, bx * block_N], B_shared)
                T.gemm(A_shared, B_shared, C_local)
            T.copy(C_local, C[by * block_M, bx * block_N])
    return kernel


generator = numpy.random.default_rng(0)


def floats(*shape):
    return generator.uniform(-1, 1, shape).astype("float32")


@pytest.fixture(autouse=True)
def on_the_cpu(monkeypatch):
    """No test depends on the GPU or the settings of the machine."""
    for name in ("TARGET", "ARCH", "KEEP"):
        monkeypatch.delenv(f"TILEGEN_{name}", raising=False)
    monkeypatch.setattr(placement, "gpu", lambda: None)
    yield
    for name in tilegen.config.NAMES:
        setattr(tilegen.config, name, None)


# ---- Calling -------------------------------------------------------------------------------------
def test_all_arguments_or_without_outputs():
    A, B = floats(5, 70), numpy.zeros((5, 70), "float32")
    assert scale(A, B) is None
    assert numpy.array_equal(B, 2 * A)
    assert numpy.array_equal(scale(A), 2 * A)
    given = numpy.empty_like(A)
    assert scale(A, out=given) is given
    assert numpy.array_equal(given, 2 * A)


def test_knobs_by_name_and_in_their_place():
    A, B = floats(5, 70), numpy.zeros((5, 70), "float32")
    assert numpy.array_equal(scale(A, factor=3.0, BM=1), 3 * A)
    scale(A, B, 1, 32, 5.0)
    assert numpy.array_equal(B, 5 * A)
    assert numpy.array_equal(scale(A), 2 * A), "the values of one call are not those of the next"


def test_scalars_and_outputs_of_the_body():
    x = floats(300)
    assert numpy.array_equal(shifted(0.5, x), x + numpy.float32(0.5))
    assert numpy.array_equal(shifted(x=x, alpha=0.25, BN=64), x + numpy.float32(0.25))


def test_arguments_by_name():
    A = floats(5, 70)
    assert numpy.array_equal(scale(A=A), 2 * A)
    B = numpy.zeros_like(A)
    scale(B=B, A=A)
    assert numpy.array_equal(B, 2 * A)


@pytest.mark.parametrize("call, code, text", [
    (lambda A: scale(A, BX=3), "TG0503", "BX"),
    (lambda A: scale(A, A, A, A, A, A), "TG0401", "positional"),
    (lambda A: scale(), "TG0401", "A is missing"),
    (lambda A: scale(A.astype("float64")), "TG0402", "float64"),
    (lambda A: scale(A[:, ::2]), "TG0404", "not contiguous"),
    (lambda A: scale(A, stream=3), "TG0405", "stream"),
    (lambda A: matmul(A, A, A), "TG0401", "makes kernels"),
    (lambda A: matmul(8, 8), "TG0501", "K"),
    (lambda A: matmul(1, 2, 3, 4, 5, 6, 7, 8), "TG0401", "takes 7"),
    (lambda A: matmul(8, 8, 8, block=3)(A, A), "TG0503", "block"),
    (lambda A: scale.on("vax"), "TG0502", "vax"),
    (lambda A: tilegen.jit(scale), "TG0005", "twice"),
    (lambda A: tilegen.jit(target="cude"), None, ""),
    (lambda A: tilegen.jit(target="cude")(scale.__wrapped__), "TG0502", "cude"),
    (lambda A: tilegen.jit(out_idx=[-1]), "TG0005", "out_idx"),
])
def test_mistakes(call, code, text):
    if code is None:
        call(None)              # nothing is looked at before there is a function
        return
    with pytest.raises(TilegenError) as caught:
        call(floats(8, 8))
    assert caught.value.code == code and text in str(caught.value)


def test_sizes_become_constants():
    kernel = scale.specialize(M=4, N=8)
    assert not kernel.ir.sizes and "constexpr int N = 8;" in kernel.emit("cuda")
    assert numpy.array_equal(kernel(A := floats(4, 8)), 2 * A)
    with pytest.raises(TilegenError, match="TG0403"):
        kernel(floats(4, 9))


def test_bind():
    A, B = floats(5, 70), numpy.zeros((5, 70), "float32")
    bound = scale.bind(A, B, factor=4.0)
    assert not B.any()
    bound()
    assert numpy.array_equal(B, 4 * A)


def test_a_second_call_neither_parses_nor_loads():
    A, B = floats(5, 70), numpy.zeros((5, 70), "float32")
    kernel = scale.specialize(BM=2)
    kernel(A, B)
    first = dict(kernel._specialised)
    kernel(A, B)
    assert kernel._specialised == first and len(kernel._ready) == 1


# ---- Factories -----------------------------------------------------------------------------------
def test_factory():
    A, B = floats(40, 24), floats(24, 36)
    kernel = matmul(40, 36, 24, block_M=16)
    assert numpy.allclose(kernel(A, B), A @ B, atol=1e-5)
    assert numpy.allclose(kernel(A, B, block_K=8), A @ B, atol=1e-5)
    with pytest.raises(TilegenError, match="TG0403"):
        kernel(B, A)


def test_factory_with_dynamic_sizes_and_other_values():
    kernel = matmul("dynamic", 36, 24, dtype="float16")
    A, B = floats(7, 24).astype("float16"), floats(24, 36).astype("float16")
    assert numpy.allclose(kernel(A, B), A.astype("float32") @ B.astype("float32"), atol=1e-3)
    assert "int M" in kernel.emit("cuda")


# ---- Places --------------------------------------------------------------------------------------
@pytest.mark.parametrize("place", ["cpu", "emulator", "interpreter"])
def test_places_agree(place):
    A, B = floats(40, 24), floats(24, 36)
    assert numpy.allclose(matmul(40, 36, 24).on(place)(A, B), A @ B, atol=1e-5)


def test_interpret():
    x = floats(300)
    assert numpy.array_equal(tilegen.interpret(shifted)(0.5, x), x + numpy.float32(0.5))
    assert numpy.array_equal(tilegen.interpret(shifted.ir)(0.5, x), x + numpy.float32(0.5))
    with pytest.raises(TilegenError, match="TG0402"):
        tilegen.interpret(shifted)(0.5, x.astype("int32"))


def test_the_memory_of_an_argument_decides_the_target():
    memory = CudaInterface(floats(8))
    assert placement.for_arguments([2.0, floats(8)]).name == "cpu"
    assert placement.for_arguments([2.0, floats(8), memory], "sm_75").arch == "sm_75"
    tilegen.config.target = "hip"
    assert placement.for_arguments([memory]).name == "hip", "a setting wins"


def test_settings_choose_target_and_arch(monkeypatch):
    assert scale.source == scale.emit("cpu")
    monkeypatch.setenv("TILEGEN_TARGET", "cuda")
    monkeypatch.setenv("TILEGEN_ARCH", "sm_75")
    assert "for cuda sm_75" in scale.source
    tilegen.config.arch = "sm_86"
    assert "for cuda sm_86" in scale.source
    assert "for cpu avx2" in scale.emit("cpu"), "an arch of another target is not meant"
    assert "for cuda sm_90" in scale.emit("cuda", "sm_90")
    tilegen.config.arch = "sm_1"
    with pytest.raises(TilegenError, match="TG0502"):
        scale.source


def test_what_runs_is_made_for_the_gpu_here(monkeypatch):
    monkeypatch.setattr(placement, "_present_arch", lambda target: "sm_90a" if target == "cuda" else None)
    kernel = tilegen.jit(scale.__wrapped__, target="cuda")
    assert "for cuda sm_90a" in kernel.source and "for cuda sm_80" in kernel.emit("cuda")
    assert "for cuda sm_75" in tilegen.jit(scale.__wrapped__, target="cuda", arch="sm_75").source
    monkeypatch.setattr(placement, "gpu", lambda: "cuda")
    assert "for cuda sm_90a" in scale.source and "for cpu avx2" in scale.emit("cpu")


def test_a_changed_setting_reaches_a_kernel_that_has_run():
    A = floats(5, 70)
    kernel = scale.specialize(BM=2)
    kernel(A)
    tilegen.config.target = "hip"
    with pytest.raises(TilegenError) as caught:
        kernel(A)
    assert caught.value.code in ("TG0304", "TG0408", "TG0301")


def test_settings_are_checked(monkeypatch):
    with pytest.raises(TilegenError, match="did you mean target"):
        tilegen.config.tarbet = "cpu"
    with pytest.raises(TilegenError, match="positive"):
        tilegen.config.jobs = 0
    monkeypatch.setenv("TILEGEN_JOBS", "many")
    with pytest.raises(TilegenError, match="TILEGEN_JOBS"):
        tilegen.config.jobs
    tilegen.config.jobs = "3"
    assert tilegen.config.jobs == 3


def test_unknown_variables_warn(monkeypatch):
    monkeypatch.setenv("TILEGEN_ARHC", "sm_80")
    with pytest.warns(UserWarning, match="did you mean TILEGEN_ARCH"):
        tilegen.config.warn_of_unknown_variables()


def test_keep(tmp_path):
    tilegen.config.keep = str(tmp_path / "kept")
    kernel = scale.specialize(BM=3)
    kernel(floats(4, 4))
    kept, = (tmp_path / "kept").iterdir()
    assert kept.read_text() == kernel.source and kept.name.startswith("scale-avx2-")


# ---- Looking -------------------------------------------------------------------------------------
def test_source_needs_no_gpu(capsys):
    text = scale.emit("cuda", "sm_80", BM=8)
    assert "constexpr int BM = 8;" in text and "for cuda sm_80" in text
    scale.show()
    assert capsys.readouterr().out == scale.source
    assert "<pre" in scale._repr_html_() and "constexpr" in scale._repr_html_()
    assert repr(scale).startswith("<kernel scale at test_jit.py:")


def test_explain_names_lines_and_reasons():
    text = matmul(64, 64, 64).explain("cuda")
    line = Path(__file__).read_text().splitlines().index("                T.gemm(A_shared, B_shared, C_local)") + 1
    assert f"test_jit.py:{line}  T.gemm(A_shared, B_shared, C_local)" in text
    assert "gemm: " in text.split(f"test_jit.py:{line}  ")[1]


def test_compile_builds_now():
    loaded = tilegen.compile(matmul, target="cpu", M=8, N=8, K=8)
    assert loaded.artifact.path.is_file()
    assert tilegen.compile(scale.__wrapped__, target="cpu")(A := floats(3, 3)).tolist() == (2 * A).tolist()


def test_save(tmp_path):
    file = scale.save(tmp_path / "scale.cu")
    assert file.read_text() == scale.emit("cuda"), "the suffix decides the target"
    scale.save(file)                                            # the same content
    file.write_text("mine")
    with pytest.raises(TilegenError, match="TG0504"):
        scale.save(file)
    assert file.read_text() == "mine"
    scale.save(file, overwrite=True)
    assert sorted(f.name for f in tmp_path.iterdir()) == [".tilegen", "scale.cu"], "no temporary file stays"
    loaded = tilegen.load(scale.save(tmp_path / "scale.cpp"))
    assert numpy.array_equal(loaded(A := floats(5, 70)), 2 * A)
    with pytest.raises(TilegenError, match="TG0504"):
        scale.save(tmp_path / "none" / "scale.cu")


def test_outputs_are_checked():
    function = scale.__wrapped__
    assert tilegen.jit(function, target="cpu", out=[-1])(A := floats(4, 4)).tolist() == (2 * A).tolist()
    for wrong in ("A", 0, "Z", 7):
        with pytest.raises(TilegenError, match="TG0005"):
            tilegen.jit(function, target="cpu", out=wrong).source


def test_regenerate_command_has_the_values():
    text = matmul(64, 32, "dynamic", block_K=8).emit("cuda", "sm_80")
    header = " ".join(text.split("Work")[0].replace("//", " ").split())
    assert ("tilegen emit test_jit.py:matmul -t cuda -a sm_80 -D M=64 -D N=32 -D K=dynamic -D block_K=8 "
            "-o matmul.cu") in header


def test_two_hash_seeds_give_the_same_bytes():
    code = ("from tilegen import kernel_files; m = kernel_files.find('examples/06_gemm.py')\n"
            "for t in ('cuda', 'hip', 'cpu'): print(m.emit(t), m.explain(t))")
    texts = {subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True,
                            env={"PYTHONHASHSEED": seed, "PYTHONPATH": str(ROOT), "PATH": "/usr/bin:/bin"}).stdout
             for seed in ("0", "1", "12345")}
    assert len(texts) == 1 and len(texts.pop()) > 1000


# ---- Edited files --------------------------------------------------------------------------------
def test_an_edited_file_runs_in_place_of_the_kernel(tmp_path, capsys):
    file = scale.save(tmp_path / "scale.cpp")
    edited = tilegen.jit(scale.__wrapped__, source=file)
    A = floats(5, 70)
    assert numpy.array_equal(edited(A), 2 * A)
    assert capsys.readouterr().err == ""
    file.write_text(file.read_text().replace("factor = 2.0f", "factor = 3.0f"))
    assert numpy.array_equal(edited(A), 3 * A), "a changed file is loaded again"
    assert edited.source == file.read_text() and edited.emit("cpu") == scale.emit("cpu")
    with pytest.raises(TilegenError, match="knobs are in that file"):
        edited(A, BM=2)


def test_a_change_is_seen_whatever_the_times_say(tmp_path):
    """Content decides: not the time of the last write, which an editor or `cp -p` may set back."""
    file = scale.save(tmp_path / "scale.cpp")
    edited, A, times = tilegen.jit(scale.__wrapped__, source=file), floats(5, 70), file.stat()
    for factor in (2, 3, 4):
        file.write_text(file.read_text().replace(f"factor = {factor - 1}.0f", f"factor = {factor}.0f"))
        os.utime(file, ns=(times.st_atime_ns, times.st_mtime_ns))
        assert numpy.array_equal(edited(A), factor * A)
    first = edited._file.loaded()
    file.write_text(file.read_text())
    assert edited._file.loaded() is first, "the same content is not loaded again"


def test_the_values_that_a_file_was_emitted_with_are_no_change_of_the_python(tmp_path, capsys):
    file = scale.specialize(BM=2).save(tmp_path / "scale.cpp")
    assert "-D BM=2" in file.read_text()
    A = floats(4, 4)
    assert numpy.array_equal(tilegen.jit(scale.__wrapped__, source=file)(A), 2 * A)
    assert capsys.readouterr().err == ""
    file.write_text(file.read_text().replace("-D BM=2", "-D GONE=2"))
    tilegen.jit(scale.__wrapped__, source=file)(floats(4, 4))
    assert "was emitted from an earlier" in capsys.readouterr().err


def test_an_edited_file_of_an_earlier_kernel_is_told_once(tmp_path, capsys):
    file = scale.save(tmp_path / "scale.cpp")
    file.write_text(file.read_text().replace('"ir": "sha256:', '"ir": "sha256:0'))
    edited = tilegen.jit(scale.__wrapped__, source=file)
    edited(floats(4, 4))
    edited(floats(4, 4))
    assert capsys.readouterr().err.count("was emitted from an earlier test_jit.py") == 1


def test_a_missing_edited_file_is_an_error_when_called(tmp_path):
    edited = tilegen.jit(scale.__wrapped__, source=tmp_path / "none.cu")
    assert "for cuda" in edited.emit("cuda")
    with pytest.raises(TilegenError, match="TG0504"):
        edited(floats(4, 4))
