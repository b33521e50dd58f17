"""Features in combination: macros in pipelined loops, persistent blocks with products, scans that carry, random numbers,
reducers and atomic updates beside each other."""

from operation_cases import case

import tilegen.language as T

M, N, K = T.dynamic("M"), T.dynamic("N"), T.dynamic("K")


@T.macro
def step(A, B, A_shared, B_shared, total, row, col, k):
    """Loads and multiplies one step; the origin of the tiles is the caller's."""
    T.copy(A[row, k * 16], A_shared)
    T.copy(B[k * 16, col], B_shared)
    T.gemm(A_shared, B_shared, total)


@T.macro
def activated(tile, bias, rows, cols):
    for i, j in T.Parallel(rows, cols):
        tile[i, j] = T.max(tile[i, j] + bias[j], 0.0)


@case({"M": 70, "N": 50, "K": 90}, {"M": 1, "N": 1, "K": 1}, {"M": 32, "N": 32, "K": 0}, stages=(0, 2, 3),
      dtype=("float16", "float32"))
def persistent_product(stages, dtype):
    """Persistent blocks: in each tile a pipelined loop whose body is a macro, then an epilogue that is one too."""

    @T.prim_func
    def kernel(A: T.Tensor((M, K), dtype), B: T.Tensor((K, N), dtype), bias: T.Tensor((N,), "float32"),
               C: T.Tensor((M, N), "float32")):
        with T.Kernel(3, threads=128) as worker:
            A_shared = T.alloc_shared((32, 16), dtype)
            B_shared = T.alloc_shared((16, 32), dtype)
            total = T.alloc_fragment((32, 32), "float32")
            own = T.alloc_fragment((32,), "float32")
            for by, bx in T.Persistent([T.ceildiv(M, 32), T.ceildiv(N, 32)], 3, worker, group_size=2):
                T.clear(total)
                T.copy(bias[bx * 32], own)
                for k in T.Pipelined(T.ceildiv(K, 16), num_stages=stages):
                    step(A, B, A_shared, B_shared, total, by * 32, bx * 32, k)
                activated(total, own, 32, 32)
                T.copy(total, C[by * 32, bx * 32])

    return kernel


@case({"M": 70, "N": 90, "K": 100}, {"M": 1, "N": 1, "K": 1}, stages=(2,))
def split_depth_by_atomics(stages):
    """Split-K without a workspace: blocks of one tile add up atomically what a pipelined loop of each has found."""

    @T.prim_func
    def kernel(A: T.Tensor((M, K), "float16"), B: T.Tensor((K, N), "float16"), C: T.Tensor((M, N), "float32")):
        with T.Kernel(T.ceildiv(N, 64), M, threads=64) as (bx, row):
            for j in T.Parallel(64):
                C[row, bx * 64 + j] = 0
        with T.Kernel(T.ceildiv(N, 32), T.ceildiv(M, 32), 2, threads=128) as (bx, by, part):
            A_shared = T.alloc_shared((32, 16), "float16")
            B_shared = T.alloc_shared((16, 32), "float16")
            total = T.alloc_fragment((32, 32), "float32")
            steps = T.ceildiv(T.ceildiv(K, 16), 2)
            T.clear(total)
            for k in T.Pipelined(part * steps, part * steps + steps, num_stages=stages):
                step(A, B, A_shared, B_shared, total, by * 32, bx * 32, k)
            for i, j in T.Parallel(32, 32):
                if by * 32 + i < M and bx * 32 + j < N:
                    T.atomic_add(C[by * 32 + i, bx * 32 + j], total[i, j], memory_order="relaxed")

    return kernel


@case({"M": 5, "N": 300}, {"M": 1, "N": 1}, where=("fragment", "shared"), threads=(64, 96))
def carried_scan(where, threads):
    """Rows of any length: a scan of each piece, to which the sum and the maximum of the pieces before it are carried."""

    @T.prim_func
    def kernel(X: T.Tensor((M, N), "float32"), S: T.Tensor((M, N), "float32"), P: T.Tensor((M, N), "float32")):
        with T.Kernel(M, threads=threads) as row:
            piece = T.alloc_fragment((1, 96), "float32") if where == "fragment" else T.alloc_shared((1, 96), "float32")
            highest = T.alloc_fragment((1, 96), "float32")
            carry = T.alloc_fragment((1,), "float32")
            top = T.alloc_fragment((1,), "float32")
            part = T.alloc_fragment((1,), "float32")
            T.clear(carry)
            T.fill(top, -T.infinity())
            for k in T.serial(T.ceildiv(N, 96)):
                T.copy(X[row, k * 96], piece)
                for i, j in T.Parallel(1, 96):
                    highest[i, j] = piece[i, j] if k * 96 + j < N else -T.infinity()
                T.reduce_sum(piece, part, dim=1)
                T.cumsum(piece, dim=1)
                T.cummax(highest, dim=1)
                for i, j in T.Parallel(1, 96):
                    if k * 96 + j < N:
                        S[row, k * 96 + j] = piece[i, j] + carry[i]
                        P[row, k * 96 + j] = T.max(highest[i, j], top[i])
                T.reduce_max(highest, top, dim=1, clear=False)
                for i in T.Parallel(1):
                    carry[i] += part[i]

    return kernel


