"""Gemms on matrix instructions: every dtype, orientation and arch, emulated, against the interpreter."""

import linecache
import re

import numpy
import pytest
from tilegen import arith, check
from tilegen.api import jit
from tilegen.errors import TilegenError
from tilegen.interpret import run as interpret
from tilegen.runtime.load import load

SOURCE = '''
import tilegen.language as T


def product(A: T.Tensor[{a_shape}, "{operand}"], B: T.Tensor[{b_shape}, "{operand}"],
            C: T.Tensor[("M", "N"), "{accumulator}"], BM={BM}, BN={BN}, BK={BK}):
    with T.Kernel(T.ceildiv(N, BN), T.ceildiv(M, BM), threads={threads}) as (bx, by):
        A_shared = T.alloc_shared({a_tile}, "{operand}")
        B_shared = T.alloc_shared({b_tile}, "{operand}")
        C_local = T.alloc_fragment((BM, BN), "{accumulator}")
        T.clear(C_local)
        for ko in T.Pipelined(T.ceildiv(K, BK), num_stages=2):
            T.copy(A[{a_place}], A_shared)
            T.copy(B[{b_place}], B_shared)
            T.gemm(A_shared, B_shared, C_local, transpose_A={ta}, transpose_B={tb}, policy={policy})
        T.copy(C_local, C[by * BM, bx * BN])
'''


def kernel_of(operand, accumulator, ta, tb, tile, threads, policy="T.GemmWarpPolicy.Square"):
    """The kernel of SOURCE with these choices."""
    BM, BN, BK = tile
    text = SOURCE.format(
        operand=operand, accumulator=accumulator, ta=ta, tb=tb, BM=BM, BN=BN, BK=BK, threads=threads, policy=policy,
        a_shape='("K", "M")' if ta else '("M", "K")', b_shape='("N", "K")' if tb else '("K", "N")',
        a_tile="(BK, BM)" if ta else "(BM, BK)", b_tile="(BN, BK)" if tb else "(BK, BN)",
        a_place="ko * BK, by * BM" if ta else "by * BM, ko * BK",
        b_place="bx * BN, ko * BK" if tb else "ko * BK, bx * BN")
    name = f"<product {hash(text)}>"
    linecache.cache[name] = (len(text), None, text.splitlines(True), name)
    space: dict = {}
    exec(compile(text, name, "exec"), space)
    return jit(space["product"])


def arguments(parsed, sizes):
    rng = numpy.random.default_rng(7)
    result = []
    for p in parsed.params:
        shape = tuple(arith.evaluate(e, sizes) for e in p.buffer.shape)
        dtype = p.buffer.dtype
        values = rng.integers(-8, 8, shape) if dtype.is_integer else rng.random(shape) - 0.5
        result.append(numpy.full(shape, 77).astype(dtype.numpy) if p.access == "write" else values.astype(dtype.numpy))
    return result


def verify(kernel, arch, instruction, shapes=((64, 64, 64), (70, 50, 45))):
    """The emitted text holds `instruction` ('' for none) and computes what the interpreter does."""
    special = kernel.specialised("cuda", arch, {})
    assert (instruction in special.source) if instruction else ("mma_m" not in special.source)
    run = load(special.source, target="emulator")
    for M, N, K in shapes:
        sizes = {"M": M, "N": N, "K": K}
        want, got = arguments(special.kernel, sizes), arguments(special.kernel, sizes)
        interpret(special.kernel, dict(zip("ABC", want)), sizes)
        run(*got)
        dtype = special.kernel.params[2].buffer.dtype
        result = check.compare("C", got[2], want[2], check.tolerance(special.kernel, dtype, sizes))
        assert result.ok, result


TYPES = [("float16", "float32", "sm_80", 32, "mma_m16n8k16_f16"), ("bfloat16", "float32", "sm_80", 32, "mma_m16n8k16_bf16"),
         ("float16", "float32", "sm_75", 32, "mma_m16n8k8_f16"), ("bfloat16", "float32", "sm_80", 24, "mma_m16n8k8_bf16"),
         ("int8", "int32", "sm_80", 32, "mma_m16n8k32_s8"), ("int8", "int32", "sm_80", 16, "mma_m16n8k16_s8"),
         ("uint8", "int32", "sm_80", 32, "mma_m16n8k32_u8"), ("float8_e4m3", "float32", "sm_90a", 32, "mma_m16n8k32_e4m3"),
         ("float8_e5m2", "float32", "sm_89", 32, "mma_m16n8k32_e5m2"), ("float16", "float16", "sm_80", 32, "mma_m16n8k16_f16_f16"),
         ("float16", "float16", "sm_75", 32, "mma_m16n8k8_f16_f16"), ("tfloat32", "float32", "sm_80", 32, "mma_m16n8k8_tf32"),
         ("tfloat32", "float32", "sm_80", 12, "mma_m16n8k4_tf32"), ("float64", "float64", "sm_80", 16, "mma_m8n8k4_f64"),
         ("float64", "float64", "sm_90a", 16, "mma_m16n8k16_f64"), ("int8", "int32", "sm_75", 32, "mma_m8n8k16_s8"),
         ("uint8", "int32", "sm_75", 32, "mma_m8n8k16_u8"), ("float16", "float32", "sm_70", 32, "mma_m8n8k4_f16")]


