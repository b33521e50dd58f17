"""Operators of torch, on the CPU target: gradients, compiled graphs, fake tensors, and torch's own checks of operators.

pip install 'torch==2.13.0+cpu' --index-url https://download.pytorch.org/whl/cpu (see .ci/run)
"""

import importlib.util
from pathlib import Path

import numpy
import pytest

import tilegen
import tilegen.language as T
from tilegen import placement
from tilegen.errors import TilegenError

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.torch


@pytest.fixture(autouse=True)
def on_the_cpu(monkeypatch, request):
    """Host tensors go to the CPU target, whatever the machine has."""
    if request.node.get_closest_marker("gpu") is None:
        monkeypatch.setattr(placement, "gpu", lambda: None)


def rms_norm(dtype):
    @tilegen.jit
    def forward(X: T.Tensor[("M", "N"), dtype], weight: T.Tensor[("N",), dtype], eps: T.float32,
                Y: T.Tensor[("M", "N"), dtype], rstd: T.Tensor[("M",), dtype], BN=64):
        T.assume(N <= BN)
        with T.Kernel(M, threads=64) as row:
            X_local = T.alloc_fragment((1, BN), dtype)
            square = T.alloc_fragment((1, BN), dtype)
            scale = T.alloc_fragment((1,), dtype)
            T.copy(X[row, 0], X_local)
            for i, j in T.Parallel(1, BN):
                square[i, j] = X_local[i, j] * X_local[i, j]
            T.reduce_sum(square, scale, dim=1)
            for i in T.Parallel(1):
                scale[i] = 1.0 / T.sqrt(scale[i] / N + eps)
                rstd[row + i] = scale[i]
            for i, j in T.Parallel(1, BN):
                Y[row + i, j] = X_local[i, j] * scale[i] * weight[j]
    return forward


def rms_norm_backward(dtype):
    @tilegen.jit
    def backward(dY: T.Tensor[("M", "N"), dtype], X: T.Tensor[("M", "N"), dtype], weight: T.Tensor[("N",), dtype],
                 rstd: T.Tensor[("M",), dtype], dX: T.Tensor[("M", "N"), dtype], dweight: T.Tensor[("N",), dtype],
                 BN=64):
        T.assume(N <= BN)
        with T.Kernel(M, threads=64) as row:
            X_local = T.alloc_fragment((1, BN), dtype)
            dY_local = T.alloc_fragment((1, BN), dtype)
            product = T.alloc_fragment((1, BN), dtype)
            mean = T.alloc_fragment((1,), dtype)
            T.copy(X[row, 0], X_local)
            T.copy(dY[row, 0], dY_local)
            for i, j in T.Parallel(1, BN):
                if j < N:
                    T.atomic_add(dweight[j], dY_local[i, j] * X_local[i, j] * rstd[row])
                    dY_local[i, j] = dY_local[i, j] * weight[j]
                product[i, j] = dY_local[i, j] * X_local[i, j]
            T.reduce_sum(product, mean, dim=1)
            for i, j in T.Parallel(1, BN):
                dX[row + i, j] = rstd[row] * (dY_local[i, j] - X_local[i, j] * rstd[row] * rstd[row] * mean[i] / N)
    return backward


@tilegen.jit
def scaled_sum(alpha: T.float32, x: T.Tensor[("n",), "float32"], y: T.Tensor[("n",), "float32"],
               z: T.Tensor[("n",), "float32"], BN=64):
    with T.Kernel(T.ceildiv(n, BN), threads=64) as bx:
        for i in T.Parallel(BN):
            z[bx * BN + i] = alpha * x[bx * BN + i] + y[bx * BN + i]


@tilegen.jit
def increment(x: T.Tensor[("n",), "float32"], step: T.int32, BN=64):
    with T.Kernel(T.ceildiv(n, BN), threads=64) as bx:
        for i in T.Parallel(BN):
            x[bx * BN + i] = x[bx * BN + i] + step


norm64 = tilegen.interop.torch.op(rms_norm("float64"), rms_norm_backward("float64"), returns="Y", name="norm64")
norm32 = tilegen.interop.torch.op(rms_norm("float32"), rms_norm_backward("float32"), returns="Y", name="norm32")


def saxpy_gradients(alpha, dz):
    return alpha * dz, dz


saxpy = tilegen.interop.torch.op(scaled_sum, saxpy_gradients)


def inputs(dtype=torch.float32, rows=5, columns=33):
    generator = torch.Generator().manual_seed(0)
    X = torch.randn(rows, columns, generator=generator, dtype=dtype)
    weight = torch.randn(columns, generator=generator, dtype=dtype)
    return X.requires_grad_(), weight.requires_grad_()


