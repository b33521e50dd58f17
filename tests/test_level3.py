"""Kernels that steer the hardware: T.copy_async, T.sync, T.gemm_warp, T.use_swizzle, T.annotate_min_blocks_per_sm."""

import linecache
import os
import re

import numpy
import pytest
from tilegen import arith, check, frontend, layout
from tilegen import language as T
from tilegen.api import Factory, jit
from tilegen.errors import TilegenError
from tilegen.interpret import run as interpret
from tilegen.runtime.load import load

# As shared with users: the third level of the language.
LEVEL3 = '''
import tilegen
import tilegen.language as T


@tilegen.jit(target="cuda")
def matmul(M, N, K, block_M=128, block_N=128, block_K=32, stages=3, warp_tile=(32, 64)):
    @T.prim_func
    def kernel(A: T.Tensor((M, K), "float16"), B: T.Tensor((K, N), "float16"), C: T.Tensor((M, N), "float32")):
        with T.Kernel(T.ceildiv(N, block_N), T.ceildiv(M, block_M), threads=256) as (bx, by):
            A_shared = T.alloc_shared((block_M, block_K), "float16")
            B_shared = T.alloc_shared((block_K, block_N + 4), "float16")      # padding is legal and honoured
            C_local = T.alloc_fragment(warp_tile, "float32")                  # one warp tile per warp: 8 warps cover 128 x 128
            T.clear(C_local)
            for ko in T.Pipelined(T.ceildiv(K, block_K), num_stages=stages):
                T.copy_async(A[by * block_M, ko * block_K], A_shared)
                T.copy_async(B[ko * block_K, bx * block_N], B_shared)
                T.sync()
                for ki in range(0, block_K, 16):
                    T.gemm_warp(A_shared[:, ki:ki + 16], B_shared[ki:ki + 16, :], C_local, tile_shape=warp_tile)
            T.copy(C_local, C[by * block_M, bx * block_N])
    return kernel
'''

# One product of any orientation, with padding of each operand and the depth in slices.
PRODUCT = '''
import tilegen.language as T


def product(A: T.Tensor[{a_shape}, "{operand}"], B: T.Tensor[{b_shape}, "{operand}"],
            C: T.Tensor[("M", "N"), "{accumulator}"], BM=32, BN=64, BK=32):
    with T.Kernel(T.ceildiv(N, BN), T.ceildiv(M, BM), threads=64) as (bx, by):
        A_shared = T.alloc_shared({a_tile}, "{operand}")
        B_shared = T.alloc_shared({b_tile}, "{operand}")
        C_local = T.alloc_fragment((32, 32), "{accumulator}")
        T.clear(C_local)
        for ko in range(T.ceildiv(K, BK)):
            T.copy_async(A[{a_place}], A_shared{a_part})
            T.copy_async(B[{b_place}], B_shared{b_part})
            T.sync()
            T.gemm_warp(A_shared{a_part}, B_shared{b_part}, C_local, (32, 32), {ta}, {tb})
        T.copy(C_local, C[by * BM, bx * BN])
'''

TARGETS = [("cuda", "sm_80"), ("cuda", "sm_75"), ("hip", "gfx942"), ("maca", "xcore1000"), ("cpu", "avx2")]
on_every_target = pytest.mark.parametrize("target, arch", TARGETS, ids=lambda v: v)
ORIENTATIONS = [(False, False), (False, True), (True, False), (True, True)]


def made(text, name=None, **values):
    """The kernel that a text defines."""
    file = f"<level 3 {hash(text)}>"
    linecache.cache[file] = (len(text), None, text.splitlines(True), file)
    space = {"T": T}
    exec(compile(text, file, "exec"), space)
    found = jit(space[name]) if name else space["matmul"]
    return found(**values) if isinstance(found, Factory) else found.specialize(**values)


def level3(**values):
    sizes = {name: T.dynamic(name) for name in "MNK"}
    return made(LEVEL3, **(sizes | values))


def product(operand="float16", accumulator="float32", ta=False, tb=False, a_pad=0, b_pad=0):
    def tile(turned, rows, pad):
        return f"(BK, {rows} + {pad})" if turned else f"({rows}, BK + {pad})"

    def part(turned, rows):
        return f"[:, :{rows}]" if turned else "[:, :BK]"
    return made(PRODUCT.format(
        operand=operand, accumulator=accumulator, ta=ta, tb=tb, a_tile=tile(ta, "BM", a_pad), b_tile=tile(not tb, "BN", b_pad),
        a_part=part(ta, "BM"), b_part=part(not tb, "BN"), a_shape='("K", "M")' if ta else '("M", "K")',
        b_shape='("N", "K")' if tb else '("K", "N")', a_place="ko * BK, by * BM" if ta else "by * BM, ko * BK",
        b_place="bx * BN, ko * BK" if tb else "ko * BK, bx * BN"), "product")