@pytest.mark.parametrize("transposed", [(False, False), (False, True), (True, False), (True, True)], ids=["NN", "NT", "TN", "TT"])
@pytest.mark.parametrize("operand, accumulator, arch, depth, instruction", TYPES, ids=lambda v: str(v))
def test_types_and_orientations(operand, accumulator, arch, depth, instruction, transposed):
    verify(kernel_of(operand, accumulator, *transposed, (64, 64, depth), 128), arch, instruction)


@pytest.mark.parametrize("tile, threads", [((16, 32, 16), 32), ((48, 80, 16), 96), ((128, 32, 32), 256), ((32, 256, 32), 256),
                                           ((16, 8, 16), 32), ((32, 24, 32), 64), ((256, 64, 16), 1024)])
@pytest.mark.parametrize("transposed", [(False, False), (True, True)], ids=["NN", "TT"])
def test_tiles_and_warps(tile, threads, transposed):
    verify(kernel_of("float16", "float32", *transposed, tile, threads), "sm_80", "mma_m16n8k16_f16")


@pytest.mark.parametrize("operand, accumulator, arch, tile, threads, instruction", [
    ("float16", "float32", "sm_70", (16, 16, 4), 32, "mma_m8n8k4_f16"),
    ("float16", "float32", "sm_70", (32, 96, 8), 96, "mma_m8n8k4_f16"),
    ("float16", "float32", "sm_75", (16, 8, 8), 32, "mma_m16n8k8_f16"),
    ("int8", "int32", "sm_75", (8, 8, 16), 32, "mma_m8n8k16_s8"),
    ("int8", "int32", "sm_80", (40, 64, 32), 128, "mma_m8n8k16_s8"),
    ("uint8", "int32", "sm_80", (16, 24, 16), 32, "mma_m16n8k16_u8"),
    ("float64", "float64", "sm_80", (8, 8, 4), 32, "mma_m8n8k4_f64"),
    ("float64", "float64", "sm_90", (24, 16, 12), 96, "mma_m8n8k4_f64"),
    ("float64", "float64", "sm_90", (16, 8, 8), 32, "mma_m16n8k8_f64"),
    ("tfloat32", "float32", "sm_80", (16, 8, 8), 32, "mma_m16n8k8_tf32"),
    ("tfloat32", "float32", "sm_80", (32, 40, 4), 64, "mma_m16n8k4_tf32"),
    ("float8_e4m3", "float32", "sm_89", (16, 8, 32), 32, "mma_m16n8k32_e4m3")])
def test_small_tiles(operand, accumulator, arch, tile, threads, instruction):
    for transposed in ((False, False), (False, True)):
        verify(kernel_of(operand, accumulator, *transposed, tile, threads), arch, instruction)


@pytest.mark.parametrize("policy", ["Square", "FullRow", "FullCol"])
def test_warp_policies(policy):
    kernel = kernel_of("float16", "float32", False, False, (64, 64, 32), 128, f"T.GemmWarpPolicy.{policy}")
    columns = {"Square": 2, "FullRow": 1, "FullCol": 4}[policy]
    assert f"constexpr int WARPS_N = {columns};" in kernel.specialised("cuda", "sm_80", {}).source
    verify(kernel, "sm_80", "mma_m16n8k16_f16")


@pytest.mark.parametrize("operand, accumulator, arch, tile, reason", [
    ("float32", "float32", "sm_90a", (64, 64, 32), "has no mma of float32 into float32; tiles of tfloat32 are"),
    ("float16", "float16", "sm_70", (64, 64, 32), "has no mma of float16 into float16"),
    ("float8_e4m3", "float32", "sm_80", (64, 64, 32), "has no mma of float8_e4m3"),
    ("float16", "float32", "sm_80", (64, 64, 12), "is no multiple of the instruction's"),
    ("float16", "float32", "sm_80", (40, 64, 16), "cannot divide 40 x 64"),
    ("bfloat16", "float32", "sm_75", (64, 64, 32), "sm_75 has no mma"),
    ("float16", "float32", "sm_70", (64, 64, 6), "is no multiple of the instruction's, 4")])
def test_why_not(operand, accumulator, arch, tile, reason):
    kernel = kernel_of(operand, accumulator, False, False, tile, 128)
    notes = dict(kernel.specialised("cuda", arch, {}).planned.plan.notes)
    assert reason in notes["gemm into C_local"]
    verify(kernel, arch, "", shapes=((64, 64, 64), (33, 50, 45)))


def test_a_row_that_ldmatrix_cannot_read_does_not_compile(monkeypatch):
    """A pitch turned in the file which its vectors still divide."""
    padded = SOURCE.replace("BK={BK})", "BK={BK}, PITCH=40)").replace("{a_tile}", "(BM, PITCH)")
    monkeypatch.setitem(globals(), "SOURCE", padded.replace("gemm(A_shared,", "gemm(A_shared[:, 0:BK],"))
    text = kernel_of("float16", "float32", False, False, (64, 64, 32), 128).specialised("cuda", "sm_80", {}).source
    for knob, value in (("A_VEC", 4), ("PITCH", 36)):
        text, count = re.subn(rf"constexpr int {knob} = \d+;", f"constexpr int {knob} = {value};", text)
        assert count == 1
    with pytest.raises(TilegenError, match="rows start at multiples of 16 bytes, as ldmatrix needs"):
        load(text, target="emulator")(*(numpy.zeros((64, 64), t) for t in ("float16", "float16", "float32")))
