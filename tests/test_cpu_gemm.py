"""Gemms on the CPU: every type, order and size against the interpreter."""

import linecache

import cpu_samples
import numpy as np
import pytest
from cpu_support import agrees, block_text, emitted, reasons
from tilegen import language as T
from tilegen.build import cxx
from tilegen.build.toolchain import compile_text
from tilegen.errors import TilegenError
from tilegen.frontend import instantiate

TYPES = [("float32", "float32", "float32", 1e-5), ("float16", "float32", "float16", 2e-3),
         ("bfloat16", "float32", "float32", 1e-5), ("float64", "float64", "float64", 1e-12),
         ("int8", "int32", "int32", 0)]
SIZES = [dict(M=24, N=40, K=16), dict(M=53, N=45, K=39), dict(M=1, N=1, K=1), dict(M=5, N=7, K=0),
         dict(M=0, N=3, K=4)]


def gemm(**options):
    return instantiate(cpu_samples.product, target="cpu", values=options)


@pytest.mark.parametrize("dtype, accumulator, result, error", TYPES)
def test_types(dtype, accumulator, result, error):
    function = gemm(dtype=dtype, accumulator=accumulator, result=result)
    for sizes in SIZES:
        agrees(function, sizes, error)


@pytest.mark.parametrize("a_turned, b_turned", [(True, False), (False, True), (True, True)])
def test_transposes(a_turned, b_turned):
    for sizes in SIZES:
        agrees(gemm(a_turned=a_turned, b_turned=b_turned), sizes)


@pytest.mark.parametrize("tile", [dict(BM=1, BN=1, BK=1), dict(BM=4, BN=8, BK=3), dict(BM=7, BN=17, BK=5)])
def test_tiles_that_are_no_whole_register_tiles(tile):
    for sizes in SIZES[:3]:
        agrees(gemm(**tile), sizes)


def test_a_batch():
    for sizes in (dict(Z=3, M=16, N=40, K=16), dict(Z=2, M=19, N=45, K=21), dict(Z=0, M=4, N=4, K=4)):
        agrees(cpu_samples.batched, sizes, 2e-2)


def test_two_gemms_share_a_fragment():
    for sizes in (dict(H=2, S=96), dict(H=1, S=77), dict(H=3, S=5)):
        agrees(cpu_samples.attention, sizes, 2e-3)


def test_the_copies_are_the_packing_and_the_gemm_a_register_tile():
    text = block_text(emitted(cpu_samples.matmul))
    assert "pack_rows(t.A_shared, &A[by * BM * K + ko * BK], K, rows, depth);" in text
    assert "pack_columns<load_float32>(t.B_shared, &B[ko * BK * N + bx * BN], N, depth, columns);" in text
    assert "multiply(t.A_shared[row / MR], t.B_shared[col / NR], t.C_local[row / MR][col / NR]," in text
    whole = emitted(cpu_samples.matmul)
    assert "float A_shared[BM / MR][BK][MR];" in whole and "float C_local[BM / MR][BN / NR][MR][NR];" in whole


def test_rows_outside_of_the_result_are_not_computed():
    text = block_text(emitted(cpu_samples.gemm_bias_gelu))
    assert "fill_tiles(t.C_local, rows, columns, 0.0f);" in text
    assert "for (int i = 0; i < rows; ++i)\n        for (int j = 0; j < columns; j += LANES)" in text
    for sizes in (dict(M=48, N=64, K=32), dict(M=100, N=77, K=51), dict(M=1, N=1, K=1)):
        agrees(cpu_samples.gemm_bias_gelu, sizes)


M, N = T.dynamic("M, N")


@T.prim_func
def parts(A: T.Tensor((32, 32), "float32"), B: T.Tensor((32, 32), "float32"), C: T.Tensor((32, 32), "float32"),
          D: T.Tensor((32, 32), "float64")):
    """Slices along the depth, one tile in both orders, a fragment as operand, a second type."""
    with T.Kernel(1, threads=32) as bx:
        A_shared = T.alloc_shared((32, 32), "float32")
        B_shared = T.alloc_shared((32, 32), "float32")
        first = T.alloc_fragment((32, 32), "float32")
        second = T.alloc_fragment((32, 32), "float32")
        wide = T.alloc_fragment((32, 32), "float64")
        T.copy(A, A_shared)
        T.copy(B, B_shared)
        T.clear(first)
        for k in range(2):
            T.gemm(A_shared[:, k * 16:k * 16 + 16], B_shared[k * 16:k * 16 + 16, :], first)
        T.gemm(first, B_shared, second, transpose_B=True, clear_accum=True)
        T.gemm(A_shared[0:16, :], B_shared, second[0:16, :])
        T.gemm(A_shared, B_shared, wide, transpose_A=True, clear_accum=True)
        T.copy(second, C)
        T.copy(wide, D)