def arguments(parsed, sizes):
    rng = numpy.random.default_rng(5)
    result = {}
    for p in parsed.params:
        shape = tuple(arith.evaluate(e, sizes) for e in p.buffer.shape)
        dtype = p.buffer.dtype
        values = rng.integers(-8, 8, shape) if dtype.is_integer else rng.random(shape) - 0.5
        values = numpy.full(shape, 77) if p.access == "write" else values
        result[p.name] = values.astype(dtype.numpy)
    return result


def verify(kernel, target, arch, *shapes, text=None):
    """The text for a target computes what the interpreter does; the text is given back."""
    special = kernel.specialised(target, arch, {})
    text = text or special.source
    run = load(text, target=None if target == "cpu" else "emulator")
    for M, N, K in shapes:
        sizes = {"M": M, "N": N, "K": K}
        want, got = arguments(special.kernel, sizes), arguments(special.kernel, sizes)
        interpret(special.kernel, want, {v.name: sizes[v.name] for v in special.kernel.sizes})
        run(**got)
        for p in special.kernel.params:
            if p.access != "read":
                numbers = {**sizes, **{k.name: k.value for k in special.kernel.knobs}}
                allowed = check.tolerance(special.kernel, p.buffer.dtype, numbers)
                result = check.compare(p.name, got[p.name], want[p.name], allowed)
                assert result.ok, result
    return text


def notes(kernel, target="cuda", arch="sm_80"):
    return dict(kernel.specialised(target, arch, {}).planned.plan.notes)


# ---- The kernel as users know it -----------------------------------------------------------------
@on_every_target
def test_the_kernel_of_level_3(target, arch):
    verify(level3(), target, arch, (128, 128, 64), (131, 137, 41), (1, 1, 1))


def test_the_kernel_of_level_3_with_fixed_sizes():
    verify(level3(M=160, N=96, K=72), "cuda", "sm_80", (160, 96, 72))


@pytest.mark.parametrize("knobs", [{"block_M": 64, "block_N": 256}, {"block_K": 64, "stages": 2}, {"warp_tile": (64, 32)}],
                         ids=str)
def test_other_knobs(knobs):
    verify(level3(**knobs), "cuda", "sm_80", (130, 260, 70))


def test_the_text_of_level_3():
    text = level3().specialised("cuda", "sm_80", {}).source
    assert "constexpr int WARPS_N = 2;" in text and "mma_m16n8k16_f16" in text
    assert "float16 B_shared[stages][block_K][block_N + 4];" in text
    assert "s.A_shared[stage][row][swizzle<float16, block_K>(row, ki + col)]" in text
    assert "b[j][q] = gather_pair<block_N + 4>(&s.B_shared[stage][ki + row][col]);" in text
    assert "block_K % 16 == 0" in text
    sync = re.search(r"// .*:\d+  T\.sync\(\)\n +cp_async_wait<stages - 2>\(\);\n +__syncthreads\(\);  // why: stage ko", text)
    assert sync and text.count("T.sync()") == 1 and text.count("__syncthreads();") == 1


def test_what_explain_says_of_level_3():
    found = notes(level3())
    assert "on 4 x 2 warps, each 32 x 64" in found["gemm into C_local"]
    assert "B_shared is gathered element by element: its rows do not start at multiples of 16" in found["gemm into C_local"]
    assert found["bank conflicts of B_shared"] == ("the kernel's own padding of 4 column(s) is kept: the worst access "
                                                   "takes 1 pass(es), without it 4")
    assert "4 x 2" not in notes(level3(), "hip", "gfx942")["gemm into C_local"]


def test_scalar_products_keep_the_grid_of_warps():
    text = level3(warp_tile=(128, 16)).specialised("hip", "gfx942", {}).source
    assert "constexpr int THREADS_N = 64;" in text
    assert "constexpr int THREADS_N = 16;" in level3().specialised("hip", "gfx942", {}).source


