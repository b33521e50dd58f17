"""Files without a launch contract: hand-written kernels, loaded with what the caller says of them."""

from pathlib import Path

import numpy
import pytest

import tilegen
from tilegen.errors import TilegenError
from tilegen.runtime.plain import Launching, contract_of

SAXPY = """
// saxpy(int wrong, ...) in a comment does not count
constexpr int BLOCK = 128;
extern "C" __global__ void __launch_bounds__(BLOCK) saxpy(int n, const float a, const float* __restrict__ x, float *y)
{
    const int i = blockIdx.x * BLOCK + threadIdx.x;
    if (i < n) y[i] = a * x[i] + y[i];
}
"""
GEMM = """
extern "C" __global__ void product(const float* A, const float* B, float* C, int M, int N, int K)
{
    extern __shared__ float tile[];
    const int m = blockIdx.y * 8 + threadIdx.y, n = blockIdx.x * 8 + threadIdx.x;
    float sum = 0.0f;
    for (int k = 0; k < K; ++k) {
        if (threadIdx.y == 0) tile[threadIdx.x] = n < N ? B[k * N + n] : 0.0f;
        __syncthreads();
        sum += m < M ? A[m * K + k] * tile[threadIdx.x] : 0.0f;
        __syncthreads();
    }
    if (m < M && n < N) C[m * N + n] = sum;
}
"""
CPP = 'extern "C" void twice(const double* x, double* y, long long n)\n{ for (long long i = 0; i < n; ++i) y[i] = 2 * x[i]; }\n'


@pytest.mark.parametrize("n", [1, 1000])
def test_a_cuda_file_in_the_emulator(tmp_path, n):
    file = tmp_path / "saxpy.cu"
    file.write_text(SAXPY)
    saxpy = tilegen.load(file, entry="saxpy", grid="ceildiv(n, BLOCK)", block="BLOCK", target="emulator")
    x, y = numpy.random.default_rng(0).random((2, n), "float32")
    expected = 0.5 * x + y
    assert saxpy(n, 0.5, x, y) is None
    assert numpy.allclose(y, expected)
    assert repr(saxpy) == "<saxpy(n, a, x, y) for emulator sm_80>"


def test_sizes_from_shapes_and_an_output():
    product = tilegen.load(GEMM, entry="product", grid=("ceildiv(N, 8)", "ceildiv(M, 8)"), block=(8, 8), shared=32,
                           shapes={"A": ("M", "K"), "B": ("K", "N"), "C": ("M", "N")}, outputs=["C"], target="emulator")
    A, B = (numpy.random.default_rng(0).random(shape, "float32") for shape in ((20, 30), (30, 10)))
    assert numpy.allclose(product(A, B), A @ B, rtol=1e-5)
    with pytest.raises(TilegenError, match="TG0403.*K is 30 from argument A"):
        product(A, A)


def test_a_cpp_file():
    twice = tilegen.load(CPP, entry="twice", target="cpu")
    x, y = numpy.arange(6.0).reshape(2, 3), numpy.zeros((3, 2))
    twice(x, y, 6)
    assert (y.reshape(-1) == 2 * x.reshape(-1)).all()


def test_arguments_are_checked():
    saxpy = tilegen.load(SAXPY, entry="saxpy", grid=1, block=128, target="emulator")
    x, y = numpy.zeros(4, "float32"), numpy.zeros(4)
    for arguments, code in (((4, 1.0, x, y), "TG0402"), ((4, 1.0, x), "TG0401"), ((4.5, 1.0, x, x.copy()), "TG0402"),
                            ((4, 1.0, x, x), "TG0413")):
        with pytest.raises(TilegenError, match=code):
            saxpy(*arguments)


@pytest.mark.parametrize("text, given, code, words", [
    (SAXPY, {"entry": "saxpy", "grid": 1}, "TG0701", "was not given block"),
    (SAXPY, {"entry": "axpy", "grid": 1, "block": 1}, "TG0702", "does not define __global__ axpy"),
    (SAXPY.replace('extern "C" ', ""), {"entry": "saxpy", "grid": 1, "block": 1}, "TG0702", 'write extern "C"'),
    (SAXPY.replace("const float a", "float2 a"), {"entry": "saxpy", "grid": 1, "block": 1}, "TG0702", "`float2 a`"),
    (SAXPY, {"entry": "saxpy", "grid": "ceildiv(m, 8)", "block": 1}, "TG0702", "names m"),
    (SAXPY, {"entry": "saxpy", "grid": 1, "block": 1, "shapes": {"z": ("n",)}}, "TG0702", "has no pointer z"),
    (SAXPY, {"entry": "saxpy", "grid": 1, "block": 1, "outputs": ["y"]}, "TG0702", "has no shape"),
    (SAXPY, {}, "TG0701", "tilegen.load(FILE, entry=, grid=, block=)"),
    (SAXPY + "// tilegen-launch: {}\n", {"entry": "saxpy"}, "TG0702", "has a launch contract"),
])
def test_what_is_missing_or_wrong(text, given, code, words):
    with pytest.raises(TilegenError) as caught:
        tilegen.load(text, target="emulator", **given)
    assert caught.value.code == code and words in str(caught.value)


def test_the_signature_is_read():
    text = 'extern "C" {\n__global__ void f(unsigned char const* a, const half b[], size_t n, bool flag) {}\n}\n'
    params = contract_of(text, "f.cu", Launching("f", 1, 32), "cuda", "sm_80").params
    assert [(p.name, p.dtype.name, p.access, p.is_array) for p in params] == [
        ("a", "uint8", "read", True), ("b", "float16", "read", True), ("n", "uint64", "read", False),
        ("flag", "bool", "read", False)]


def test_a_text_without_a_name_needs_a_target(tmp_path):
    with pytest.raises(TilegenError, match="does not tell its target"):
        tilegen.load(CPP, entry="twice")
    file = tmp_path / "twice.cc"
    file.write_text(CPP)
    assert tilegen.load(file, entry="twice").contract.target == "cpu"
    assert Path(file).read_text() == CPP
