"""Planted faults: each is found, and reported at the right line, block and thread."""

from __future__ import annotations

import numpy as np
import pytest

from test_emulator_matrix import MATMUL, run_matmul
from tilegen.errors import TilegenError
from tilegen.runtime import emulator


def fault(lines: str, *arrays: np.ndarray, block: int = 64, grid: int = 1, shared: int = 0, warp_size: int = 32,
          check: bool = True, sanitize: bool = False, **options) -> TilegenError:
    """The error of a kernel with body `lines`, whose first line is line 3 of the file."""
    kinds = {"float32": "float", "int32": "int"}
    parameters = ", ".join(f"{kinds[a.dtype.name]}* p{i}" for i, a in enumerate(arrays))
    text = f"extern \"C\" __global__ void k({parameters})\n{{\n{lines}\n}}\n"
    library = emulator.compile_source(text, "cuda", warp_size=warp_size, name="bad.cu", check=check, sanitize=sanitize)
    with pytest.raises(TilegenError) as caught:
        emulator.launch(library, "k", [grid], [block], shared, list(arrays), **options)
    assert caught.value.code == "TG0601"
    return caught.value


def other_access(error: TilegenError) -> int:
    """The line of the access that the reported one clashes with."""
    return next(note.loc.line for note in error.notes if note.message == "the other access")


def floats(n: int = 64) -> np.ndarray:
    return np.zeros(n, np.float32)


# ---- Threads that do not meet ------------------------------------------------------------------------------
@pytest.mark.parametrize("order", emulator.ORDERS)
def test_a_barrier_that_only_some_threads_reach(order):
    error = fault("int t = threadIdx.x;\nif (t < 40) {\n  __syncthreads();\n}", check=False, order=order, seed=2)
    assert "barrier divergence" in error.message and error.loc.line == 5


def test_two_barriers_in_two_branches():
    error = fault("if (threadIdx.x < 40)\n  __syncthreads();\nelse\n  __syncthreads();", check=False)
    assert "barrier divergence" in error.message and "bad.cu:4" in error.message and error.loc.line == 6


def test_an_early_exit_before_a_barrier():
    error = fault("if (threadIdx.x == 63) return;\n__syncthreads();", check=False)
    assert "thread 63 has left the kernel" in error.message and error.loc.line == 4


def test_a_deadlock_names_who_waits_where():
    error = fault("if (threadIdx.x == 5)\n  __syncwarp();\nelse\n  __syncthreads();", check=False)
    assert error.message.startswith("deadlock") and "__syncwarp (bad.cu:4)" in error.message
    assert "__syncthreads (bad.cu:6)" in error.message and "thread 5" in error.message


def test_a_shuffle_mask_that_misses_a_lane():
    error = fault("float x = threadIdx.x;\nx += __shfl_xor_sync(0x7fffffff, x, 1);\np0[threadIdx.x] = x;", floats(),
                  check=False)
    assert "lane 31" in error.message and "mask 0x7fffffff" in error.message and error.loc.line == 4


def test_a_shuffle_from_a_lane_outside_of_the_mask():
    error = fault("if (threadIdx.x < 16)\n  p0[0] = __shfl_sync(0xffff, 1.0f, 20);", floats(), check=False)
    assert "reads from lane 20" in error.message and error.loc.line == 4


def test_lanes_at_different_operations():
    error = fault("if (threadIdx.x % 2) __syncwarp();\nelse p0[0] = __shfl_sync(~0u, 1, 0);", floats(), check=False)
    assert "warp divergence" in error.message and error.loc.line in (3, 4)


def test_a_named_barrier_with_two_counts():
    error = fault("if (threadIdx.x < 32) named_barrier_sync(1, 64);\nelse named_barrier_sync(1, 32);", check=False)
    assert "others came for 64" in error.message


def test_an_endless_loop():
    error = fault("volatile float* x = p0;\nwhile (x[0] == 0) {}", floats(), check=False, timeout=0.3)
    assert "still running" in error.message and error.loc.line == 4


# ---- Asserts, traps, memory -------------------------------------------------------------------------------
def test_assert_and_trap():
    error = fault("assert(threadIdx.x < 33);", check=False)
    assert "threadIdx.x < 33" in error.message and "thread (33, 0, 0)" in error.message and error.loc.line == 3
    error = fault("if (blockIdx.x == 2) __trap();", grid=4, check=False, threads=1)
    assert "block (2, 0, 0)" in error.message


@pytest.mark.parametrize("index, check", [("threadIdx.x * 10", False), ("threadIdx.x * 10", True),
                                          ("-5000 - int(threadIdx.x)", False), ("-1 - int(threadIdx.x)", True)])
