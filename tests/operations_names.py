"""Names of T that no other file of operations uses: integers by name, types, other names of loops, wishes."""

from operation_cases import case

import tilegen.language as T

M, N, K = T.dynamic("M"), T.dynamic("N"), T.dynamic("K")


@case({"N": 150}, dtype=("int32", "int64"))
def integers_by_name(dtype):
    @T.prim_func
    def kernel(X: T.Tensor((N,), dtype), Y: T.Tensor((N,), dtype), Z: T.Tensor((10, N), dtype)):
        with T.Kernel(T.ceildiv(N, 64), threads=64) as b:
            for i in T.Parallel(64):
                x = X[b * 64 + i]
                y = T.max(T.abs(Y[b * 64 + i]), 3)
                Z[0, b * 64 + i] = T.bitwise_and(x, y)
                Z[1, b * 64 + i] = T.bitwise_or(x, y)
                Z[2, b * 64 + i] = T.bitwise_xor(x, T.bitwise_not(y))
                Z[3, b * 64 + i] = T.shift_left(x, 3)
                Z[4, b * 64 + i] = T.shift_right(x, 2)
                Z[5, b * 64 + i] = T.floordiv(x, y)
                Z[6, b * 64 + i] = T.floormod(x, y)
                Z[7, b * 64 + i] = T.truncdiv(x, y)
                Z[8, b * 64 + i] = T.truncmod(x, y)
                Z[9, b * 64 + i] = T.Select(x > y, x, T.where(x == y, 0, y))

    return kernel


@case({"N": 100})
def conversions(X: T.Tensor[("N",), "float32"], Y: T.Tensor[(16, "N"), "float32"], B: T.Tensor[("N",), "bool"]):
    """A number through every type and back."""
    with T.Kernel(T.ceildiv(N, 64), threads=64) as b:
        for i in T.Parallel(64):
            n = b * 64 + i
            x = X[n] * 20.0
            Y[0, n] = T.float16(x)
            Y[1, n] = T.bfloat16(x)
            Y[2, n] = T.float8_e4m3(x)
            Y[3, n] = T.float8_e5m2(x)
            Y[4, n] = T.float8_e4m3fn(x)
            Y[5, n] = T.float64(x)
            Y[6, n] = T.int8(x)
            Y[7, n] = T.int16(x)
            Y[8, n] = T.int32(x)
            Y[9, n] = T.int64(x)
            Y[10, n] = T.uint8(T.abs(x))
            Y[11, n] = T.uint16(T.abs(x))
            Y[12, n] = T.uint32(T.abs(x))
            Y[13, n] = T.uint64(T.abs(x))
            Y[14, n] = T.max_value("float16") + T.min_value("int16")
            Y[15, n] = T.float32(T.bool_(x > 1.0)) + T.tfloat32(x)
            B[n] = T.bool_(x > 0.0)


@case({"M": 40, "N": 70}, {"M": 1, "N": 1})
def other_names_of_loops(
    X: T.Tensor[("M", "N"), "float32"], Y: T.Tensor[("M", "N"), "float32"], threads=T.by_target(32, cpu=64)
):
    with T.Kernel(T.ceildiv(N, 32), T.ceildiv(M, 8), threads=threads) as (bx, by):
        T.use_swizzle(2)
        T.annotate_min_blocks_per_sm(2)
        tile = T.alloc_shared((8, 32), "float32")
        for i in T.Serial(8):
            for j in T.Parallel(32):
                tile[i, j] = X[T.get_block_binding(1) * 8 + i, bx * 32 + j] * 2.0
        for i in T.Unroll(2):
            for k, m in T.grid(2, 2):
                for j in T.Parallel(32):
                    tile[i * 4 + k * 2 + m, j] += T.cast(i + k * m, "float32")
        for v in T.vectorized(4):
            for w in T.Vectorized(2):
                for j in T.Parallel(32):
                    tile[v * 2 + w, j] -= 1.0
        T.device_assert(bx >= 0, "blocks count from 0")
        T.copy(tile, Y[by * 8, bx * 32])


@case({"M": 20, "N": 60})
def reductions_by_name(X: T.Tensor[("M", "N"), "float32"], Y: T.Tensor[(3, "M"), "float32"]):
    with T.Kernel(T.ceildiv(M, 8), threads=64) as by:
        tile = T.alloc_fragment((8, 64), "float32")
        rows = T.alloc_fragment((8,), "float32")
        T.copy(X[by * 8, 0], tile)
        T.reduce_min(tile, rows, dim=1)
        T.copy(rows, Y[0, by * 8])
        T.reduce_absmax(tile, rows, dim=1)
        T.copy(rows, Y[1, by * 8])
        T.reduce_abssum(tile, rows, dim=1)
        T.copy(rows, Y[2, by * 8])


