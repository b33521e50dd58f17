"""Kernels whose fragments are hard to lay out: cases from the issue trackers of tile languages, and their kin."""

from __future__ import annotations

import tilegen.language as T
from operation_cases import Case

CASES: list[Case] = []


def case(*sizes, rtol=None):
    """Registers a kernel, run on each of `sizes`."""

    def register(function):
        CASES.append(Case(function.__name__, function, {}, sizes or ({},), rtol))
        return function

    return register


@case()
def group_reduction(A: T.Tensor[(16, 448), "float32"], B: T.Tensor[(16, 14), "float32"]):
    """[16, 448] -> [16, 14]: a fragment seen as 14 groups of 32 columns."""
    with T.Kernel(1, threads=128) as _:
        x = T.alloc_fragment((16, 448), "float32")
        top = T.alloc_fragment((16, 14), "float32")
        T.copy(A, x)
        groups = T.reshape(x, (16, 14, 32))
        T.reduce_absmax(groups, top, dim=2)
        T.copy(top, B)


@case()
def group_scaling(A: T.Tensor[(16, 448), "float32"], B: T.Tensor[(16, 448), "float32"]):
    """Each group divided by its largest: the result of the reduction is read under j // 32."""
    with T.Kernel(1, threads=128) as _:
        x = T.alloc_fragment((16, 448), "float32")
        top = T.alloc_fragment((16, 14), "float32")
        T.copy(A, x)
        groups = T.reshape(x, (16, 14, 32))
        T.reduce_absmax(groups, top, dim=2)
        for i, j in T.Parallel(16, 448):
            x[i, j] = x[i, j] / (top[i, j // 32] + 1.0)
        T.copy(x, B)


@case()
def width_96(A: T.Tensor[(8, 96), "float32"], B: T.Tensor[(8,), "float32"]):
    with T.Kernel(1, threads=128) as _:
        x = T.alloc_fragment((8, 96), "float32")
        total = T.alloc_fragment((8,), "float32")
        T.copy(A, x)
        T.reduce_sum(x, total, dim=1)
        T.copy(total, B)


@case()
def a_vector_of_96(A: T.Tensor[(96,), "float32"], B: T.Tensor[(1,), "float32"]):
    with T.Kernel(1, threads=128) as _:
        x = T.alloc_fragment((96,), "float32")
        total = T.alloc_fragment((1,), "float32")
        T.copy(A, x)
        T.reduce_sum(x, total, dim=0)
        T.copy(total, B)


@case()
def widths_80_and_14(A: T.Tensor[(14, 80), "float32"], B: T.Tensor[(14, 80), "float32"],
                     C: T.Tensor[(80,), "float32"]):
    with T.Kernel(1, threads=96) as _:
        x = T.alloc_fragment((14, 80), "float32")
        rows = T.alloc_fragment((14,), "float32")
        cols = T.alloc_fragment((80,), "float32")
        T.copy(A, x)
        T.reduce_max(x, rows, dim=1)
        T.reduce_sum(x, cols, dim=0)
        for i, j in T.Parallel(14, 80):
            x[i, j] = x[i, j] - rows[i] + cols[j]
        T.copy(x, B)
        T.copy(cols, C)


@case()
def product_of_80(A: T.Tensor[(80, 48), "float16"], B: T.Tensor[(48, 96), "float16"],
                  C: T.Tensor[(80, 96), "float32"]):
    """No side of the product is a power of two."""
    with T.Kernel(1, threads=128) as _:
        a = T.alloc_shared((80, 48), "float16")
        b = T.alloc_shared((48, 96), "float16")
        c = T.alloc_fragment((80, 96), "float32")
        T.copy(A, a)
        T.copy(B, b)
        T.clear(c)
        T.gemm(a, b, c)
        T.copy(c, C)


@case()
def loops_of_three_extents(A: T.Tensor[(128,), "float32"], B: T.Tensor[(128,), "float32"]):
    """Loops over the whole of a fragment, half of it, and a quarter that starts later."""
    with T.Kernel(1, threads=64) as _:
        x = T.alloc_fragment((128,), "float32")
        for i in T.Parallel(128):
            x[i] = A[i]
        for i in T.Parallel(64):
            x[i] = x[i] * 2.0
        for i in T.Parallel(32):
            x[i + 96] = x[i + 96] + 1.0
        for i in T.Parallel(128):
            B[i] = x[i]


@case()
def fragments_of_two_extents(A: T.Tensor[(128,), "float32"], B: T.Tensor[(64,), "float32"]):
    with T.Kernel(1, threads=32) as _:
        x = T.alloc_fragment((128,), "float32")
        y = T.alloc_fragment((64,), "float32")
        T.copy(A, x)
        for i in T.Parallel(64):
            y[i] = x[i] + x[i + 64]
        T.copy(y, B)


@case()
def written_in_serial(A: T.Tensor[(256,), "float32"], B: T.Tensor[(256,), "float32"]):
    """A fragment that plain loops write and read."""
    with T.Kernel(1, threads=128) as _:
        x = T.alloc_fragment((256,), "float32")
        for i in T.serial(256):
            x[i] = A[i] + 1.0
        for i in T.Parallel(256):
            x[i] = x[i] * 2.0
        for i in T.serial(255):
            x[i + 1] = x[i + 1] * 0.5 + x[i] * 0.25
        T.copy(x, B)


@case()
def one_element(A: T.Tensor[(8, 32), "float32"], B: T.Tensor[(8, 32), "float32"]):
    """An element that all threads read, outside of any loop over the fragment."""
    with T.Kernel(1, threads=32) as _:
        x = T.alloc_fragment((8, 32), "float32")
        T.copy(A, x)
        pivot = x[3, 5]
        x[2, 2] = pivot + 1.0
        for i, j in T.Parallel(8, 32):
            B[i, j] = x[i, j] - pivot


@case({"N": 256})
def read_then_overwritten(A: T.Tensor[("N", 32), "float32"], B: T.Tensor[("N", 32), "float32"]):
    """A pipeline whose body changes the tile that the next stage fills."""
    with T.Kernel(1, threads=64) as _:
        tile = T.alloc_shared((32, 32), "float32")
        x = T.alloc_fragment((32, 32), "float32")
        T.clear(x)
        for k in T.Pipelined(T.ceildiv(N, 32), num_stages=3):
            T.copy(A[k * 32, 0], tile)
            for i, j in T.Parallel(32, 32):
                x[i, j] = x[i, j] + tile[i, j]
            for i, j in T.Parallel(32, 32):
                tile[i, j] = x[i, j] * 0.5
            T.copy(tile, B[k * 32, 0])


@case()
def strided_columns(A: T.Tensor[(16, 64), "float32"], B: T.Tensor[(16, 64), "float32"]):
    """Even and odd columns of a fragment, as in a rotary embedding."""
    with T.Kernel(1, threads=64) as _:
        x = T.alloc_fragment((16, 64), "float32")
        y = T.alloc_fragment((16, 64), "float32")
        T.copy(A, x)
        for i, j in T.Parallel(16, 32):
            y[i, 2 * j] = x[i, 2 * j] - x[i, 2 * j + 1]
            y[i, 2 * j + 1] = x[i, 2 * j] + x[i, 2 * j + 1]
        T.copy(y, B)


@case({"K": 45}, {"K": 64}, {"K": 24})
def k_tails(A: T.Tensor[(32, "K"), "float16"], B: T.Tensor[("K", 32), "float16"], C: T.Tensor[(32, 32), "float32"]):
    """A block depth that is 8 above a multiple of 16, and sizes that are no multiple of it."""
    with T.Kernel(1, threads=64) as _:
        a = T.alloc_shared((32, 24), "float16")
        b = T.alloc_shared((24, 32), "float16")
        c = T.alloc_fragment((32, 32), "float32")
        T.clear(c)
        for k in T.Pipelined(T.ceildiv(K, 24), num_stages=2):
            T.copy(A[0, k * 24], a)
            T.copy(B[k * 24, 0], b)
            T.gemm(a, b, c)
        T.copy(c, C)


@case()
def two_products_one_accumulator(A: T.Tensor[(64, 32), "float16"], B: T.Tensor[(32, 64), "float16"],
                                 D: T.Tensor[(64, 64), "float16"], C: T.Tensor[(64, 64), "float32"]):
    """Two products into one fragment, of different depths and orientations."""
    with T.Kernel(1, threads=128) as _:
        a = T.alloc_shared((64, 32), "float16")
        b = T.alloc_shared((32, 64), "float16")
        d = T.alloc_shared((64, 64), "float16")
        c = T.alloc_fragment((64, 64), "float32")
        T.copy(A, a)
        T.copy(B, b)
        T.copy(D, d)
        T.gemm(a, b, c, clear_accum=True)
        T.gemm(d, d, c, transpose_A=True)
        T.copy(c, C)


@case()
def scores_cast(Q: T.Tensor[(64, 32), "float16"], V: T.Tensor[(64, 32), "float16"], O: T.Tensor[(64, 32), "float32"]):
    """acc_s and acc_s_cast: the rounded scores are the operand of the next product."""
    with T.Kernel(1, threads=128) as _:
        q = T.alloc_shared((64, 32), "float16")
        v = T.alloc_shared((64, 32), "float16")
        acc_s = T.alloc_fragment((64, 64), "float32")
        acc_s_cast = T.alloc_fragment((64, 64), "float16")
        acc_o = T.alloc_fragment((64, 32), "float32")
        T.copy(Q, q)
        T.copy(V, v)
        T.gemm(q, q, acc_s, transpose_B=True, clear_accum=True)
        T.copy(acc_s, acc_s_cast)
        T.gemm(acc_s_cast, v, acc_o, clear_accum=True)
        T.copy(acc_o, O)


@case()
def scores_cast_beside_columns(Q: T.Tensor[(64, 32), "float16"], O: T.Tensor[(64, 32), "float32"]):
    """The same with warps in columns, where a warp does not hold whole rows of the scores."""
    with T.Kernel(1, threads=128) as _:
        q = T.alloc_shared((64, 32), "float16")
        acc_s = T.alloc_fragment((64, 64), "float32")
        acc_s_cast = T.alloc_fragment((64, 64), "float16")
        acc_o = T.alloc_fragment((64, 32), "float32")
        T.copy(Q, q)
        T.gemm(q, q, acc_s, transpose_B=True, clear_accum=True, policy=T.GemmWarpPolicy.FullCol)
        T.copy(acc_s, acc_s_cast)
        T.gemm(acc_s_cast, q, acc_o, clear_accum=True, policy=T.GemmWarpPolicy.FullCol)
        T.copy(acc_o, O)


@case()
def transposed_reading(A: T.Tensor[(32, 32), "float32"], B: T.Tensor[(32, 32), "float32"]):
    with T.Kernel(1, threads=64) as _:
        x = T.alloc_fragment((32, 32), "float32")
        y = T.alloc_fragment((32, 32), "float32")
        T.copy(A, x)
        for i, j in T.Parallel(32, 32):
            y[i, j] = x[i, j] + x[j, i]
        T.copy(y, B)


@case()
def row_beside_column(A: T.Tensor[(32, 32), "float32"], B: T.Tensor[(32, 32), "float32"]):
    """One vector along both sides of a tile."""
    with T.Kernel(1, threads=64) as _:
        x = T.alloc_fragment((32, 32), "float32")
        total = T.alloc_fragment((32,), "float32")
        T.copy(A, x)
        T.reduce_sum(x, total, dim=1)
        for i, j in T.Parallel(32, 32):
            x[i, j] = x[i, j] * total[i] - total[j]
        T.copy(x, B)


@case()
def sums_of_both_sides(A: T.Tensor[(32, 32), "float32"], B: T.Tensor[(32,), "float32"]):
    """Sums of rows and of columns, added."""
    with T.Kernel(1, threads=64) as _:
        x = T.alloc_fragment((32, 32), "float32")
        rows = T.alloc_fragment((32,), "float32")
        cols = T.alloc_fragment((32,), "float32")
        T.copy(A, x)
        T.reduce_sum(x, rows, dim=1)
        T.reduce_sum(x, cols, dim=0)
        for i in T.Parallel(32):
            rows[i] = rows[i] - cols[i]
        T.copy(rows, B)


@case()
def parts_of_fragments(A: T.Tensor[(32, 64), "float32"], B: T.Tensor[(32, 64), "float32"],
                       C: T.Tensor[(64,), "float32"], D: T.Tensor[(2, 32), "float32"]):
    """Slices of fragments: halves that change places, a single row, a single column."""
    with T.Kernel(1, threads=64) as _:
        x = T.alloc_fragment((32, 64), "float32")
        y = T.alloc_fragment((32, 64), "float32")
        row = T.alloc_fragment((64,), "float32")
        T.copy(A, x)
        T.copy(x[:, 32:64], y[:, 0:32])
        T.copy(x[:, 0:32], y[:, 32:64])
        T.fill(y[4:8, 16:20], 3.0)
        T.copy(x[3, :], row)
        T.copy(y, B)
        T.copy(row, C)
        T.copy(x[:, 5], D[0, :])
        T.copy(x[0:32, 6], D[1, :])


@case()
def parts_into_fragments(A: T.Tensor[(32, 64), "float32"], B: T.Tensor[(32, 64), "float32"]):
    """A fragment filled by slices from global and shared memory."""
    with T.Kernel(1, threads=64) as _:
        x = T.alloc_fragment((32, 64), "float32")
        tile = T.alloc_shared((32, 64), "float32")
        T.copy(A, tile)
        T.copy(A[0:16, 0:64], x[16:32, :])
        T.copy(tile[0:16, 3:64], x[0:16, 0:61])
        T.copy(A[0:16, 0:3], x[0:16, 61:64])
        T.copy(tile[7, :], x[30, :])
        T.copy(A[:, 9], x[:, 2])
        T.copy(x, B)


@case()
def reductions_of_parts(A: T.Tensor[(16, 64), "float32"], B: T.Tensor[(3, 16), "float32"]):
    with T.Kernel(1, threads=64) as _:
        x = T.alloc_fragment((16, 64), "float32")
        sums = T.alloc_fragment((16,), "float32")
        T.copy(A, x)
        T.reduce_sum(x[:, 0:32], sums, dim=1)
        T.copy(sums, B[0, :])
        T.reduce_max(x[:, 40:56], sums, dim=1)
        T.copy(sums, B[1, :])
        T.reduce_sum(x[8:16, :], sums[0:8], dim=1)
        T.copy(sums, B[2, :])


@case()
def merged_dimensions(A: T.Tensor[(8, 4, 16), "float32"], B: T.Tensor[(8, 64), "float32"],
                      C: T.Tensor[(512,), "int32"]):
    """A fragment with fewer dimensions, and its bits as integers."""
    with T.Kernel(1, threads=64) as _:
        x = T.alloc_fragment((8, 4, 16), "float32")
        T.copy(A, x)
        rows = T.reshape(x, (8, 64))
        for i, j in T.Parallel(8, 64):
            rows[i, j] = rows[i, j] + T.cast(j, "float32")
        T.copy(rows, B)
        bits = T.view(x, (512,), dtype="int32")
        for i in T.Parallel(512):
            C[i] = bits[i] & 255


@case()
def four_loops(A: T.Tensor[(4, 8, 16), "float32"], B: T.Tensor[(4, 8, 16), "float32"]):
    """Loops in an order of their own, and a loop with a condition around the write."""
    with T.Kernel(1, threads=64) as _:
        x = T.alloc_fragment((4, 8, 16), "float32")
        T.copy(A, x)
        for j, k, i in T.Parallel(8, 16, 4):
            x[i, j, k] = x[i, j, k] * 2.0
        for i, j, k in T.Parallel(4, 8, 16):
            if j < 4:
                x[i, j, k] = x[3 - i, 7 - j, k]
        T.copy(x, B)


@case()
def operand_turned(A: T.Tensor[(64, 64), "float16"], B: T.Tensor[(64, 32), "float16"], C: T.Tensor[(64, 32), "float32"]):
    """The transpose of a fragment as the left operand, a fragment as the right one."""
    with T.Kernel(1, threads=128) as _:
        a = T.alloc_fragment((64, 64), "float16")
        b = T.alloc_fragment((64, 32), "float16")
        c = T.alloc_fragment((64, 32), "float32")
        T.copy(A, a)
        T.copy(B, b)
        T.clear(c)
        T.gemm(a, b, c, transpose_A=True)
        T.gemm(a, b, c)
        T.copy(c, C)


@case()
def one_writer_of_a_row(A: T.Tensor[(16, 64), "float32"], B: T.Tensor[(16,), "float32"]):
    """A value that one iteration of many writes for its whole row, and a loop that all of them read it in."""
    with T.Kernel(1, threads=64) as _:
        x = T.alloc_fragment((16, 64), "float32")
        picked = T.alloc_fragment((16,), "float32")
        T.copy(A, x)
        T.clear(picked)
        for i, j in T.Parallel(16, 64):
            if j == i + 3:
                picked[i] = x[i, j]
        for i, j in T.Parallel(16, 64):
            x[i, j] = x[i, j] - picked[i]
        T.reduce_sum(x, picked, dim=1)
        T.copy(picked, B)


@case()
def copies_and_memory_in_one_loop(A: T.Tensor[(16, 64), "float32"], B: T.Tensor[(16, 64), "float32"],
                                  C: T.Tensor[(16,), "float32"]):
    """A loop that writes a replicated fragment and a tensor: each thread needs its copy, one writes the tensor."""
    with T.Kernel(1, threads=128) as _:
        x = T.alloc_fragment((16, 64), "float32")
        scale = T.alloc_fragment((16,), "float32")
        T.copy(A, x)
        T.reduce_max(x, scale, dim=1)
        for i in T.Parallel(16):
            scale[i] = scale[i] * 2.0 + 1.0
            C[i] = scale[i]
        for i, j in T.Parallel(16, 64):
            B[i, j] = x[i, j] * scale[i]


@case()
def a_loop_longer_than_its_fragment(A: T.Tensor[(128,), "float32"], B: T.Tensor[(128,), "float32"]):
    with T.Kernel(1, threads=32) as _:
        x = T.alloc_fragment((64,), "float32")
        T.clear(x)
        for i in T.Parallel(128):
            if i < 64:
                x[i] = A[i] * 2.0
            B[i] = A[i]
        T.copy(x, B[0:64])


@case()
def threads_that_are_no_warps(A: T.Tensor[(24, 40), "float32"], B: T.Tensor[(24,), "float32"],
                              C: T.Tensor[(40,), "float32"]):
    """48 threads: barriers and reductions of a block whose last warp is half empty."""
    with T.Kernel(1, threads=48) as _:
        tile = T.alloc_shared((24, 40), "float32")
        x = T.alloc_fragment((24, 40), "float32")
        rows = T.alloc_fragment((24,), "float32")
        cols = T.alloc_fragment((40,), "float32")
        T.copy(A, tile)
        for i, j in T.Parallel(24, 40):
            x[i, j] = tile[i, 39 - j]
        T.reduce_sum(x, rows, dim=1)
        T.reduce_max(x, cols, dim=0)
        T.copy(rows, B)
        T.copy(cols, C)


@case()
def products_into_parts(A: T.Tensor[(32, 32), "float16"], B: T.Tensor[(32, 32), "float16"],
                        C: T.Tensor[(64, 32), "float32"]):
    """Each product fills half of the accumulator."""
    with T.Kernel(1, threads=64) as _:
        a = T.alloc_shared((32, 32), "float16")
        b = T.alloc_shared((32, 32), "float16")
        c = T.alloc_fragment((64, 32), "float32")
        T.copy(A, a)
        T.copy(B, b)
        T.clear(c)
        T.gemm(a, b, c[0:32, :])
        T.gemm(b, a, c[32:64, :], transpose_B=True)
        T.copy(c, C)


@case()
def a_column_by_name(A: T.Tensor[(16, 8), "float32"], B: T.Tensor[(16, 8), "float32"]):
    """Indices that are names of the loop's own, and columns chosen by a serial loop."""
    with T.Kernel(1, threads=32) as _:
        x = T.alloc_fragment((16, 8), "float32")
        T.copy(A, x)
        for i, j in T.Parallel(16, 4):
            k = 7 - j
            x[i, k] = x[i, k] + x[i, j]
        for k in T.serial(7):
            for i in T.Parallel(16):
                x[i, k] = x[i, k] - x[i, k + 1]
        T.copy(x, B)


@case()
def a_pivot_that_is_searched(A: T.Tensor[(32, 32), "float32"], B: T.Tensor[(32, 32), "float32"]):
    """Elimination: rows and columns of one fragment chosen by the step, elements read as scalars."""
    with T.Kernel(1, threads=64) as _:
        x = T.alloc_fragment((32, 32), "float32")
        T.copy(A, x)
        for k in T.serial(3):
            pivot = x[k, k] + 4.0
            for i, j in T.Parallel(32, 32):
                if i > k and j > k:
                    x[i, j] = x[i, j] - x[i, k] * x[k, j] / pivot
        T.copy(x, B)


@case()
def groups_in_registers(A: T.Tensor[(32, 256), "float16"], B: T.Tensor[(32, 256), "int8"],
                        S: T.Tensor[(32, 4), "float32"]):
    """Quantisation in groups of 64 columns: both shapes of the fragment in the same registers."""
    with T.Kernel(1, threads=128) as _:
        x = T.alloc_fragment((32, 256), "float32")
        top = T.alloc_fragment((32, 4), "float32")
        T.copy(A, x)
        groups = T.reshape(x, (32, 4, 64))
        T.reduce_absmax(groups, top, dim=2)
        for i, g in T.Parallel(32, 4):
            top[i, g] = top[i, g] / 127.0 + 0.001
        for i, g, j in T.Parallel(32, 4, 64):
            groups[i, g, j] = T.floor(groups[i, g, j] / top[i, g] + 0.5)
        T.copy(x, B)
        T.copy(top, S)


@case()
def fewer_iterations_than_threads(A: T.Tensor[(40,), "float32"], B: T.Tensor[(40,), "float32"]):
    """A loop that runs on a part of a warp fills what another part reads."""
    with T.Kernel(1, threads=128) as _:
        tile = T.alloc_shared((40,), "float32")
        for k in T.serial(3):
            for i in T.Parallel(40):
                tile[i] = A[i] + k
            for i in T.Parallel(40):
                B[i] = tile[39 - i] * 2.0


@case()
def a_name_keeps_its_value(A: T.Tensor[(64,), "float32"], B: T.Tensor[(64,), "float32"]):
    """A value that was read before its element changed."""
    with T.Kernel(1, threads=64) as _:
        x = T.alloc_fragment((64,), "float32")
        tile = T.alloc_shared((64,), "float32")
        T.copy(A, tile)
        before = tile[5]
        for i in T.Parallel(64):
            old = tile[i]
            tile[i] = old * 3.0
            x[i] = old + tile[i]
        for i in T.Parallel(64):
            B[i] = x[i] + before + tile[5]


@case()
def printed_on_the_way(A: T.Tensor[(16, 32), "float32"], B: T.Tensor[(16,), "float32"]):
    """Looking at values changes no result."""
    with T.Kernel(1, threads=64) as _:
        x = T.alloc_fragment((16, 32), "float32")
        total = T.alloc_fragment((16,), "float32")
        T.copy(A, x)
        T.reduce_sum(x, total, dim=1)
        T.print(total, "sums")
        for i, j in T.Parallel(16, 32):
            x[i, j] = x[i, j] * total[i]
        T.print(x[3, 4], "an element")
        T.reduce_sum(x, total, dim=1, clear=False)
        T.copy(total, B)


@case()
def half_a_million_elements(A: T.Tensor[(1024, 512), "int8"], B: T.Tensor[(1024, 512), "int8"]):
    with T.Kernel(1, threads=1024) as _:
        x = T.alloc_fragment((1024, 512), "int8")
        T.copy(A, x)
        for i, j in T.Parallel(1024, 512):
            x[i, j] = x[i, j] + 1
        T.copy(x, B)
