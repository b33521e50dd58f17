"""Several T.Kernel in one kernel, and the workspaces between them."""

from operation_cases import case

import tilegen.language as T

M, N, K = T.dynamic("M"), T.dynamic("N"), T.dynamic("K")


@case({"M": 70, "N": 90, "K": 200}, {"M": 1, "N": 1, "K": 1}, {"M": 3, "N": 2, "K": 0}, splits=[3])
def split_depth(
    A: T.Tensor[("M", "K"), "float16"], B: T.Tensor[("K", "N"), "float16"], C: T.Tensor[("M", "N"), "float32"], splits=3,
):
    """Blocks of one product share its depth; a second launch adds up what they found. Both have a tile A_shared."""
    partial = T.alloc_global((splits, M, N), "float32")
    steps = T.ceildiv(T.ceildiv(K, 16), splits)
    with T.Kernel(T.ceildiv(N, 32), T.ceildiv(M, 32), splits, threads=128) as (bx, by, part):
        A_shared = T.alloc_shared((32, 16), "float16")
        B_shared = T.alloc_shared((16, 32), "float16")
        C_local = T.alloc_fragment((32, 32), "float32")
        T.clear(C_local)
        for ko in T.Pipelined(steps, num_stages=2):
            T.copy(A[by * 32, (part * steps + ko) * 16], A_shared)
            T.copy(B[(part * steps + ko) * 16, bx * 32], B_shared)
            T.gemm(A_shared, B_shared, C_local)
        T.copy(C_local, partial[part, by * 32, bx * 32])
    with T.Kernel(T.ceildiv(N, 64), M, threads=64) as (bx, row):
        A_shared = T.alloc_shared((splits, 64), "float32")
        total = T.alloc_fragment((64,), "float32")
        T.copy(partial[0:splits, row, bx * 64 : bx * 64 + 64], A_shared)
        T.reduce_sum(A_shared, total, dim=0)
        T.copy(total, C[row, bx * 64])


@T.macro
def scaled(source, target, factor):
    with T.Kernel(T.ceildiv(M * N, 128), threads=128) as b:
        flat, result = T.reshape(source, (M * N,)), T.reshape(target, (M * N,))
        for i in T.Parallel(128):
            result[b * 128 + i] = flat[b * 128 + i] * factor


@case({"M": 20, "N": 30}, {"M": 1, "N": 1}, {"M": 0, "N": 4})
def in_macros(
    X: T.Tensor[("M", "N"), "float32"], Y: T.Tensor[("M", "N"), "float32"], total: T.Tensor[(1,), "float32"],
    alpha: T.float32,
):
    """A macro that launches, a launch whose grid differs, and a tensor that the last launch changes again."""
    between = T.alloc_global((M, N), "float32")
    scaled(X, between, alpha)
    scaled(between, Y, 2.0)
    with T.Kernel(1, threads=32) as _:
        rows = T.alloc_fragment((32,), "float32")
        whole = T.alloc_fragment((1,), "float32")
        T.clear(rows)
        for m in range(M):
            for j in T.Parallel(32):
                if j < N:
                    rows[j] += Y[m, j]
        T.reduce_sum(rows, whole)
        T.copy(whole, total)


@case({"N": 300}, {"N": 1})
def workspace_of_blocks(X: T.Tensor[("N",), "int32"], Y: T.Tensor[("N",), "int32"]):
    """Blocks of one launch use parts of a workspace that is allocated inside of T.Kernel."""
    with T.Kernel(T.ceildiv(N, 64), threads=64) as b:
        room = T.alloc_global((T.ceildiv(N, 64), 64), "int32")
        for i in T.Parallel(64):
            room[b, i] = X[b * 64 + i] * 3
        T.sync_threads()
        for i in T.Parallel(64):
            Y[b * 64 + i] = room[b, 63 - i] if b * 64 + 63 - i < N else 0


@case({"M": 70, "N": 90, "K": 100}, {"M": 1, "N": 1, "K": 1}, workers=[5])
def stream_depth(
    A: T.Tensor[("M", "K"), "float16"], B: T.Tensor[("K", "N"), "float16"], C: T.Tensor[("M", "N"), "float32"],
    workers=5,
):
    """Stream-K: the steps of all tiles in one row, cut into equal parts. A worker adds what it has of a tile."""
    tiles_n, steps = T.ceildiv(N, 32), T.ceildiv(K, 16)
    with T.Kernel(T.ceildiv(N, 64), M, threads=64) as (bx, row):
        for j in T.Parallel(64):
            C[row, bx * 64 + j] = 0
    with T.Kernel(workers, threads=128) as worker:
        A_shared = T.alloc_shared((32, 16), "float16")
        B_shared = T.alloc_shared((16, 32), "float16")
        C_local = T.alloc_fragment((32, 32), "float32")
        part = T.ceildiv(tiles_n * T.ceildiv(M, 32) * steps, workers)
        at = T.alloc_var("int32", init=worker * part)
        end = T.min(worker * part + part, tiles_n * T.ceildiv(M, 32) * steps)
        while at < end:
            tile, first = at // steps, at % steps
            last = T.min(steps, first + end - at)
            T.clear(C_local)
            for k in range(first, last):
                T.copy(A[tile // tiles_n * 32, k * 16], A_shared)
                T.copy(B[k * 16, tile % tiles_n * 32], B_shared)
                T.gemm(A_shared, B_shared, C_local)
            T.atomic_add(C[tile // tiles_n * 32, tile % tiles_n * 32], C_local)
            at += last - first


@case({"M": 70, "N": 90}, {"M": 1, "N": 1}, by_columns=[False, True])
def scheduled(X: T.Tensor[("M", "N"), "float32"], Y: T.Tensor[("M", "N"), "float32"], by_columns=False):
    """A fixed number of blocks walks over the tiles; every tile is visited once."""
    with T.Kernel(3, threads=64) as worker:
        tiles = T.PersistentTileScheduler(T.ceildiv(M, 16), T.ceildiv(N, 32), T.get_block_extent(0), 2, by_columns)
        tiles.init(worker)
        while tiles.valid():
            m, n = tiles.m_idx * 16, tiles.n_idx * 32
            for i, j in T.Parallel(16, 32):
                Y[m + i, n + j] = X[m + i, n + j] + T.cast(T.get_thread_extent(1), "float32")
            tiles.next_tile()