# ---- T.gemm_warp ---------------------------------------------------------------------------------
@pytest.mark.parametrize("pads", [(0, 0), (2, 2), (1, 3)], ids=["aligned", "words", "odd"])
@pytest.mark.parametrize("ta, tb", ORIENTATIONS, ids=["NN", "NT", "TN", "TT"])
def test_operands_of_every_alignment(ta, tb, pads):
    text = verify(product(ta=ta, tb=tb, a_pad=pads[0], b_pad=pads[1]), "cuda", "sm_80", (64, 64, 64), (35, 70, 45))
    assert "mma_m16n8k16_f16" in text
    if pads == (0, 0):
        assert "gather_pair" not in text and "load_register" not in text and "ldmatrix_x4" in text
    else:
        assert "ldmatrix" not in text
        words = (not ta) + tb if pads[0] % 2 == 0 else 0
        assert text.count("= load_register(") == words and text.count("= gather_pair<") == 2 - words


@pytest.mark.parametrize("arch, instruction", [("sm_75", "mma_m16n8k8_f16"), ("sm_90a", "mma_m16n8k16_f16")])
@pytest.mark.parametrize("ta, tb", ORIENTATIONS, ids=["NN", "NT", "TN", "TT"])
def test_other_archs(arch, instruction, ta, tb):
    assert instruction in verify(product(ta=ta, tb=tb, a_pad=2, b_pad=2), "cuda", arch, (64, 64, 64), (35, 70, 45))


@pytest.mark.parametrize("ta, tb", ORIENTATIONS, ids=["NN", "NT", "TN", "TT"])
@pytest.mark.parametrize("pads", [(4, 4), (1, 2)], ids=["words", "odd"])
def test_bytes(pads, ta, tb):
    kernel = product("int8", "int32", ta, tb, *pads)
    assert "mma_m16n8k32_s8" in verify(kernel, "cuda", "sm_80", (64, 64, 64), (35, 70, 45))


@on_every_target
@pytest.mark.parametrize("dtype", ["bfloat16", "float32"])
def test_other_types(dtype, target, arch):
    verify(product(dtype, b_pad=4), target, arch, (64, 64, 64), (35, 70, 45))


def test_the_fragment_is_the_tile_of_the_block():
    """T.fill, T.Parallel, T.copy and a reduction see the block's tile."""
    text = '''
import tilegen.language as T

def biased(A: T.Tensor[("M", 64), "float16"], B: T.Tensor[(64, 64), "float16"], C: T.Tensor[("M", 64), "float32"],
           S: T.Tensor[("M",), "float32"]):
    with T.Kernel(T.ceildiv(M, 128), threads=128) as bx:
        A_shared = T.alloc_shared((128, 64), "float16")
        B_shared = T.alloc_shared((64, 64), "float16")
        C_local = T.alloc_fragment((32, 64), "float32")
        total = T.alloc_fragment((128,), "float32")
        T.copy(A[bx * 128, 0], A_shared)
        T.copy(B, B_shared)
        T.fill(C_local, 1)
        T.gemm_warp(A_shared, B_shared, C_local, tile_shape=(32, 64))
        for i, j in T.Parallel(128, 64):
            C_local[i, j] = C_local[i, j] * 2 + j
        T.reduce_sum(C_local, total, dim=1)
        T.copy(total, S[bx * 128])
        T.copy(C_local, C[bx * 128, 0])
'''
    kernel = made(text, "biased")
    for target, arch in TARGETS:
        emitted = verify(kernel, target, arch, (128, 64, 64), (150, 64, 64))
        assert ("mma_m16n8k16_f16" in emitted) == (arch == "sm_80")


def test_warps_that_share_rows_cannot_be_reduced_by_mma():
    text = '''
import tilegen.language as T

def totals(A: T.Tensor[(64, 64), "float16"], S: T.Tensor[(64,), "float32"]):
    with T.Kernel(1, threads=128):
        A_shared = T.alloc_shared((64, 64), "float16")
        C_local = T.alloc_fragment((32, 32), "float32")
        total = T.alloc_fragment((64,), "float32")
        T.copy(A, A_shared)
        T.gemm_warp(A_shared, A_shared, C_local, tile_shape=(32, 32), clear_accum=True)
        T.reduce_sum(C_local, total, dim=1)
        T.copy(total, S)
'''
    kernel = made(text, "totals")
    assert notes(kernel)["gemm into C_local"] == ("scalar multiply-add: a warp has to hold whole rows of C_local, and 2 warps "
                                                  "share them")
    verify(kernel, "cuda", "sm_80", (64, 64, 64))


def test_errors_mark_both_operands():
    with pytest.raises(TilegenError) as caught:
        level3(block_N=192).specialised("cuda", "sm_80", {}).kernel
    lines = str(caught.value).splitlines()
    assert "256 threads are 8 warps of 32 x 64, which do not cover 128 x 196" in lines[0]
    assert lines[4].split("|")[1].split() == ["^" * len("A_shared[:, ki:ki + 16]"), "^" * len("B_shared[ki:ki + 16, :]")]


