"""Kernels of several launches: their text, their contract, and the order in which they run."""

import subprocess
import sys
import types

import numpy
import pytest
from operations_launches import in_macros, split_depth
from stand_ins import CupyModule, Tensor, torch_module

import tilegen
import tilegen.language as T
from tilegen import explain
from tilegen.build import cxx
from tilegen.errors import TilegenError
from tilegen.merging import difference
from tilegen.runtime import hip
from tilegen.runtime.binding import Binder
from tilegen.runtime.contract import read_contract


def made(target: str, function=split_depth):
    return tilegen.jit(function).specialised(target, None)


def operands(M=70, N=90, K=200) -> tuple[numpy.ndarray, numpy.ndarray]:
    generator = numpy.random.default_rng(0)
    return generator.random((M, K)).astype("float16"), generator.random((K, N)).astype("float16")


def test_the_contract_lists_the_launches_in_order():
    contract = read_contract(made("cuda").source)
    first, second = contract.launches
    names = [*(p.name for p in contract.params), *contract.sizes]
    assert (contract.entry, first.entry, second.entry) == ("split_depth", "split_depth_1", "split_depth_2")
    assert [names[n] for n in first.arguments] == ["A", "B", "partial", "M", "K", "N"]
    assert [names[n] for n in second.arguments] == ["C", "partial", "M", "N"]
    assert (first.block, first.shared, second.block, second.shared) == (
        ("THREADS",), "SMEM_BYTES", ("THREADS_2",), "SMEM_BYTES_2")
    assert [p.name for p in contract.caller_params] == ["A", "B", "C"]
    grids = [g.grid for g in contract.geometries({"M": 70, "N": 90, "K": 200})]
    assert grids == [(3, 3, 3), (2, 70, 1)]


def test_what_is_the_same_in_two_launches_is_declared_once():
    text = made("cuda", in_macros).source
    assert text.count("constexpr int THREADS = 128;") == 1 and "THREADS_2" not in text
    assert "constexpr int THREADS_3 = 32;" in text and "__launch_bounds__(THREADS_3" in text


def test_a_launch_has_const_pointers_for_what_it_reads():
    text = made("cuda").source
    assert "float* __restrict__ partial" in text and "const float* __restrict__ partial" in text


def test_cupy_gets_the_launches_in_order(monkeypatch):
    module = CupyModule(None)
    monkeypatch.setitem(sys.modules, "cupy", module)
    tilegen.load(made("cuda").source)(*operands(), stream=5)
    assert [(launch.grid, launch.block, launch.stream) for launch in module.launches] == [
        ((3, 3, 3), (128, 1, 1), 5), ((2, 70, 1), (64, 1, 1), 5)]
    moved = [call for call in module.calls if call[0] in ("to device", "to host")]
    assert [call[:2] for call in moved] == [("to device", 28000), ("to device", 36000), ("to host", 25200)]


def test_workspaces_live_as_long_as_a_stream_of_its_own_uses_them(monkeypatch):
    module = CupyModule(None)
    monkeypatch.setitem(sys.modules, "cupy", module)
    monkeypatch.setitem(sys.modules, "torch", torch_module(stream=33))
    kernel = tilegen.load(made("cuda").source)
    on_gpu = [Tensor(array, "cuda", 0) for array in operands()]
    kernel(*on_gpu)
    assert not kernel._kernel.held and module.launches[-1].stream == 33, "torch's own stream orders its memory"
    kernel(*on_gpu, stream=5)
    (event, bound), = kernel._kernel.held
    assert "partial" in bound.arrays and ("record", 5) in module.calls
    event.done = True
    kernel(*on_gpu, stream=5)
    assert [held for held, _ in kernel._kernel.held] != [event]


