"""Hopper's engines on the emulator: TMA with every swizzle, mbarriers, clusters, wgmma, and their faults."""

from __future__ import annotations

import ctypes
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

from test_emulator_faults import other_access
from test_emulator_matrix import lanes_of, matrix_of
from tilegen import dtypes
from tilegen.errors import TilegenError
from tilegen.wgmma import wgmma_a, wgmma_sums
from tilegen.runtime import emulator

GEMM = (Path(__file__).parent / "emulator" / "gemm_sm90.cu").read_text()
SHARED = 2 * (64 * 64 + 128 * 64) * 2 + 2 * 64 * 64 * 2 + 32


def run_gemm(text: str = GEMM, shape=(200, 136, 328), *, check: bool = False, order: str = "forward") -> float:
    """The worst error of the kernel for sizes (M, N, K)."""
    m, n, k = shape
    rng = np.random.default_rng(0)
    a, b = (rng.standard_normal(size).astype(ml_dtypes.bfloat16) for size in ((m, k), (n, k)))
    c = np.full((m, n), np.nan, ml_dtypes.bfloat16)
    library = emulator.compile_source(text, "cuda", warp_size=32, name="gemm_sm90.cu", check=check)
    maps = [emulator.tensor_map(array, (64, 64), 128) for array in (a, b, c)]
    emulator.launch(library, "gemm", [-(-m // 128) * 2, -(-n // 128)], [256], SHARED, [*maps, k], cluster=(2, 1, 1),
                    order=order, seed=1)
    return float(np.abs(c.astype(np.float32) - a.astype(np.float32) @ b.astype(np.float32).T).max())


@pytest.mark.parametrize("order", emulator.ORDERS)
def test_gemm_with_a_cluster(order):
    assert run_gemm(order=order) < 0.3


def test_gemm_is_clean_when_checked():
    assert run_gemm(check=True) < 0.3


def planted(old: str, new: str, check: bool = True) -> TilegenError:
    assert old in GEMM
    with pytest.raises(TilegenError) as caught:
        run_gemm(GEMM.replace(old, new), check=check)
    assert caught.value.code == "TG0601"
    return caught.value


def line_of(text: str) -> int:
    return next(number for number, line in enumerate(GEMM.splitlines(), 1) if text in line)


def test_a_swapped_parity():
    error = planted("mbarrier_wait(&s.full[slot.stage], slot.phase);", "mbarrier_wait(&s.full[slot.stage], slot.phase ^ 1);")
    assert error.loc.line == line_of("wgmma_ss") and ("asynchronous" in error.message or "nobody" in error.message)
    error = planted("mbarrier_wait(&s.empty[slot.stage], slot.phase ^ 1);\n        mbarrier_arrive",
                    "mbarrier_wait(&s.empty[slot.stage], slot.phase);\n        mbarrier_arrive", check=False)
    assert error.message.startswith("deadlock") and "mbarrier_wait" in error.message


def test_too_few_bytes_expected():
    error = planted("sizeof s.A_shared[0] + sizeof s.B_shared[0]", "sizeof s.A_shared[0]", check=False)
    assert error.code == "TG0601"


def test_sums_read_before_the_wait():
    wrong = GEMM.replace("        wgmma_wait<0>();\n", "").replace("    for (int j = 0; j < BN / 8", "    float early = "
                         "sums[1];\n    wgmma_wait<0>();\n    sums[1] = early;\n    for (int j = 0; j < BN / 8")
    assert np.isnan(run_gemm(wrong, (128, 128, 64)))


def test_a_kernel_that_never_waits_for_its_products():
    error = planted("        wgmma_wait<0>();\n", "", check=False)
    assert "without waiting for this wgmma" in error.message and error.loc.line == line_of("wgmma_ss")


def test_a_stage_released_before_its_products_are_done():
    wrong = GEMM.replace("        wgmma_wait<0>();\n", "").replace(
        "    for (int j = 0; j < BN / 8", "    wgmma_wait<0>();\n    for (int j = 0; j < BN / 8")
    with pytest.raises(TilegenError) as caught:
        run_gemm(wrong, check=True)
    assert "wgmma of thread" in caught.value.message and "still reads" in caught.value.message
    assert caught.value.loc.line in (line_of("tma_load_2d("), line_of("tma_load_2d_multicast"))


def test_a_missing_proxy_fence():
    error = planted("    fence_async_proxy();\n", "")
    assert "fence_async_proxy" in error.message and error.loc.line == line_of("tma_store_2d") - 1
    assert other_access(error) == line_of("stmatrix_x4")


def test_a_barrier_with_a_wrong_count():
    error = planted("mbarrier_init(&s.empty[i], 4 * CLUSTER);", "mbarrier_init(&s.empty[i], 3);", check=False)
    assert "mbarrier" in error.message


def test_a_wrong_swizzle_spoils_the_result():
    assert run_gemm(GEMM.replace("1ull << 62", "2ull << 62"), (128, 128, 64)) > 1


def test_an_uninitialised_barrier():
    error = planted("            mbarrier_init(&s.full[i], 1);\n", "", check=False)
    assert "no initialised mbarrier" in error.message


def test_registers_that_nobody_gives_back():
    error = planted("        setmaxnreg_dec<40>();\n", "", check=False)
    assert error.message.startswith("deadlock") and "no registers are free" in error.message
    assert error.loc.line == line_of("setmaxnreg_inc") - 1


# ---- TMA alone -----------------------------------------------------------------------------------------
COPY = """
extern "C" __global__ void copy(const __grid_constant__ CUtensorMap from, const __grid_constant__ CUtensorMap to,
                                unsigned char* raw, int x, int y)
{
    __shared__ __align__(1024) unsigned char box[4096];
    __shared__ unsigned long long bar;
    if (threadIdx.x == 0) {
        mbarrier_init(&bar, 1);
        mbarrier_arrive_expect(&bar, BYTES);
        tma_load_2d(box, &from, &bar, x, y);
        mbarrier_wait(&bar, 0);
        for (int i = 0; i < BYTES; ++i) raw[i] = box[i];
        tma_store_2d(&to, box, x, y);
        tma_store_commit();
        tma_store_wait_read<0>();
    }
}
"""


@pytest.mark.parametrize("swizzle", [0, 32, 64, 128])
@pytest.mark.parametrize("x, y", [(0, 0), (24, 5), (-8, -3), (40, 30)])
def test_tma_boxes(swizzle, x, y):
    """A box is loaded, looked at, and stored again; what lies outside of the tensor is zero, and is not stored."""
    columns, rows = (swizzle or 64) // 2, 16
    source = np.arange(1, 33 * 48 + 1, dtype=np.int16).reshape(33, 48)
    target = np.zeros_like(source)
    raw = np.zeros((rows, columns), np.int16)
    text = COPY.replace("BYTES", str(raw.nbytes))
    library = emulator.compile_source(text, "cuda", warp_size=32, check=True)
    maps = [emulator.tensor_map(array, (rows, columns), swizzle) for array in (source, target)]
    emulator.launch(library, "copy", [1], [32], 0, [*maps, raw, x, y])
    padded = np.zeros((33 + 64, 48 + 128), np.int16)
    padded[32:65, 64:112] = source
    box = padded[32 + y:32 + y + rows, 64 + x:64 + x + columns]
    wanted = np.zeros_like(raw)
    for row in range(rows):                      # 16-byte chunks are XORed with the 128-byte line they are in
        for chunk in range(columns // 8):
            line = row * columns * 2 // 128
            place = chunk if swizzle == 0 else chunk ^ line % (swizzle // 16)
            wanted[row, 8 * place:8 * place + 8] = box[row, 8 * chunk:8 * chunk + 8]
    assert np.array_equal(raw, wanted)
    stored = np.zeros_like(padded)
    stored[32 + y:32 + y + rows, 64 + x:64 + x + columns] = box
    assert np.array_equal(target, stored[32:65, 64:112])


# ---- wgmma by itself, for every type and layout ----------------------------------------------------------
PRODUCT = """
extern "C" __global__ void NAME(const unsigned char* a, const unsigned char* b, SUM* c, unsigned long long da,
                                   unsigned long long db, int a_bytes, int b_bytes)
{
    extern __shared__ __align__(1024) unsigned char shared[];
    unsigned char* const s[2] = {shared, shared + 8192};
    for (int i = threadIdx.x; i < a_bytes; i += 128) s[0][i] = a[i];
    for (int i = threadIdx.x; i < b_bytes; i += 128) s[1][i] = b[i];
    fence_async_proxy();
    __syncthreads();
    SUM d[8];
    for (int i = 0; i < 8; ++i) d[i] = c[threadIdx.x * 8 + i];
    wgmma_fence();
    CALL
    wgmma_commit();
    wgmma_wait<0>();
    for (int i = 0; i < 8; ++i) c[threadIdx.x * 8 + i] = d[i];
}
"""


def _place(row: int, k: int, size: int, layout: str, swizzle: int) -> int:
    """The byte of element (row, k) in a packed operand tile."""
    if layout == "K":
        if not swizzle:                          # 8 x 16-byte core matrices, those along k next to each other
            return (row // 8 * 2 + k * size // 16) * 128 + row % 8 * 16 + k * size % 16
        byte = row * swizzle + k * size
    else:                                        # 16-bit elements, the row index is contiguous
        if not swizzle:
            return (row // 8 * 2 + k // 8) * 128 + k % 8 * 16 + row % 8 * 2
        across = swizzle // 2
        byte = row // across * 16 * swizzle + k * swizzle + row % across * 2
    return byte ^ (byte >> 7) % (swizzle // 16) << 4


def _descriptor(layout: str, swizzle: int) -> int:
    """Without the address: leading and stride offsets in 16-byte units, and the swizzle mode."""
    mode = {0: 0, 128: 1, 64: 2, 32: 3}[swizzle]
    if not swizzle:
        leading, stride = 128, 256
    elif layout == "K":
        leading, stride = 16, 8 * swizzle
    else:
        leading, stride = 16 * swizzle, 8 * swizzle
    return leading >> 4 << 16 | stride >> 4 << 32 | mode << 62


OPERANDS = {"bfloat16": dtypes.bfloat16, "float16": dtypes.float16, "float8_e4m3": dtypes.float8_e4m3,
            "float8_e5m2": dtypes.float8_e5m2, "signed char": dtypes.int8, "float": dtypes.float32}
# K: contiguous along k, M: along the other dimension, which the hardware has for 16-bit types alone; R: A is in
# registers
PRODUCTS = [(kind, layouts) for kind in OPERANDS for layouts in ("KK", "RK", "KM", "MK", "MM", "RM")
            if "M" not in layouts or kind in ("bfloat16", "float16")]


@pytest.fixture(scope="module")
def products():
    """One kernel for each type and pair of layouts."""
    texts = []
    for kind, layouts in PRODUCTS:
        flags = "".join(f", {str(layout == 'M').lower()}" for layout in layouts if layout != "R")
        if layouts[0] == "R":
            call = (f"wgmma_rs<{kind}{flags}>(d, reinterpret_cast<const unsigned*>(a) + threadIdx.x * 4, "
                    "db + (shared_address(s[1]) >> 4), 1);")
        else:
            call = (f"wgmma_ss<{kind}{flags}>(d, da + (shared_address(s[0]) >> 4), "
                    "db + (shared_address(s[1]) >> 4), 1);")
        texts.append(PRODUCT.replace("SUM", "int" if kind == "signed char" else "float").replace("CALL", call)
                     .replace("NAME", f"{kind.replace(' ', '_')}_{layouts}"))
    return emulator.compile_source("\n".join(texts), "cuda", warp_size=32)


@pytest.mark.parametrize("kind, layouts", PRODUCTS)
@pytest.mark.parametrize("swizzle", [0, 32, 64, 128])
def test_one_wgmma(products, kind, swizzle, layouts):
    dtype = OPERANDS[kind].numpy
    m, n, k = 64, 16, 32 // dtype.itemsize
    rng = np.random.default_rng(2)
    tiles, images = [], []
    for rows, layout in ((m, layouts[0]), (n, layouts[1])):
        tile = rng.integers(-4, 5, (rows, k)).astype(dtype)
        image = np.zeros(8192 // dtype.itemsize, dtype)
        for row in range(rows):
            for depth in range(k):
                if layout != "R":
                    image[_place(row, depth, dtype.itemsize, layout, swizzle) // dtype.itemsize] = tile[row, depth]
        if layout == "R":
            in_lanes = lanes_of(wgmma_a(OPERANDS[kind]), tile)
            image[:in_lanes.size] = in_lanes.reshape(-1)
        tiles.append(tile.astype(np.int64))
        images.append(image.view(np.uint8))
    sum_type = np.int32 if kind == "signed char" else np.float32
    c = rng.integers(-9, 9, (m, n)).astype(sum_type)
    registers = lanes_of(wgmma_sums(n), c)
    emulator.launch(products, f"{kind.replace(' ', '_')}_{layouts}", [1], [128], 16384, [
        *images, registers, ctypes.c_ulonglong(_descriptor(layouts[0], swizzle)), ctypes.c_ulonglong(_descriptor(layouts[1], swizzle)), 8192, 8192])
    assert np.array_equal(matrix_of(wgmma_sums(n), registers), c + tiles[0] @ tiles[1].T)