@case({"M": 20, "N": 60}, {"M": 1, "N": 1}, dtype=("float32", "float16"))
def dropped_softmax(dtype):
    """A softmax over what a safe value fills up, thinned out by random numbers, with its sum as a check."""

    @T.prim_func
    def kernel(X: T.Tensor((M, N), dtype), Y: T.Tensor((M, N), dtype), S: T.Tensor((M,), "float32"), seed: T.int64):
        T.assume(N <= 64)
        with T.Kernel(T.ceildiv(M, 4), threads=64) as by:
            T.annotate_safe_value({X: -T.infinity(dtype)})
            tile = T.alloc_fragment((4, 64), "float32")
            top = T.alloc_fragment((4,), "float32")
            total = T.alloc_fragment((4,), "float32")
            kept = T.alloc_reducer((4,), "float32", op="sum")
            T.copy(X[by * 4, 0], tile)
            T.reduce_max(tile, top, dim=1)
            for i, j in T.Parallel(4, 64):
                tile[i, j] = T.exp(tile[i, j] - top[i]) if by * 4 + i < M else 1.0
            T.reduce_sum(tile, total, dim=1)
            for i, j in T.Parallel(4, 64):
                T.rng_init(seed, sequence=(by * 4 + i) * 64 + j)
                T.rng_rand()
                tile[i, j] = tile[i, j] / total[i] * 2.0 if T.rng_rand_float() < 0.5 else 0.0
                T.reducer_update(kept[i], tile[i, j])
            T.finalize_reducer(kept, S[by * 4])
            T.copy(tile, Y[by * 4, 0])

    return kernel


@case({"M": 40}, {"M": 1})
def leave_when_all_are_done(X: T.Tensor[("M", 64), "int32"], Y: T.Tensor[("M", 64), "int32"], steps: T.Tensor[("M",), "int32"]):
    """Votes that end a loop, in a loop over tiles of a persistent block, with an update of a counter for each tile."""
    with T.Kernel(2, threads=64) as worker:
        tile = T.alloc_fragment((64,), "int32")
        for m, z in T.Persistent([M, 1], 2, worker):
            turns = T.alloc_var("int32", init=0)
            T.copy(X[m, :], tile)
            for i in T.Parallel(64):
                tile[i] = T.abs(tile[i]) * 37 + i
            while turns < 50:
                if not T.any_of(tile):
                    break
                for i in T.Parallel(64):
                    tile[i] = tile[i] // 3
                turns += 1
            done = T.all_of(tile)
            for i in T.Parallel(64):
                Y[m, i] = tile[i] + turns if not done else -1
            T.atomic_max(steps[m], turns + z)


@case({"N": 10}, dtype=("float16", "float32", "bfloat16"), rtol=1e-2)
def neighbours_in_turn(dtype):
    """Atomic updates of neighbours, by number and by loop, into shared and global memory, in a serial loop."""

    @T.prim_func
    def kernel(X: T.Tensor((N, 64), dtype), Y: T.Tensor((64,), dtype), Z: T.Tensor((64,), "int32")):
        with T.Kernel(N, threads=32) as n:
            tile = T.alloc_shared((64,), dtype)
            count = T.alloc_shared((64,), "int32")
            if n == 0:
                for i in T.Parallel(64):
                    Z[i] = 0
            T.clear(tile)
            T.clear(count)
            for turn in T.serial(3):
                for i in T.Parallel(32):
                    T.atomic_addx2(tile[i * 2], X[n, i * 2])
                for i in T.Parallel(16):
                    T.atomic_addx4(tile[i * 4], X[n, i * 4])
                    T.atomic_add(count[(i + turn) % 64], turn)
            for i in T.Parallel(64):
                if n == 1:
                    Y[i] = tile[i]
                    Z[i] = count[i]

    return kernel


@case({"M": 40}, {"M": 3})
def heads_of_one_tile(Q: T.Tensor[("M", 64), "float16"], W: T.Tensor[(2, 32, 32), "float16"], Y: T.Tensor[("M", 64), "float32"]):
    """A tile seen as two heads under another shape, products of each, and a transposed sum of both."""
    with T.Kernel(T.ceildiv(M, 32), threads=128) as by:
        tile = T.alloc_shared((32, 64), "float16")
        weights = T.alloc_shared((2, 32, 32), "float16")
        heads = T.reshape(tile, (32, 2, 32))
        own = T.alloc_shared((32, 32), "float16")
        total = T.alloc_fragment((32, 32), "float32")
        turned = T.alloc_shared((32, 32), "float32")
        T.copy(Q[by * 32, 0], tile)
        T.copy(W, weights)
        for h in T.unroll(2):
            T.copy(heads[:, h, :], own)
            T.gemm(own, weights[h, :, :], total, clear_accum=True)
            T.transpose(total, turned)
            for i, j in T.Parallel(32, 32):
                Y[by * 32 + i, h * 32 + j] = turned[j, i] + turned[i, i]
