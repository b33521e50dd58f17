"""Elementwise loops, copies and reductions on the CPU, against the interpreter and as text."""

import cpu_samples
import pytest
from cpu_support import agrees, block_text, emitted, reasons
from tilegen import language as T

M, N = T.dynamic("M, N")


@pytest.mark.parametrize("n", [0, 1, 7, 64, 200])
def test_add(n):
    agrees(cpu_samples.add, dict(N=n), 0)


def test_a_ragged_end_is_a_partial_vector_of_the_same_loop():
    text = block_text(emitted(cpu_samples.add))
    assert text.count("for (") == 1 and "const int count = std::min(BN, N - bx * BN);" in text
    assert "store_float32_first(&C[bx * BN + i]," in text and "count - i" in text


@pytest.mark.parametrize("sizes", [dict(M=1, N=1), dict(M=5, N=1000), dict(M=8, N=1024), dict(M=3, N=17)])
def test_softmax(sizes):
    agrees(cpu_samples.softmax, sizes, 1e-6)


def test_softmax_reads_like_the_kernel():
    text = block_text(emitted(cpu_samples.softmax))
    assert "store_float32(&t.X_local[i][j], exp(load_float32(&t.X_local[i][j]) - t.row_max[i]));" in text
    assert "largest[part] = max(largest[part], load_float32(&t.X_local[row][col + part * LANES]));" in \
        " ".join(text.split())


@pytest.mark.parametrize("sizes", [dict(M=32, N=32), dict(M=33, N=65), dict(M=1, N=7), dict(M=0, N=7)])
def test_transpose_is_a_plain_loop_with_a_reason(sizes):
    agrees(cpu_samples.transpose, sizes, 0)
    assert any("neighbours in j are not neighbours in tile" in r for r in reasons(cpu_samples.transpose))


@pytest.mark.parametrize("sizes", [dict(M=32, N=40), dict(M=50, N=47), dict(M=1, N=3)])
def test_reductions(sizes):
    blocks = dict(M_blocks=-(-sizes["M"] // 32), N_blocks=-(-sizes["N"] // 40))
    agrees(cpu_samples.sums, sizes | blocks, 1e-5)


@T.prim_func
def mixed(A: T.Tensor((N,), "float16"), B: T.Tensor((N,), "bfloat16"), C: T.Tensor((N,), "int8"),
          X: T.Tensor((N,), "bfloat16"), Y: T.Tensor((N,), "float16"), Z: T.Tensor((N,), "float32"),
          W: T.Tensor((N,), "int32")):
    with T.Kernel(T.ceildiv(N, 32), threads=32) as bx:
        a = T.alloc_fragment((32,), "float32")
        T.copy(A[bx * 32], a)
        for i in T.Parallel(32):
            X[bx * 32 + i] = a[i] * 1.5 + B[bx * 32 + i]
        for i in T.Parallel(32):
            Y[bx * 32 + i] = T.max(a[i], 0.25) - T.abs(B[bx * 32 + i])
        for i in T.Parallel(32):
            Z[bx * 32 + i] = T.if_then_else(i > 2, T.cast(a[i], "float16"), a[i] + T.cast(C[bx * 32 + i], "float32"))
        for i in T.Parallel(32):
            W[bx * 32 + i] = T.if_then_else(C[bx * 32 + i] > 3, C[bx * 32 + i] * 7, -i)


@pytest.mark.parametrize("n", [1, 32, 45])
def test_small_types_convert_in_vectors(n):
    agrees(mixed, dict(N=n), 1e-6)
    text = block_text(emitted(mixed))
    for name in ("load_float16_first", "load_bfloat16_first", "load_int8_first", "store_bfloat16_first",
                 "store_float16_first", "store_int32_first", "lane_numbers()"):
        assert name in text, name


@T.prim_func
def outside(A: T.Tensor((N,), "float32"), B: T.Tensor((M, N), "float32"), X: T.Tensor((N,), "float32"),
            Y: T.Tensor((M, N), "float32")):
    """Reads before and behind a tensor, a guard of the user's own, an inner loop."""
    with T.Kernel(T.ceildiv(N, 16), T.ceildiv(M, 4), threads=32) as (bx, by):
        for i in T.Parallel(16):
            if bx * 16 + i < N - 1:
                X[bx * 16 + i] = A[bx * 16 + i - 2] + A[bx * 16 + i + 3]
        for i, j in T.Parallel(4, 16):
            total = T.alloc_var("float32", init=0)
            for k in range(3):
                total += B[by * 4 + i + k, bx * 16 + j]
            Y[by * 4 + i, bx * 16 + j] = total


@pytest.mark.parametrize("sizes", [dict(M=4, N=16), dict(M=5, N=21), dict(M=1, N=1), dict(M=2, N=2)])
def test_accesses_outside_of_a_tensor(sizes):
    agrees(outside, sizes, 1e-6)


@T.prim_func
def folded(A: T.Tensor((8, 24), "int32"), B: T.Tensor((8, 24), "float64"), least: T.Tensor((8,), "int32"),
           most: T.Tensor((8,), "float64"), whole: T.Tensor((1,), "float64")):
    with T.Kernel(1, threads=32) as bx:
        a = T.alloc_fragment((8, 24), "int32")
        b = T.alloc_fragment((8, 24), "float64")
        low = T.alloc_fragment((8,), "int32")
        high = T.alloc_fragment((8,), "float64")
        total = T.alloc_fragment((1,), "float64")
        T.copy(A, a)
        T.copy(B, b)
        T.reduce_min(a, low, dim=1)
        T.reduce_max(b, high, dim=1)
        T.reduce_abssum(high, total, dim=0)
        T.copy(low, least)
        T.copy(high, most)
        T.copy(total, whole)


def test_reductions_of_other_types():
    agrees(folded, {}, 1e-12)
    assert "lowest" not in emitted(folded) and "broadcast<double>(-infinity())" in emitted(folded)
