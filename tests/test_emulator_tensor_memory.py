"""Tensor memory and tcgen05 of sm_100 on the emulator: products, loads and stores by themselves, a whole kernel, and its
faults."""

from __future__ import annotations

import ctypes
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

from test_emulator_async import _descriptor, _place
from tilegen.errors import TilegenError
from tilegen.runtime import emulator

GEMM = (Path(__file__).parent / "emulator" / "gemm_sm100.cu").read_text()
SHARED = 2 * (128 * 64 + 64 * 64) * 2 + 128 * 64 * 2 + 80


def run_gemm(text: str = GEMM, shape=(200, 136, 328), *, check: bool = False, order: str = "forward") -> float:
    """The worst error of the kernel for sizes (M, N, K), M up to 256: of two blocks, each with 128 rows."""
    m, n, k = shape
    rng = np.random.default_rng(0)
    a, b = (rng.standard_normal(size).astype(ml_dtypes.bfloat16) for size in ((m, k), (n, k)))
    c = np.full((m, n), np.nan, ml_dtypes.bfloat16)
    library = emulator.compile_source(text, "cuda", warp_size=32, name="gemm_sm100.cu", check=check)
    maps = [emulator.tensor_map(array, box, 128) for array, box in ((a, (128, 64)), (b, (32, 64)), (c, (128, 64)))]
    emulator.launch(library, "gemm", [2], [192], SHARED, [*maps, n, k], cluster=(2, 1, 1), order=order, seed=1)
    return float(np.abs(c.astype(np.float32) - a.astype(np.float32) @ b.astype(np.float32).T).max())


@pytest.mark.parametrize("order", emulator.ORDERS)
def test_gemm_with_a_cluster(order):
    assert run_gemm(order=order) < 0.3


@pytest.mark.parametrize("order", emulator.ORDERS)
def test_gemm_is_clean_when_checked(order):
    assert run_gemm(check=True, order=order) < 0.3


# ---- Faults put into the kernel --------------------------------------------------------------------------
FENCED = "        mbarrier_wait(&s.drained[turn.stage], turn.phase ^ 1);\n        tcgen05_fence_after();\n"
FAULTS = {
    "columns that are not allocated": (
        "tcgen05_alloc<COLUMNS>(&s.columns);", "tcgen05_alloc<64>(&s.columns);", "is not allocated", False),
    "sums that nobody waits for": (
        "        mbarrier_wait(&s.complete[turn.stage], turn.phase);\n", "", "is still to write", False),
    "a parity that is wrong": (
        "&s.complete[turn.stage], turn.phase)", "&s.complete[turn.stage], turn.phase ^ 1)", "nobody has written", True),
    "lanes of another warp": ("(warp * 32 << 16)", "((warp ^ 1) * 32 << 16)", "reaches lanes", False),
    "no end of the allocation": ("        tcgen05_dealloc<COLUMNS>(s.columns);\n", "", "without tcgen05.dealloc", False),
    "an end of another size": ("tcgen05_dealloc<COLUMNS>", "tcgen05_dealloc<32>", "not allocated like this", False),
    "a count of columns that is none": ("COLUMNS = ACCUMULATORS * BN", "COLUMNS = 96", "a power of two", False),
    "more columns than there are": (
        "        tcgen05_relinquish();", "        tcgen05_alloc<512>(&s.columns);", "would wait forever", False),
    "a permit that is gone": (
        "        tcgen05_alloc<COLUMNS>(&s.columns);\n        tcgen05_relinquish();\n",
        "        tcgen05_relinquish();\n        tcgen05_alloc<COLUMNS>(&s.columns);\n", "relinquished", False),
    "loads that nobody waits for": ("        tcgen05_wait_load();\n", "", "tcgen05.ld", False),
    "a commit that is missing": ("        tcgen05_commit(&s.complete[turn.stage]);\n", "", "deadlock", False),
    "a descriptor of sm_90": (" | 1ull << 46", "", "none of sm_100", False),
    "an instruction of 64 rows": ("BM / 16 << 24", "64 / 16 << 24", "128 rows", False),
    "sums that are written again too early": (FENCED, "        tcgen05_fence_after();\n", "tcgen05", True),
    "no fence before loads": (
        "turn.phase);\n        tcgen05_fence_after();", "turn.phase);", "after_thread_sync is missing", True),
    "no fence after loads": ("        tcgen05_fence_before();\n", "", "before_thread_sync after it", True),
    "a stage that is released too early": (
        "            tcgen05_commit_multicast(&s.empty[slot.stage], 3);\n",
        "            mbarrier_arrive_remote(&s.empty[slot.stage], 0);\n"
        "            mbarrier_arrive_remote(&s.empty[slot.stage], 1);\n", "tcgen05.mma of thread", True),
}


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault(name):
    old, new, message, check = FAULTS[name]
    assert GEMM.count(old) == 1
    with pytest.raises(TilegenError) as caught:
        run_gemm(GEMM.replace(old, new), check=check)
    assert caught.value.code == "TG0601" and message in caught.value.message


