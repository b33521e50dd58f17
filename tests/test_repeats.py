"""Calls that are like an earlier one: the same results, the same refusals, and no work done twice."""

import gc
import struct
import sys
import threading
import types
import weakref

import numpy
import pytest
from stand_ins import CudaError, CupyModule, Tensor, torch_module

import tilegen
import tilegen.language as T
from tilegen import placement
from tilegen.errors import TilegenError
from tilegen.runtime import tensor_maps

MANY = 20           # calls after which a call is expected to be like the ones before

@tilegen.jit
def axpy(alpha: T.float32, x: T.Tensor[("n",), "float32"], y: T.Tensor[("n",), "float32"],
         z: T.Tensor[("n",), "float32"], BN=64):
    with T.Kernel(T.ceildiv(n, BN), threads=64) as bx:
        for i in T.Parallel(BN):
            z[bx * BN + i] = alpha * x[bx * BN + i] + y[bx * BN + i]


@tilegen.jit
def first_row(start: T.int32, z: T.Tensor[("n",), "float32"], x: T.Tensor[("n",), "float32"]):
    with T.Kernel(T.ceildiv(n, 64), threads=64) as bx:
        for i in T.Parallel(64):
            z[bx * 64 + i] = x[bx * 64 + i] + start


def floats(*shape):
    return numpy.random.default_rng(0).uniform(-1, 1, shape).astype("float32")


@pytest.fixture
def on_gpu(monkeypatch):
    """axpy for CUDA, whose launches through the driver `module.prepared` has, and the stand-in for CuPy."""
    module = CupyModule(None)
    module.arguments = 5
    monkeypatch.setitem(sys.modules, "cupy", module)
    monkeypatch.setitem(sys.modules, "torch", torch_module(stream=33))
    return tilegen.load(axpy.emit("cuda", "sm_80")), module


def tensors(count, length=100, index=0):
    return [Tensor(floats(length), "cuda", index) for _ in range(count)]


def decoded(launch):
    alpha, *addresses, n = launch.arguments
    return (struct.unpack("f4x", alpha)[0], *[struct.unpack("Q", a)[0] for a in addresses],
            struct.unpack("i", n[:4])[0])


# ---- On the CPU: results -------------------------------------------------------------------------
def test_results_of_later_calls():
    kernel = axpy.specialize()
    for turn in range(MANY):
        x, y, z = floats(70) + turn, floats(70), floats(70)
        alpha = 1.0 + turn
        assert kernel(alpha, x, y, z) is None
        assert numpy.allclose(z, numpy.float32(alpha) * x + y)
        assert numpy.allclose(kernel(alpha, x, y), z)
        out = floats(70)
        assert kernel(alpha, x, y, out=out) is out and numpy.array_equal(out, z)
        assert numpy.allclose(kernel(alpha, x[:30].copy(), y[:30].copy()), z[:30]), "another size"
    assert len(kernel._repeats._kinds) == 2, "with and without the output"


def test_outputs_that_are_not_last():
    kernel = first_row.specialize()
    for turn in range(MANY):
        x, z = floats(70) + turn, floats(70)
        assert numpy.array_equal(kernel(turn, x), x + numpy.float32(turn))
        assert kernel(turn, x, out=z) is z and numpy.array_equal(z, x + numpy.float32(turn))
        z = floats(70)
        kernel(turn, z, x)
        assert numpy.array_equal(z, x + numpy.float32(turn)), "positions mean what they meant"


def test_an_integer_that_changes():
    kernel, x = first_row.specialize(), floats(70)
    for start in (1, 1, 2, 2, -3, True, *MANY * [1], 2, True, 2, *MANY * [2], 1):
        assert numpy.array_equal(kernel(start, x), x + numpy.float32(start))
    with pytest.raises(TilegenError, match="outside the range"):
        kernel(2**31, x)