def test_operands_in_another_order_are_packed_for_the_gemm():
    agrees(parts, {}, 1e-4)
    why = "\n".join(reasons(parts))
    assert "packed for this gemm" in why
    assert "three plain loops in float64: the register tile of this kernel holds float32" in why


@T.prim_func
def moving(A: T.Tensor((N, 16), "float32"), B: T.Tensor((16, 16), "float32"), C: T.Tensor((32, 16), "float32")):
    """The block of A begins where a scalar says, which changes."""
    with T.Kernel(1, threads=32) as bx:
        A_shared = T.alloc_shared((12, 16), "float32")
        B_shared = T.alloc_shared((16, 16), "float32")
        C_local = T.alloc_fragment((12, 16), "float32")
        start = T.alloc_var("int32", init=0)
        T.copy(B, B_shared)
        T.copy(A[start, 0], A_shared)
        T.gemm(A_shared, B_shared, C_local, clear_accum=True)
        T.copy(C_local, C[0, 0])
        start = 8
        T.copy(A[start, 0], A_shared)
        T.gemm(A_shared, B_shared, C_local, clear_accum=True)
        T.copy(C_local, C[start + 4, 0])


def test_a_block_whose_place_is_in_memory():
    for n in (9, 13, 40):
        agrees(moving, dict(N=n))


NAMED = """
import tilegen
import tilegen.language as T

@tilegen.jit
def product(A: T.Tensor[("M", 32), "float32"], C: T.Tensor[("M", 32), "float32"], KNOB=32):
    with T.Kernel(T.ceildiv(M, KNOB), threads=64) as TILE:
        tile = T.alloc_shared((KNOB, 32), "float32")
        square = T.alloc_shared((32, 32), "float32")
        LOCAL = T.alloc_fragment((KNOB, 32), "float32")
        T.copy(A[TILE * KNOB, 0], tile)
        T.copy(A[0:32, 0:32], square)
        T.gemm(tile, square, LOCAL, clear_accum=True)
        for i, j in T.Parallel(KNOB, 32):
            LOCAL[i, j] = T.exp(LOCAL[i, j])
        T.copy(LOCAL, C[TILE * KNOB, 0])
"""


def kernel_with(**names):
    """The kernel of NAMED with other names in it, from a file of its own."""
    text = NAMED
    for word, name in names.items():
        text = text.replace(word, name)
    file = f"<{'-'.join(names.values())}>"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    found = {}
    exec(compile(text, file, "exec"), found)
    return found["product"]


@pytest.mark.parametrize("names", [
    dict(KNOB="MR", TILE="NR", LOCAL="NV"), dict(KNOB="LANES", TILE="MR", LOCAL="MR_"),
    dict(KNOB="NR", TILE="float32x8", LOCAL="exp"), dict(KNOB="NV", TILE="load_float32", LOCAL="multiply")],
    ids=lambda names: "-".join(names.values()))
def test_names_that_the_file_has_of_its_own(names):
    """Knobs and locals called like the constants of the register tile, like a type or a function of the file."""
    kernel = kernel_with(**names)
    A = np.random.default_rng(0).random((50, 32), np.float32) / 32
    C, loaded = np.empty_like(A), kernel.specialised("cpu", None).loaded
    loaded(A, C)
    np.testing.assert_allclose(C, np.exp(A @ A[:32]), rtol=1e-5)
    assert loaded.knobs[f"{names['KNOB']}_"] == 32
    compile_text("#define TILEGEN_MAIN\n" + kernel.emit("cpu"), cxx.find("g++"), name="product", target="cpu", arch="avx2")
    assert f"constexpr int {names['KNOB']} = 32" in kernel.emit("cuda")


@pytest.mark.parametrize("name", ["MR", "NV", "LANES"])
def test_sizes_keep_the_name_that_a_caller_gives(name):
    """A size of that name would be a second constant of the file: an error at its place."""
    kernel = kernel_with(**{'"M"': f'"{name}"', "(M,": f"({name},"})
    with pytest.raises(TilegenError) as caught:
        kernel.emit("cpu")
    assert caught.value.code == "TG0008" and caught.value.message.startswith(f"{name} is what a C++ file")


def test_no_tensor_is_called_like_a_type_of_the_file():
    with pytest.raises(TilegenError, match="a type of emitted files") as caught:
        kernel_with(**{"A:": "float16:", "A[": "float16["}).emit("cpu")
    assert caught.value.code == "TG0013"