class _Hip:
    """What the launcher asks of pyhip, recorded."""

    hipError = RuntimeError

    def __init__(self):
        self.launches = []

    def hipModuleLoadData(self, image):
        return "module"

    def hipModuleGetFunction(self, module, name):
        return name

    def hipModuleLaunchKernel(self, function, *rest):
        *geometry, shared, stream, arguments = rest
        self.launches.append((function, tuple(geometry[:3]), tuple(geometry[3:]), shared, stream,
                              [name for name, _ in arguments._fields_]))


def test_hip_gets_the_launches_in_order(monkeypatch, tmp_path):
    fake = _Hip()
    monkeypatch.setitem(sys.modules, "torch", torch_module(stream=33))
    monkeypatch.setattr(hip.hiprtc, "require_pyhip", lambda: (fake, None))
    image = tmp_path / "image"
    image.write_bytes(b"code")
    contract = read_contract(made("hip").source)
    bound = Binder(contract).bind(tuple(Tensor(array, "cuda", 0) for array in operands()), {})
    kernel = hip.HipKernel(types.SimpleNamespace(path=image), contract)
    kernel.launch(bound, kernel.prepare(bound))
    assert [(name, grid, block) for name, grid, block, *_ in fake.launches] == [
        ("split_depth_1", (3, 3, 3), (128, 1, 1)), ("split_depth_2", (2, 70, 1), (64, 1, 1))]
    assert [len(names) for *_, names in fake.launches] == [6, 4]
    assert fake.launches[0][3] > 0 and fake.launches[0][4] == 33


@pytest.mark.parametrize("target", ["cpu", "cuda"])
def test_a_prepared_call_keeps_its_workspace(target):
    how = made(target)
    A, B = operands()
    bound = (how.loaded if target == "cpu" else how.emulated).bind(A, B)
    expected = A.astype("float32") @ B.astype("float32")
    for _ in range(2):
        numpy.testing.assert_allclose(bound(), expected, rtol=1e-3)


def test_the_self_test_runs_every_launch(tmp_path):
    source = tmp_path / "split_depth.cpp"
    source.write_text(made("cpu").source)
    command = [*cxx.find().command, "-O1", "-mavx2", "-mfma", "-mf16c", "-std=c++17", "-Wno-unknown-pragmas",
               "-DTILEGEN_MAIN", str(source), "-o", str(tmp_path / "program")]
    subprocess.run(command, check=True)
    done = subprocess.run([tmp_path / "program", "70", "200", "90"], capture_output=True, text=True)
    assert done.stdout.endswith("ok\n") and done.returncode == 0, done.stdout


def test_decisions_name_their_launch():
    subjects = [d.subject for d in explain.decisions(made("cuda").planned)]
    assert "split_depth_1 gemm into C_local" in subjects and "split_depth_2 registers" in subjects


def test_the_difference_of_two_contracts_names_the_launch():
    text = made("cuda").source
    old, new = read_contract(text), read_contract(text.replace('"ceildiv(N, 64)"', '"ceildiv(N, 32)"'))
    rows = difference.launch(old, new, {})
    assert [row.name for row in rows] == ["split_depth_2 grid"]


def test_an_unwritten_workspace_is_an_error():
    def early(X: T.Tensor[(64,), "float32"]):
        room = T.alloc_global((64,), "float32")
        with T.Kernel(1, threads=64) as _:
            for i in T.Parallel(64):
                X[i] = room[i]
        with T.Kernel(1, threads=64) as _:
            for i in T.Parallel(64):
                room[i] = X[i]
    with pytest.raises(TilegenError) as caught:
        made("cuda", early).kernel
    assert caught.value.code == "TG0112" and "room" in caught.value.message and "room[i]" in caught.value.loc.text()


def test_launches_that_are_no_list_are_refused():
    text = made("cpu").source.replace('"arguments": ["A"', '"arguments": ["Q"')
    with pytest.raises(TilegenError) as caught:
        read_contract(text)
    assert caught.value.code == "TG0702" and "the argument Q" in caught.value.message