def test_a_global_access_out_of_bounds(index, check):
    error = fault(f"int i = {index};\np0[i] = 1;", floats(), check=check)
    assert "out-of-bounds" in error.message and "argument 0" in error.message and error.loc.line == 4


def test_a_global_access_by_one_element_too_far():
    error = fault("p0[threadIdx.x] = 1;", floats(63))
    assert "thread (63, 0, 0)" in error.message and "argument 0, which has 252 bytes" in error.message


def test_a_shared_access_out_of_bounds():
    error = fault("extern __shared__ float s[];\ns[threadIdx.x + 1] = 1;", shared=256)
    assert "out-of-bounds" in error.message and "thread (63, 0, 0)" in error.message and error.loc.line == 4


def test_a_declared_array_out_of_bounds():
    error = fault("float a[4];\nfor (int i = 0; i <= p1[0]; ++i) a[i] = p0[i];\np0[0] = a[p1[1]];", floats(),
                  np.array([4, 1], np.int32), sanitize=True)
    assert "index outside of its array" in error.message and error.loc.line == 4


@pytest.mark.parametrize("check", [False, True])
def test_a_misaligned_vector(check):
    error = fault("__shared__ __align__(16) float s[68];\n"
                  "*reinterpret_cast<float4*>(&s[threadIdx.x + 1]) = make_float4(p0[0], 2, 3, 4);", floats(), block=1,
                  check=check)
    assert "misaligned" in error.message and error.loc.line == 4


def test_a_misaligned_copy():
    error = fault("__shared__ __align__(16) float s[68];\ncp_async_16(&s[1], p0, true);", floats(), check=False)
    assert "misaligned" in error.message and error.loc.line == 4


def test_a_stack_that_is_too_large():
    error = fault("volatile float a[100000];\na[p1[0]] = 1;", floats(), np.zeros(1, np.int32), check=False)
    assert "stack" in error.message


def test_integer_overflow():
    error = fault("p0[0] = 2147483647 + p0[1];", np.ones(2, np.int32), sanitize=True, block=1)
    assert "addition that overflows" in error.message and error.loc.line == 3


def test_division_by_zero():
    error = fault("p0[0] = 7 / p0[1];", np.zeros(2, np.int32), check=False)
    assert "division by zero" in error.message


# ---- Races and what nobody wrote --------------------------------------------------------------------------
@pytest.mark.parametrize("order", emulator.ORDERS)
def test_a_missing_barrier(order):
    error = fault("__shared__ float s[64];\ns[threadIdx.x] = 1;\n\np0[threadIdx.x] = s[63 - threadIdx.x];", floats(),
                  order=order, seed=4)
    assert error.loc.line in (4, 6)
    assert "data race" in error.message or "nobody has written" in error.message


def test_a_missing_barrier_before_the_next_write():
    error = fault("__shared__ float s[64];\nfor (int i = 0; i < 2; ++i) {\n  s[threadIdx.x] = i;\n  __syncthreads();\n"
                  "  p0[threadIdx.x] += s[63 - threadIdx.x];\n}", floats())
    assert "data race" in error.message and {error.loc.line, other_access(error)} == {5, 7}


def test_two_threads_write_one_address():
    error = fault("__shared__ float s[64];\ns[threadIdx.x / 2] = threadIdx.x;\n__syncthreads();\np0[0] = s[0];", floats())
    assert "data race" in error.message and "thread (0, 0, 0) wrote" in error.message
    assert "thread (1, 0, 0), bad.cu:4" in error.message


def test_a_read_of_what_nobody_wrote():
    error = fault("__shared__ float s[64];\nif (threadIdx.x != 7) s[threadIdx.x] = 1;\n__syncthreads();\n"
                  "p0[threadIdx.x] = s[threadIdx.x];", floats())
    assert "nobody has written" in error.message and "thread (7, 0, 0)" in error.message and error.loc.line == 6


def test_a_warp_that_needs_a_warp_barrier():
    error = fault("__shared__ float s[32];\ns[threadIdx.x] = 1;\np0[threadIdx.x] = s[threadIdx.x ^ 1];", floats(),
                  block=32, order="reverse")
    assert "data race" in error.message or "nobody has written" in error.message


def test_two_blocks_write_one_element():
    error = fault("p0[threadIdx.x + blockIdx.x * 63] = 1;", floats(128), grid=2)
    assert "data race" in error.message and "block (0, 0, 0) wrote" in error.message and "block (1, 0, 0)" in error.message


def test_two_threads_write_one_global_element():
    error = fault("p0[threadIdx.x / 2] = 1;", floats())
    assert "data race" in error.message and error.loc.line == 3