def reference(X, weight, eps):
    return X * (X.square().mean(1, keepdim=True) + eps).rsqrt() * weight


# ---- Plain calls ---------------------------------------------------------------------------------
def test_plain_calls_take_and_give_tensors():
    x, y = torch.randn(100), torch.randn(100)
    for _ in range(3):
        z = scaled_sum(2.0, x, y)
        assert isinstance(z, torch.Tensor) and torch.equal(z, 2 * x + y)
        out = torch.empty(100)
        assert scaled_sum(2.0, x, y, out=out) is out and torch.equal(out, z)
    view = torch.randn(3, 100)[1]
    assert torch.equal(scaled_sum(1.0, view, y), view + y), "a contiguous view"
    with pytest.raises(TilegenError, match="TG0404"):
        scaled_sum(1.0, torch.randn(100, 2)[:, 0], y)
    other = torch.randn(100, dtype=torch.complex64).conj().imag
    for lazy in (other, torch._neg_view(x)):
        with pytest.raises(TilegenError, match="TG0404"):
            scaled_sum(1.0, lazy, y)


def test_a_plain_call_refuses_to_lose_a_gradient():
    x, y = torch.randn(100, requires_grad=True), torch.randn(100)
    with pytest.raises(TilegenError, match="TG0415"):
        scaled_sum(2.0, x, y)
    with torch.no_grad():
        assert torch.equal(scaled_sum(2.0, x, y), 2 * x + y)
    assert torch.equal(scaled_sum(2.0, torch.nn.Parameter(y, requires_grad=False), y), 3 * y)


# ---- Operators -----------------------------------------------------------------------------------
def test_results_and_gradients_are_those_of_torch():
    X, weight = inputs()
    Y = norm32(X, weight, 1e-5)
    torch.testing.assert_close(Y, reference(X, weight, 1e-5))
    dY = torch.randn_like(Y)
    got = torch.autograd.grad(Y, (X, weight), dY)
    want = torch.autograd.grad(reference(X, weight, 1e-5), (X, weight), dY)
    torch.testing.assert_close(got, want)


def test_gradcheck():
    X, weight = inputs(torch.float64)
    assert torch.autograd.gradcheck(lambda X, weight: norm64(X, weight, 1e-3), (X, weight))


def test_gradients_that_are_not_contiguous():
    X, weight = inputs()
    norm32(X, weight, 1e-5).sum().backward()                    # an expanded tensor
    want = torch.autograd.grad(reference(X, weight, 1e-5).sum(), (X, weight))
    torch.testing.assert_close((X.grad, weight.grad), want)


def test_views_are_copied_as_far_as_they_have_to_be():
    X, weight = inputs()
    turned, shifted = X.detach().T.contiguous().T, torch.cat([torch.zeros(1), weight.detach()])[1:]
    assert not turned.is_contiguous() and shifted.data_ptr() % 16
    torch.testing.assert_close(norm32(turned, shifted, 1e-5), reference(turned, shifted, 1e-5))


@tilegen.jit
def scaled_view(X: T.StridedTensor[("M", "N"), ("s", "t"), "float32"], Y: T.Tensor[("M", "N"), "float32"]):
    with T.Kernel(M, threads=64) as row:
        for j in T.Parallel(64):
            Y[row, j] = X[row, j] * 2


def test_strides_that_the_kernel_takes():
    double = tilegen.interop.torch.op(scaled_view)
    for X in (torch.randn(5, 33), torch.randn(33, 5).T, torch.randn(5, 66)[:, ::2]):
        for _ in range(3):
            assert torch.equal(double(X), X * 2) and torch.equal(scaled_view(X), X * 2)
        torch.library.opcheck(double.op, (X,))


def test_a_backward_in_python():
    x, y = (torch.randn(100, requires_grad=True) for _ in range(2))
    saxpy(3.0, x, y=y).sum().backward()
    assert torch.equal(x.grad, torch.full((100,), 3.0)) and torch.equal(y.grad, torch.ones(100))
    x.grad = None
    saxpy(3.0, x, y.detach()).sum().backward()
    assert torch.equal(x.grad, torch.full((100,), 3.0))


def test_a_tensor_that_is_changed():
    add_to = tilegen.interop.torch.op(increment)
    x = torch.zeros(10)
    assert add_to(x, 3) is None and torch.equal(x, torch.full((10,), 3.0))
    torch.library.opcheck(add_to.op, (x, 3))

    @torch.compile(fullgraph=True, backend="aot_eager")
    def twice(x):
        add_to(x, 1)
        add_to(x, 1)
        return x * 2
    assert torch.equal(twice(x), torch.full((10,), 10.0)) and torch.equal(x, torch.full((10,), 5.0))