@case({"M": 70, "N": 40, "K": 48}, {"M": 1, "N": 1, "K": 1})
def level_of_warps(A: T.Tensor[("M", "K"), "float16"], B: T.Tensor[("K", "N"), "float16"]):
    """T.copy_async, T.sync and products of warps, with an output that the kernel declares."""
    C = T.empty((M, N), "float32")
    with T.Kernel(T.ceildiv(N, 32), T.ceildiv(M, 64), threads=128) as (bx, by):
        A_shared = T.alloc_shared((64, 16), "float16")
        B_shared = T.alloc_shared((16, 32), "float16")
        C_local = T.alloc_fragment((32, 16), "float32")
        T.clear(C_local)
        for k in range(T.ceildiv(K, 16)):
            T.copy_async(A[by * 64, k * 16], A_shared)
            T.copy_async(B[k * 16, bx * 32], B_shared)
            T.sync()
            T.gemm_warp(A_shared, B_shared, C_local, tile_shape=(32, 16))
        T.copy(C_local, C[by * 64, bx * 32])
    return C


@case({"m": 33, "n": 20})
def sizes_in_the_body(A, B):
    m, n = T.const("m, n")
    A: T.Tensor((m, n), "float16")
    B: T.Tensor((n, 32), "float16")
    C = T.empty((m, 32), "float32")
    with T.Kernel(T.ceildiv(m, 32), threads=128) as by:
        A_shared = T.alloc_shared((32, 32), "float16")
        B_shared = T.alloc_shared((32, 32), "float16")
        C_local = T.alloc_fragment((32, 32), "float32")
        T.copy(A[by * 32, 0], A_shared)
        T.copy(B[0, 0], B_shared)
        T.gemm(A_shared, B_shared, C_local, policy=T.GemmWarpPolicy.FullRow, clear_accum=True)
        T.copy(C_local, C[by * 32, 0])
    return C


@case({"N": 3})
def seen(X: T.Tensor[("N",), "float32"], Y: T.Tensor[("N",), "float32"]):
    with T.Kernel(1, threads=32) as b:
        for i in T.Parallel(32):
            if i < N:
                Y[i] = X[i]
        T.print(b, "block")


@case({"M": 10})
def elements_of_half_a_byte(X: T.Tensor[("M", 32), T.int4], Y: T.Tensor[("M", 32), T.uint4],
                            Z: T.Tensor[("M", 32), "int32"]):
    with T.Kernel(T.ceildiv(M, 4), threads=64) as b:
        low = T.alloc_shared((4, 32), T.int4)
        high = T.alloc_shared((4, 32), T.uint4)
        T.copy(X[b * 4, 0], low)
        T.copy(Y[b * 4, 0], high)
        for i, j in T.Parallel(4, 32):
            Z[b * 4 + i, j] = low[i, j] * high[i, 31 - j]


@case({"N": 64})
def layout_of_a_fragment(X: T.Tensor[("N", 32), "float32"], Y: T.Tensor[("N", 32), "float32"]):
    """Rows go to threads in turn: which thread holds what changes no result."""
    with T.Kernel(T.ceildiv(N, 32), threads=32) as b:
        tile = T.alloc_fragment((32, 32), "float32")
        T.annotate_layout({tile: T.Fragment((32, 32), lambda i, j: (i, j))})
        T.copy(X[b * 32, 0], tile)
        for i, j in T.Parallel(32, 32):
            tile[i, j] = tile[i, j] * 2.0
        T.copy(tile, Y[b * 32, 0])


@case({"N": 100})
def barriers_and_extents(X: T.Tensor[("N",), "int32"], Y: T.Tensor[("N",), "int32"]):
    with T.Kernel(T.ceildiv(N, 64), 1, threads=64):
        bx, by = T.get_block_bindings()
        n, = T.get_thread_extents()
        gx, gy = T.get_block_extents()
        tile = T.alloc_shared((64,), "int32")
        T.copy(X[bx * 64], tile)
        T.sync_threads(barrier_id=1)
        T.sync_threads(barrier_id=2, arrive_count=64)
        for i in T.Parallel(64):
            Y[bx * 64 + i] = tile[63 - i] + n * 1000 + gx * 100 + gy * 10 + by