# ---- One product, for every type and layout --------------------------------------------------------------
ROWS, COLUMNS = 128, 48
PRODUCT = """
extern "C" __global__ void NAME(const unsigned char* a, const unsigned char* b, unsigned* c, unsigned long long da,
                                unsigned long long db, unsigned instruction, int a_bytes, int b_bytes)
{
    extern __shared__ __align__(1024) unsigned char shared[];
    __shared__ unsigned columns;
    __shared__ unsigned long long complete;
    unsigned char* const s[2] = {shared, shared + 16384};
    if (threadIdx.x < 32) tcgen05_alloc<64>(&columns);
    if (threadIdx.x == 0) mbarrier_init(&complete, 1);
    for (int i = threadIdx.x; i < a_bytes; i += 128) s[0][i] = a[i];
    for (int i = threadIdx.x; i < b_bytes; i += 128) s[1][i] = b[i];
    fence_async_proxy();
    __syncthreads();
    const unsigned row = columns + (threadIdx.x / 32 * 32 << 16);
    tcgen05_store_x16(c + threadIdx.x * 48, row);
    tcgen05_store_x32(c + threadIdx.x * 48 + 16, row + 16);
    tcgen05_wait_store();
    tcgen05_fence_before();
    __syncthreads();
    if (threadIdx.x == 0) {
        tcgen05_fence_after();
        tcgen05_mma_KIND(columns, da + (shared_address(s[0]) >> 4), db + (shared_address(s[1]) >> 4), instruction, 1);
        tcgen05_commit(&complete);
    }
    mbarrier_wait(&complete, 0);
    tcgen05_fence_after();
    unsigned d[48];
    tcgen05_load_x32(d, row);
    tcgen05_load_x16(d + 32, row + 32);
    tcgen05_wait_load<48>(d);
    for (int i = 0; i < 48; ++i) c[threadIdx.x * 48 + i] = d[i];
    __syncthreads();
    if (threadIdx.x < 32) tcgen05_dealloc<64>(columns);
}
"""
# The kind of a product, and what stands for the type of an operand in its instruction descriptor.
KINDS = {"float16": ("f16", 0), "bfloat16": ("f16", 1), "float32": ("tf32", 2), "float8_e4m3": ("f8f6f4", 0),
         "float8_e5m2": ("f8f6f4", 1), "int8": ("i8", 1), "uint8": ("i8", 0)}
PRODUCTS = [(dtype, layouts) for dtype in KINDS for layouts in ("KK", "KM", "MK", "MM")
            if layouts == "KK" or dtype in ("float16", "bfloat16")]


@pytest.fixture(scope="module")
def products():
    """One kernel for each kind of product."""
    kinds = sorted({kind for kind, _ in KINDS.values()})
    return emulator.compile_source("\n".join(PRODUCT.replace("NAME", f"one_{k}").replace("KIND", k) for k in kinds),
                                   "cuda", warp_size=32, check=True)


def packed(matrix: np.ndarray, layout: str, swizzle: int) -> np.ndarray:
    """The bytes of an operand (rows, depth) as they lie in shared memory."""
    size = matrix.dtype.itemsize
    data = np.zeros(16384, np.uint8)
    raw = np.ascontiguousarray(matrix).view(np.uint8).reshape(*matrix.shape, size)
    for row in range(matrix.shape[0]):
        for k in range(matrix.shape[1]):
            at = _place(row, k, size, layout, swizzle)
            data[at:at + size] = raw[row, k]
    return data


@pytest.mark.parametrize("dtype, layouts", PRODUCTS)
@pytest.mark.parametrize("swizzle", [0, 32, 64, 128])
def test_one_product(products, dtype, layouts, swizzle):
    kind, code = KINDS[dtype]
    element = np.dtype(getattr(ml_dtypes, {"float8_e4m3": "float8_e4m3fn"}.get(dtype, dtype), dtype))
    rng, depth = np.random.default_rng(7), 32 // element.itemsize
    if "M" in layouts and swizzle == 0:
        depth = 16
    low = 0 if dtype == "uint8" else -8
    a, b = (rng.integers(low, 9, (rows, depth)).astype(element) for rows in (ROWS, COLUMNS))
    if "M" in layouts and COLUMNS % (swizzle // 2 or 1):         # rows of a swizzle atom are whole
        b = rng.integers(low, 9, (64, depth)).astype(element)
    sums = np.int32 if kind == "i8" else np.float32
    c = rng.integers(-8, 9, (ROWS, COLUMNS)).astype(sums)
    want = c + a.astype(sums) @ b[:COLUMNS].astype(sums).T
    data = [packed(m, layout, swizzle) for m, layout in zip((a, b), layouts)]
    descriptors = []
    for layout in layouts:
        old = _descriptor(layout, swizzle)                       # of sm_90
        descriptors.append(old & (1 << 62) - 1 | 1 << 46 | {0: 0, 128: 2, 64: 4, 32: 6}[swizzle] << 61)
    instruction = ((2 if kind == "i8" else 1) << 4 | code << 7 | code << 10 | (layouts[0] == "M") << 15
                   | (layouts[1] == "M") << 16 | COLUMNS // 8 << 17 | ROWS // 16 << 24)
    emulator.launch(products, f"one_{kind}", [1], [128], 32768,
                    [*data, c, *map(ctypes.c_uint64, descriptors), ctypes.c_uint32(instruction), 16384, 16384])
    assert np.array_equal(c, want)