@pytest.mark.parametrize("grad", [False, True])
def test_opcheck(grad):
    X, weight = (t.detach().requires_grad_(grad) for t in inputs())
    torch.library.opcheck(norm32.op, (X, weight, 1e-5))
    x = torch.randn(100, requires_grad=grad)
    torch.library.opcheck(saxpy.op, (2.0, x, torch.randn(100)))


def test_fake_tensors_have_the_shapes():
    with torch._subclasses.FakeTensorMode():
        X = torch.empty(7, 33)
        Y = norm32(X, torch.empty(33), 1e-5)
        assert Y.shape == (7, 33) and Y.dtype == torch.float32
        for wrong in ((X, torch.empty(32)), (X[0], torch.empty(33)), (X.double(), torch.empty(33))):
            with pytest.raises(TilegenError, match="TG040[23]"):
                norm32(*wrong, 1e-5)


@pytest.mark.parametrize("dynamic", [False, True])
def test_compiled_graphs_are_whole(dynamic):
    def model(X, weight):
        return norm32(X * 2, weight, 1e-5).relu() + X

    compiled = torch.compile(model, fullgraph=True, backend="aot_eager", dynamic=dynamic)
    for rows in (5, 7):
        X, weight = inputs(rows=rows)
        dY = torch.randn(rows, 33)
        got, want = compiled(X, weight), reference(X * 2, weight, 1e-5).relu() + X
        torch.testing.assert_close(got, want)
        torch.testing.assert_close(torch.autograd.grad(got, (X, weight), dY),
                                   torch.autograd.grad(want, (X, weight), dY))


def test_inductor():
    X, weight = (t.detach() for t in inputs())
    compiled = torch.compile(lambda X, weight: norm32(X + 1, weight, 1e-5) * 2, fullgraph=True)
    torch.testing.assert_close(compiled(X, weight), 2 * reference(X + 1, weight, 1e-5))


def test_outputs_beside_the_returned_ones():
    both = tilegen.interop.torch.op(rms_norm("float32"), rms_norm_backward("float32"))
    X, weight = inputs()
    Y, rstd = both(X, weight, 1e-5)
    torch.testing.assert_close(rstd, X.square().mean(1).add(1e-5).rsqrt())
    Y.sum().backward()
    Y, rstd = both(X, weight, 1e-5)
    with pytest.raises(TilegenError, match="does not take the gradient of rstd"):
        (Y.sum() + rstd.sum()).backward()


def test_no_gradients_without_a_backward():
    plain = tilegen.interop.torch.op(scaled_sum)
    x = torch.randn(10, requires_grad=True)
    z = plain(1.0, x, x.detach())
    torch.testing.assert_close(z.detach(), 2 * x.detach())
    with pytest.raises((RuntimeError, NotImplementedError)):
        z.sum().backward()


@tilegen.jit
def wrong_backward(dY: T.Tensor[("M", "N"), "float32"], other: T.Tensor[("M", "N"), "float32"],
                   dX: T.Tensor[("M", "N"), "float32"]):
    with T.Kernel(M, threads=32) as row:
        for j in T.Parallel(64):
            dX[row, j] = dY[row, j] + other[row, j]


@pytest.mark.parametrize("make, text", [
    (lambda op: op(rms_norm("float32"), wrong_backward), "takes other, which is neither"),
    (lambda op: op(rms_norm("float32"), lambda dZ: dZ), "takes dZ"),
    (lambda op: op(scaled_sum, wrong_backward), "takes dY"),
    (lambda op: op(rms_norm("float32"), returns="Z"), "is no output"),
    (lambda op: op(lambda x: x), "makes operators of kernels"),
    (lambda op: op(scaled_sum)(1.0, torch.zeros(3)), "takes 3 arguments, not 2"),
    (lambda op: op(scaled_sum)(1.0, x=torch.zeros(3), w=torch.zeros(3)), "has no argument w"),
    (lambda op: op(scaled_sum)(1.0, torch.zeros(3), torch.zeros(4)), "TG0403"),
    (lambda op: op(scaled_sum)(1.0, torch.zeros(3).double(), torch.zeros(3)), "TG0402"),
])
def test_mistakes(make, text):
    with pytest.raises(TilegenError) as caught:
        make(tilegen.interop.torch.op)
    assert text in str(caught.value)