@pytest.mark.parametrize("wrong, code", [
    (lambda x: (1.0, x[1:], x[1:] * 1, x[1:] * 1), None),
    (lambda x: (1.0, x, x * 1, x), "TG0413"),
    (lambda x: (1.0, x, x * 1, x.reshape(10, 10)), "TG0403"),
    (lambda x: (1.0, x, x[::-1], x * 1), "TG0404"),
    (lambda x: (1.0, x, x.astype("float64"), x * 1), "TG0402"),
    (lambda x: (1.0, x, x * 1, frozen(x)), "TG0410"),
    (lambda x: (1.0, x, x * 1, off_by_one(x)), "TG0406"),
    (lambda x: ("1", x, x * 1, x * 1), "TG0402"),
])
@pytest.mark.parametrize("count", [3, MANY])
def test_each_call_is_refused_as_the_first_would_be(wrong, code, count):
    kernel, x = axpy.specialize(BN=128), floats(100)
    for _ in range(count):
        kernel(1.0, x, x * 1, x * 1)
    assert (kernel._repeats._last is not None) == (count == MANY)
    if code is None:
        kernel(*wrong(x))
        return
    for _ in range(2):
        with pytest.raises(TilegenError) as caught:
            kernel(*wrong(x))
        assert caught.value.code == code


def frozen(x):
    x = x.copy()
    x.flags.writeable = False
    return x


def off_by_one(x):
    memory = numpy.zeros(4 * x.size + 8, "uint8")
    return memory[1:4 * x.size + 1].view("float32")


def test_a_stream_has_no_meaning_on_the_cpu():
    kernel, x = axpy.specialize(BN=32), floats(100)
    for _ in range(3):
        kernel(1.0, x, x)
    with pytest.raises(TilegenError, match="stream="):
        kernel(1.0, x, x, stream=5)


def test_runs_of_calls_that_are_alike():
    """Some calls of one kind, then some of another: a reader is made once for each, and answers for it alone."""
    kernel = axpy.specialize(BN=48)
    routes = []
    for turn in range(12):
        size = (70, 30, 50)[turn % 3]
        for _ in range(MANY):
            x, y, z = floats(size) + turn, floats(size), floats(size)
            kernel(2.0, x, y, z)
            assert numpy.allclose(z, 2 * x + y)
        assert kernel._repeats._last.read(1.0, x, y, z) and not kernel._repeats._last.read(1, x, y, z)
        routes.append(kernel._repeats._last.route)
    assert len(set(map(id, routes))) == 3 and {route.renewals for route in routes} == {1}


def test_tensors_that_this_torch_does_not_tell_apart(on_gpu):
    kernel, module = on_gpu
    for _ in range(MANY):
        kernel(2.0, *tensors(3))
    assert kernel._repeats._last.read(2.0, *tensors(3)) is None and len(module.prepared) == MANY - 1


# ---- On a GPU: what reaches the driver -----------------------------------------------------------
def test_the_driver_gets_the_arguments(on_gpu):
    kernel, module = on_gpu
    x, y, z = tensors(3)
    kernel(2.0, x, y, z)
    assert len(module.launches) == 1 and not module.prepared
    kernel(3.5, x, z, y)
    launch, = module.prepared
    assert len(module.launches) == 1
    assert decoded(launch) == (3.5, x.data_ptr(), z.data_ptr(), y.data_ptr(), 100)
    assert (launch.grid, launch.block, launch.shared, launch.stream) == ((2, 1, 1), (64, 1, 1), 0, 33)
    kernel(1.0, x, y, z, stream=5)
    assert module.prepared[-1].stream == 5
    assert kernel(1.0, x, y, out=z) is z and decoded(module.prepared[-1])[3] == z.data_ptr()
    made = [kernel(1.0, x, y) for _ in range(2)][1]
    assert type(made) is Tensor and made.shape == (100,) and decoded(module.prepared[-1])[3] == made.data_ptr()
    other = tensors(3, 30)
    kernel(1.0, *other)
    kernel(1.0, *other)
    assert decoded(module.prepared[-1])[-1] == 30 and module.prepared[-1].grid == (1, 1, 1)


def test_a_prepared_call(on_gpu):
    kernel, module = on_gpu
    x, y, z = tensors(3)
    call = kernel.bind(4.0, x, y, z)
    call()
    call(stream=9)
    assert [decoded(launch) for launch in module.prepared] == 2 * [(4.0, x.data_ptr(), y.data_ptr(), z.data_ptr(), 100)]
    assert [launch.stream for launch in module.prepared] == [33, 9] and not module.launches