# ---- T.copy_async and T.sync ---------------------------------------------------------------------
HALVES = '''
import tilegen.language as T

def halves(A: T.Tensor[("M", 64), "float32"], B: T.Tensor[("M", 64), "float32"]):
    with T.Kernel(1, threads=64):
        tile = T.alloc_shared((2, 8, 64), "float32")
        T.copy_async(A[0:8, :], tile[0, :, :])
        T.sync()
        for k in range(T.ceildiv(M, 8)):
            T.copy_async(A[(k + 1) * 8, 0], tile[(k + 1) % 2, :, :])
            for i, j in T.Parallel(8, 64):
                B[k * 8 + i, j] = 2 * tile[k % 2, i, j]
            T.sync()
'''


@on_every_target
def test_two_halves_of_a_tile(target, arch):
    text = verify(made(HALVES, "halves"), target, arch, (8, 1, 1), (29, 1, 1))
    if target == "cuda":
        assert text.count("cp_async_commit();\n") == text.count("cp_async_wait<0>();\n") == 2 * (arch == "sm_80")
    if target != "cpu":
        assert text.count("__syncthreads();  // why: asked for by T.sync") == text.count("__syncthreads()") == 2


def test_a_copy_with_conversion_is_not_in_the_background():
    text = HALVES.replace('tile = T.alloc_shared((2, 8, 64), "float32")', 'tile = T.alloc_shared((2, 8, 64), "float16")')
    assert "cp_async" not in verify(made(text, "halves"), "cuda", "sm_80", (29, 1, 1))


def test_the_interpreter_shows_a_missing_sync():
    parsed = frontend.parse(made(HALVES.replace("            T.sync()\n", ""), "halves").__wrapped__)
    given = {"A": numpy.ones((16, 64), "float32"), "B": numpy.zeros((16, 64), "float32")}
    interpret(parsed, given)
    assert (given["B"][:8] == 2).all() and numpy.isnan(given["B"][8:]).all()


def test_the_emulator_shows_a_missing_sync():
    """The text without its wait reads a tile that is on its way."""
    special = made(HALVES, "halves").specialised("cuda", "sm_80", {})
    text = special.source.replace("cp_async_wait<0>();", "")
    with pytest.raises((AssertionError, TilegenError)):
        verify(made(HALVES, "halves"), "cuda", "sm_80", (29, 1, 1), text=text)


def test_copies_of_its_own_in_a_pipelined_loop():
    """T.sync waits for the copy in the body, which the pipeline does not run ahead."""
    text = '''
import tilegen.language as T

def scaled(A: T.Tensor[("M", 64), "float32"], B: T.Tensor[("M", 64), "float32"]):
    with T.Kernel(1, threads=64):
        tile = T.alloc_shared((8, 64), "float32")
        first = T.alloc_shared((8, 64), "float32")
        for k in T.Pipelined(T.ceildiv(M, 8), num_stages=2):
            T.copy_async(A[k * 8, 0], tile)
            T.sync()
            for i, j in T.Parallel(8, 64):
                tile_sum = tile[i, j] + 1
                B[k * 8 + i, j] = tile_sum
            T.copy_async(A[0:4, :], first[0:4, :])
            T.copy_async(A[4:8, :], first[4:8, :])
            T.sync()
            for i, j in T.Parallel(8, 64):
                B[k * 8 + i, j] = tile[i, j] * first[i, j]
'''
    for target, arch in TARGETS[:1] + TARGETS[2:]:
        found = verify(made(text, "scaled"), target, arch, (8, 1, 1), (29, 1, 1))
        if arch == "sm_80":
            assert found.count("cp_async_wait<0>();") == 1 and "cp_async_wait<2 - 2>" not in found
            assert found.count("cp_async_wait<STAGES - 2>();") == 1


# ---- The launch ----------------------------------------------------------------------------------
ORDERED = '''
import tilegen.language as T

def numbered(C: T.Tensor[("M", "N"), "int32"], BZ=2, panel={panel}):
    with T.Kernel(T.ceildiv(N, 8), T.ceildiv(M, 8), BZ, threads=32) as (bx, by, bz):
        T.use_swizzle(panel, order="{order}")
        for i, j in T.Parallel(8, 8):
            if bz == 1:
                C[by * 8 + i, bx * 8 + j] = by * 100 + bx
'''