def test_a_function_that_gives_too_few_gradients():
    few = tilegen.interop.torch.op(scaled_sum, lambda dz: dz)
    x = torch.randn(10, requires_grad=True)
    with pytest.raises(TilegenError, match="gives 1 gradients"):
        few(1.0, x, x).sum().backward()
    some = tilegen.interop.torch.op(scaled_sum, lambda dz: {"y": dz})
    with pytest.raises(TilegenError, match="gives no gradient of x"):
        some(1.0, x, x.detach()).sum().backward()


def test_names_that_are_taken_get_a_number():
    first, second = (tilegen.interop.torch.op(scaled_sum, name="twins") for _ in range(2))
    assert first.op._qualname == "tilegen::twins" and second.op._qualname == "tilegen::twins_2"


def test_threads_of_torch_run_backward():
    """autograd's own thread launches the backward kernel."""
    X, weight = inputs()
    for _ in range(3):
        X.grad = weight.grad = None
        norm32(X, weight, 1e-5).backward(torch.ones(5, 33))
        assert numpy.isfinite(X.grad.numpy()).all()


# ---- The transformer block of the examples -------------------------------------------------------
@pytest.fixture(scope="module")
def transformer():
    path = Path(__file__).resolve().parent.parent / "examples" / "torch" / "transformer_block.py"
    spec = importlib.util.spec_from_file_location("transformer_block", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("compiled", [False, True])
def test_a_transformer_block(transformer, compiled):
    block = torch.compile(transformer.ours, fullgraph=True, backend="aot_eager") if compiled else transformer.ours
    assert transformer.compare(70, 128, 2, "cpu", block) < 3e-3


def kernels(transformer):
    """(kernel, its inputs) of the block, at sizes that no tile divides."""
    generator = torch.Generator().manual_seed(0)

    def half(*shape):
        return torch.randn(*shape, generator=generator).half()
    rows, weight, rstd = half(20, 136), torch.rand(136), torch.rand(20)
    queries = [half(2, 70, 64) for _ in range(4)]
    statistics = [torch.rand(2, 70) + 5, torch.rand(2, 70)]
    return [(transformer.rms_norm, (rows, weight)),
            (transformer.rms_norm_backward, (half(20, 136), rows, weight, rstd, torch.zeros(136))),
            (transformer.times.kernel, (rows, half(136, 72))), (transformer.times_turned.kernel, (rows, half(72, 136))),
            (transformer.turned_times.kernel, (rows, half(20, 72))), (transformer.linear_gelu, (rows, half(136, 72))),
            (transformer.gelu_slope, (rows, half(20, 136))), (transformer.attention, tuple(queries[:3])),
            (transformer.attention_gradients, (*queries, *statistics, torch.zeros(2, 70, 64)))]


def test_the_kernels_of_the_block_on_a_gpu_as_on_the_cpu(transformer):
    """The emitted CUDA in the emulator, on tensors of torch."""
    for kernel, given in kernels(transformer):
        results = []
        for place in ("cpu", "emulator"):
            arguments = [value.clone() for value in given]
            made = kernel.on(place)(*arguments)
            changed = [a for a, before in zip(arguments, given) if not torch.equal(a, before)]
            results.append([*(made if isinstance(made, tuple) else (made,)), *changed])
        assert len(results[0]) == len(results[1])
        for on_cpu, on_gpu in zip(*results):
            error = (on_cpu.double() - on_gpu.double()).norm() / on_cpu.double().norm()
            assert error < 2e-3, (kernel.__name__, error)


# ---- A real GPU ----------------------------------------------------------------------------------
@pytest.mark.gpu
@pytest.mark.parametrize("compiled", [False, True])
def test_gpu_transformer_block(transformer, compiled):
    block = torch.compile(transformer.ours, fullgraph=True) if compiled else transformer.ours
    for tokens in (70, 512):
        assert transformer.compare(tokens, 256, 2, "cuda", block) < 3e-3


@pytest.mark.gpu
def test_gpu_operators():
    X, weight = (t.detach().double().cuda().requires_grad_() for t in inputs())
    assert torch.autograd.gradcheck(lambda X, weight: norm64(X, weight, 1e-3), (X, weight), nondet_tol=1e-12)
    X, weight = (t.detach().cuda().requires_grad_() for t in inputs())
    torch.library.opcheck(norm32.op, (X, weight, 1e-5))
    with torch.no_grad():
        norm32(X, weight, 1e-5)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            Y = norm32(X, weight, 1e-5)
        X.mul_(3)
        graph.replay()
    torch.cuda.synchronize()
    torch.testing.assert_close(Y, reference(X, weight, 1e-5).detach())