def test_calls_on_the_gpu_are_refused_as_the_first_would_be(on_gpu):
    kernel, module = on_gpu
    x, y, z = tensors(3)
    for _ in range(2):
        kernel(2.0, x, y, z)
    count = len(module.prepared)
    for wrong, code in (((2.0, x, y, x), "TG0413"), ((2.0, x, y, Tensor(off_by_one(x.array), "cuda", 0)), "TG0406"),
                        ((2.0, x, y, Tensor(z.array, "cuda", 1)), "TG0405"), ((2.0, x, y, Tensor(z.array)), None)):
        if code is None:
            kernel(*wrong)              # memory of the host is copied, by the long way
            continue
        with pytest.raises(TilegenError) as caught:
            kernel(*wrong)
        assert caught.value.code == code
    assert len(module.prepared) == count


def test_a_scalar_that_its_type_does_not_hold_goes_the_long_way(on_gpu):
    kernel, module = on_gpu
    for _ in range(2):
        kernel(2.0, *tensors(3))
    kernel(1e300, *tensors(3))
    assert len(module.prepared) == 1 and len(module.launches) == 2


def test_another_gpu_that_is_current(on_gpu):
    kernel, module = on_gpu
    module.devices = 2
    x, y, z = tensors(3, index=1)
    for _ in range(3):
        kernel(2.0, x, y, z)
    assert not module.prepared and len(module.launches) == 3, "GPU 0 is current, the arrays are on GPU 1"
    module.cuda.runtime.getDevice = lambda: 1
    kernel(2.0, x, y, z)
    assert len(module.prepared) == 1


def test_a_thread_without_a_context_gets_one(on_gpu):
    kernel, module = on_gpu
    x, y, z = tensors(3)
    kernel(2.0, x, y, z)
    refusals, launch = [201], module.cuda.driver.launchKernel

    def refuse_once(*arguments):
        if refusals:
            error = CudaError("CUDA_ERROR_INVALID_CONTEXT")
            error.status = refusals.pop()
            raise error
        launch(*arguments)
    module.cuda.driver.launchKernel = refuse_once
    freed = []
    module.cuda.runtime.free = freed.append
    kernel = tilegen.load(kernel.source)
    kernel(2.0, x, y, z)
    kernel(2.0, x, y, z)
    assert freed == [0] and len(module.prepared) == 1
    refusals.append(700)
    with pytest.raises(TilegenError, match="TG0411"):
        kernel(2.0, x, y, z)


def test_no_array_of_an_earlier_call_is_kept(on_gpu):
    on_cpu = axpy.specialize(BN=16)
    for kernel, make in ((on_gpu[0], lambda: tensors(3)), (on_cpu, lambda: [floats(100).view(Kept) for _ in range(3)])):
        arrays = make()
        gone = [weakref.ref(array) for array in arrays]
        for _ in range(3):
            kernel(2.0, *[a if isinstance(a, Tensor) else numpy.asarray(a) for a in arrays])
        del arrays
        gc.collect()
        assert not any(reference() is not None for reference in gone)


class Kept(numpy.ndarray):
    """An array whose views refer to it, and that can be referred to weakly."""