def test_a_plain_access_beside_an_atomic_one():
    error = fault("__shared__ int s;\nif (threadIdx.x == 0) s = 0;\n__syncthreads();\nif (threadIdx.x == 1) s = 3;\n"
                  "else atomicAdd(&s, 1);", np.zeros(1, np.int32))
    assert "data race" in error.message and error.loc.line in (6, 7)


@pytest.mark.parametrize("lines", [
    "__shared__ float s[64];\ns[threadIdx.x] = 1;\n__syncthreads();\np0[threadIdx.x] = s[63 - threadIdx.x];\n"
    "__syncthreads();\ns[threadIdx.x] = 2;",
    "__shared__ float s[64];\ns[threadIdx.x] = 1;\n__syncwarp();\np0[threadIdx.x] = s[threadIdx.x ^ 1];",
    "__shared__ int s;\nif (threadIdx.x == 0) s = 0;\n__syncthreads();\natomicAdd(&s, 1);\n__syncthreads();\np0[0] = p0[0] + 0 * s;"
    .replace("p0[0] = p0[0]", "p0[threadIdx.x] = p0[threadIdx.x]"),
    "atomicAdd(p0, 1.0f);"])
def test_correct_programs_are_not_accused(lines):
    text = f"__global__ void k(float* p0)\n{{\n{lines}\n}}\n"
    library = emulator.compile_source(text, "cuda", warp_size=32, check=True)
    for order in emulator.ORDERS:
        emulator.launch(library, "k", [1], [64], 0, [floats()], order=order, seed=1)


# ---- Asynchronous copies, in a whole kernel ----------------------------------------------------------------
def planted(old: str, new: str, shape=(72, 136, 200)) -> TilegenError:
    assert old in MATMUL
    with pytest.raises(TilegenError) as caught:
        run_matmul(MATMUL.replace(old, new), shape, check=True)
    assert caught.value.code == "TG0601"
    return caught.value


def line_of(text: str) -> int:
    return next(number for number, line in enumerate(MATMUL.splitlines(), 1) if text in line)


def test_a_removed_barrier_in_a_pipeline():
    assert planted("__syncthreads(); ", "").loc.line == line_of("ldmatrix_x4(a[i]")


def test_a_wait_that_leaves_one_group_too_many():
    error = planted("cp_async_wait<STAGES - 2>", "cp_async_wait<STAGES - 1>")
    assert "asynchronous copy" in error.message and error.loc.line == line_of("ldmatrix_x4(a[i]")
    assert other_access(error) == line_of("cp_async_16(&s.A_shared")


def test_a_wait_too_weak_spoils_the_result_without_the_checker():
    assert np.isnan(run_matmul(MATMUL.replace("cp_async_wait<STAGES - 2>", "cp_async_wait<STAGES - 1>"), (72, 136, 200)))


def test_a_wrong_swizzle_spoils_the_result():
    wrong = MATMUL.replace("ldmatrix_x4(a[i], &A_tile[row][swizzle(row, col)])", "ldmatrix_x4(a[i], &A_tile[row][col])")
    assert wrong != MATMUL and run_matmul(wrong, (64, 128, 128)) > 0.1


def test_a_ragged_edge_without_a_guard():
    assert planted("m < M && k < K);", "k < K);").loc.line == line_of("cp_async_16(&s.A_shared")
    assert "out-of-bounds" in planted("if (m < M && n < N)", "if (n < N)").message


def test_a_stage_that_is_refilled_too_early():
    assert "asynchronous copy" in planted("const int stage = ko % STAGES;", "const int stage = 0;").message


def test_bank_conflicts_are_counted():
    text = ("__global__ void k(float* out) {\n  __shared__ float s[32][32], padded[32][33];\n  int t = threadIdx.x;\n"
            "  for (int r = 0; r < 32; ++r) s[r][t] = r;\n  for (int r = 0; r < 32; ++r) padded[r][t] = r;\n  __syncwarp();\n"
            "  float sum = 0;\n  for (int c = 0; c < 32; ++c) sum += s[t][c];\n  for (int c = 0; c < 32; ++c) sum += padded[t][c];\n"
            "  out[t] = sum;\n}\n")
    library = emulator.compile_source(text, "cuda", warp_size=32, check=True)
    uses = {use.line: use for use in emulator.launch(library, "k", [1], [32], 0, [floats(32)]).bank_uses}
    assert uses[4].ways == 1 and uses[8].ways == 32 and uses[9].ways == 1
    assert uses[8].instructions == 32 and uses[8].kind == "read" and uses[8].worst == 32 and uses[8].bytes == 4