@pytest.mark.parametrize("order", ["row", "column"])
@pytest.mark.parametrize("panel", [1, 3, 4, 50])
def test_every_block_runs_once_in_panels(order, panel):
    kernel = made(ORDERED.format(order=order, panel=panel), "numbered")
    text = verify(kernel, "cuda", "sm_80", (56, 40, 0), (8, 8, 0), (24, 100, 0), (100, 8, 0))
    assert f"{order}_panels<panel>(bx, by);" in text and "const int bz = blockIdx.z;" in text


@on_every_target
def test_panels_on_every_target(target, arch):
    verify(made(ORDERED.format(order="row", panel=3), "numbered"), target, arch, (56, 40, 0))


@pytest.mark.parametrize("order", ["row", "column"])
def test_the_order_of_blocks(order, monkeypatch):
    """The blocks of a panel before those of the next one; in a panel, its short side first."""
    text = f'''
import tilegen.language as T

def first(C: T.Tensor[(2, 15), "int32"], n: T.Tensor[(1,), "int32"]):
    with T.Kernel(3, 5, threads=32) as (bx, by):
        T.use_swizzle(2, order="{order}")
        for i in T.Parallel(1):
            place = n[0]
            C[0, place] = bx
            C[1, place] = by
            n[0] = place + 1
'''
    monkeypatch.setattr(os, "cpu_count", lambda: 1)                     # the emulator runs one block after the other
    run = load(made(text, "first").specialised("cuda", "sm_80", {}).source, target="emulator")
    C, n = numpy.zeros((2, 15), "int32"), numpy.zeros(1, "int32")
    run(C, n)
    width, height = (3, 5) if order == "row" else (5, 3)
    expected = [(along, across) for start in range(0, height, 2) for along in range(width)
                for across in range(start, min(start + 2, height))]
    pairs = C.T.tolist() if order == "row" else C[::-1].T.tolist()
    assert [tuple(pair) for pair in pairs] == expected


def test_a_number_becomes_the_knob_panel():
    text = LEVEL3.replace("T.clear(C_local)\n", "T.use_swizzle(6)\n            T.clear(C_local)\n")
    special = made(text, **{n: T.dynamic(n) for n in "MNK"}).specialised("cuda", "sm_80", {})
    assert "constexpr int PANEL = 6;" in special.source and "row_panels<PANEL>(bx, by);" in special.source
    assert "panels of 6 rows of blocks" in dict(special.planned.plan.notes)["order of blocks"]
    assert "PANEL" not in level3().specialised("cuda", "sm_80", {}).source
    off = text.replace("T.use_swizzle(6)", "T.use_swizzle(6, enable=False)")
    assert "PANEL" not in made(off, **{n: T.dynamic(n) for n in "MNK"}).specialised("cuda", "sm_80", {}).source


def test_a_cpu_says_that_it_has_its_own_order():
    found = notes(made(ORDERED.format(order="row", panel=2), "numbered"), "cpu", "avx2")
    assert "changes nothing" in found["order of blocks"]


def with_blocks(number):
    return made(LEVEL3.replace("T.clear(C_local)\n", f"T.annotate_min_blocks_per_sm({number})\n            T.clear(C_local)\n"),
                **{n: T.dynamic(n) for n in "MNK"})


def test_blocks_on_an_sm():
    special = with_blocks(1).specialised("cuda", "sm_80", {})
    assert "constexpr int MIN_BLOCKS = 1;" in special.source
    assert "constexpr int MIN_BLOCKS = 2;" in level3().specialised("cuda", "sm_80", {}).source
    assert "as T.annotate_min_blocks_per_sm asks" in dict(special.planned.plan.notes)["registers"]
    assert "MIN_BLOCKS" not in with_blocks(2).specialised("hip", "gfx942", {}).source
    assert "changes nothing on hip" in notes(with_blocks(2), "hip", "gfx942")["registers"]


def test_too_many_blocks_on_an_sm():
    with pytest.raises(TilegenError) as caught:
        with_blocks(9).specialised("cuda", "sm_80", {}).planned
    assert caught.value.code == "TG0202" and "ask for 8 at most" in caught.value.hint


# ---- Banks ---------------------------------------------------------------------------------------
def test_elements_of_two_bytes_touch_one_bank():
    assert layout.bank_conflicts([2 * lane for lane in range(32)], 2) == 1
    assert layout.bank_conflicts([128 * lane + 2 for lane in range(4)], 2) == 4
    assert layout.bank_conflicts([4 * lane + 2 for lane in range(32)], 2) == 1