def test_threads_have_arguments_of_their_own(on_gpu):
    kernel, module = on_gpu
    sets = [tensors(3) for _ in range(4)]
    kernel(1.0, *sets[0])
    launch, together = module.cuda.driver.launchKernel, threading.Barrier(4)

    def all_at_once(*arguments):
        together.wait()                 # every thread has written its arguments
        launch(*arguments)
    module.cuda.driver.launchKernel = all_at_once
    kernel = tilegen.load(kernel.source)
    kernel(1.0, *sets[0])
    threads = [threading.Thread(target=kernel, args=(float(i), *some)) for i, some in enumerate(sets)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(decoded(launch) for launch in module.prepared) == sorted(
        (float(i), *[t.data_ptr() for t in some], 100) for i, some in enumerate(sets))


def test_tensor_maps_follow_the_addresses(monkeypatch):
    module = CupyModule(None)
    monkeypatch.setitem(sys.modules, "cupy", module)
    monkeypatch.setitem(sys.modules, "torch", torch_module(stream=33))
    kernel = tilegen.load(product.emit("cuda", "sm_90a"))
    contract = kernel.contract
    assert any(p.box for p in contract.params)
    module.arguments = len(contract.params) + len(contract.sizes)
    encoded = {}

    def encode(address, shape, dtype, size, box):
        encoded.setdefault(address, numpy.frombuffer(struct.pack("Q120x", address), "V128"))
        return encoded[address]
    monkeypatch.setattr("tilegen.runtime.tensor_maps.tensor_map", encode)

    def operands():
        return [Tensor(aligned(256, 256), "cuda", 0) for _ in range(3)]
    kernel(*operands())
    for _ in range(2):
        A, B, C = operands()
        kernel(A, B, C)
        for param, argument, tensor in zip(contract.params, module.prepared[-1].arguments, (A, B, C)):
            assert struct.unpack("Q", argument)[0] == tensor.data_ptr(), param.name
        assert A.data_ptr() in encoded


def test_a_thread_without_a_context_gets_one_for_its_tensor_maps(monkeypatch):
    module, codes, freed = CupyModule(None), [201, 0, 1], []
    module.cuda.runtime.free = freed.append
    monkeypatch.setitem(sys.modules, "cupy", module)
    driver = types.SimpleNamespace(cuTensorMapEncodeTiled=lambda *given: codes.pop(0))
    monkeypatch.setattr(tensor_maps, "_driver", lambda: driver)
    encode = tensor_maps.tensor_map.__wrapped__
    assert encode(4096, (64, 64), "float16", 2, (64, 64)).nbytes == 128 and freed == [0] and codes == [1]
    with pytest.raises(TilegenError, match=r"TG0411.*\(code 1\)"):
        encode(4096, (64, 64), "float16", 2, (64, 64))


def aligned(*shape):
    memory = numpy.zeros(2 * numpy.prod(shape) + 128, "uint8")
    start = -memory.ctypes.data % 128
    return memory[start:start + 2 * numpy.prod(shape)].view("float16").reshape(shape)


@tilegen.jit
def product(A: T.Tensor[("M", "K"), "float16"], B: T.Tensor[("K", "N"), "float16"], C: T.Tensor[("M", "N"), "float16"],
            BM=128, BN=128, BK=64):
    with T.Kernel(T.ceildiv(N, BN), T.ceildiv(M, BM), threads=256) as (bx, by):
        A_shared = T.alloc_shared((BM, BK), "float16")
        B_shared = T.alloc_shared((BK, BN), "float16")
        C_local = T.alloc_fragment((BM, BN), "float32")
        T.clear(C_local)
        for ko in T.Pipelined(T.ceildiv(K, BK), num_stages=3):
            T.copy(A[by * BM, ko * BK], A_shared)
            T.copy(B[ko * BK, bx * BN], B_shared)
            T.gemm(A_shared, B_shared, C_local)
        T.copy(C_local, C[by * BM, bx * BN])


def test_a_gradient_that_would_be_lost(on_gpu):
    kernel, module = on_gpu
    records = [True]
    sys.modules["torch"].is_grad_enabled = lambda: records[0]
    x, y, z = tensors(3)
    for _ in range(2):
        kernel(2.0, x, y, z)
    x.requires_grad = True
    for _ in range(2):
        with pytest.raises(TilegenError, match="argument x requires a gradient") as caught:
            kernel(2.0, x, y, z)
    assert caught.value.code == "TG0415" and "interop.torch.op" in caught.value.hint
    records[0] = False
    for _ in range(2):
        kernel(2.0, x, y, z)
    records[0] = True
    with pytest.raises(TilegenError, match="TG0415"):
        kernel(2.0, x, y, z)


# ---- torch itself --------------------------------------------------------------------------------
@pytest.mark.torch
def test_tensors_of_torch_are_told_apart(monkeypatch):
    torch = pytest.importorskip("torch")
    monkeypatch.setattr(placement, "gpu", lambda: None)
    kernel = axpy.specialize(BN=80)
    x, y, z = (torch.rand(100) for _ in range(3))
    for turn in range(MANY):
        kernel(float(turn), x, y, z)
        assert torch.allclose(z, turn * x + y)
    last = kernel._repeats._last
    assert last.read(1.0, x, y, z)
    others = [x.double(), torch.rand(99), torch.rand(200)[::2], torch.rand(100, requires_grad=True), x.numpy(),
              torch.nn.Parameter(x, requires_grad=False), torch._neg_view(x), torch.rand(100, 1), x.to("meta"), z, y]
    assert not any([last.read(1.0, other, y, z) for other in others])
    with torch.inference_mode():
        for _ in range(2 * MANY):
            kernel(2.0, x, y, z)
        assert kernel._repeats._last.read(1.0, x, y, z)
    assert torch.allclose(z, 2 * x + y)
    for _ in range(MANY):
        kernel(3.0, x, x, z)            # which torch's guards never take for like another
    assert torch.allclose(z, 4 * x) and torch.allclose(kernel(1.0, x, y), x + y)


# ---- A real GPU ----------------------------------------------------------------------------------
@pytest.mark.gpu
@pytest.mark.parametrize("library", ["cupy", "torch"])
def test_gpu_later_calls(library):
    import cupy
    torch = pytest.importorskip("torch")
    move, back = {"cupy": (cupy.asarray, cupy.asnumpy),
                  "torch": (lambda a: torch.from_numpy(a).cuda(), lambda t: t.cpu().numpy())}[library]
    kernel = tilegen.jit(axpy.__wrapped__, target="cuda")
    for turn in range(4):
        x, y = floats(1000) + turn, floats(1000)
        want, alpha = numpy.float32(turn) * x + y, float(turn)
        X, Y, Z = move(x), move(y), move(x * 0)
        for _ in range(MANY):
            kernel(alpha, X, Y, Z)
        made = [kernel(alpha, X, Y) for _ in range(MANY)]
        assert all([numpy.allclose(back(array), want) for array in (Z, made[0], made[-1])])
        assert kernel(alpha, X, Y, out=Z) is Z
        call = kernel.bind(alpha, X, Y, Z)
        Z[:] = 0
        call()
        assert numpy.allclose(back(Z), want)
    assert kernel._repeats._kinds, "the later calls were known"
    others = []
    thread = threading.Thread(target=lambda: others.append(kernel(alpha, X, Y)))
    thread.start()                      # which has no CUDA context yet
    thread.join()
    assert numpy.allclose(back(others[0]), want)


@pytest.mark.gpu
def test_gpu_later_calls_on_streams_and_in_graphs():
    import cupy
    torch = pytest.importorskip("torch")
    kernel = tilegen.jit(axpy.__wrapped__, target="cuda")
    x, y, z = (torch.rand(1000, device="cuda") for _ in range(3))
    for _ in range(MANY):
        kernel(2.0, x, y, z)
    with torch.cuda.stream(torch.cuda.Stream()):
        kernel(3.0, x, y, z)
    torch.cuda.synchronize()
    assert torch.allclose(z, 3 * x + y)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        kernel(4.0, x, y, z)            # a plain call, captured
    x.fill_(1)
    graph.replay()
    torch.cuda.synchronize()
    assert torch.allclose(z, 4 + y)
    a, b, c = (cupy.random.rand(1000, dtype=cupy.float32) for _ in range(3))
    stream = cupy.cuda.Stream(non_blocking=True)
    for _ in range(MANY):
        kernel(2.0, a, b, c, stream=stream)
    stream.synchronize()
    assert cupy.allclose(c, 2 * a + b)
    with stream:
        stream.begin_capture()
        kernel(5.0, a, b, c)
        captured = stream.end_capture()
        captured.launch()
    stream.synchronize()
    assert cupy.allclose(c, 5 * a + b)


@pytest.mark.gpu
def test_gpu_later_calls_with_tensor_maps():
    torch = pytest.importorskip("torch")
    kernel = tilegen.jit(product.__wrapped__, target="cuda")
    for _ in range(MANY):
        A, B, C = (torch.randn(512, 512, device="cuda").half() for _ in range(3))
        kernel(A, B, C)
        torch.testing.assert_close(C, A @ B, rtol=1e-2, atol=1e-1)
        kernel.bind(B, A, C)()
        torch.testing.assert_close(C, B @ A, rtol=1e-2, atol=1e-1)
    A, B, C = (torch.randn(512, 512, device="cuda").half() for _ in range(3))
    thread = threading.Thread(target=kernel, args=(A, B, C))
    thread.start()                      # without a CUDA context, which tensor maps need as well
    thread.join()
    torch.testing.assert_close(C, A @ B, rtol=1e-2, atol=1e-1)
