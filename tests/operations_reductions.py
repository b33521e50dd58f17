"""Reductions: every operation, along every dimension, with and without clearing."""

from operation_cases import case

import tilegen.language as T

M, N = T.dynamic("M"), T.dynamic("N")
NAMES = ("sum", "max", "min", "absmax", "abssum")


@case({"M": 20, "N": 50}, {"M": 16, "N": 64}, op=NAMES, dim=(0, 1, -1), clear=(True, False))
def of_a_matrix(op, dim, clear):
    length = 16 if dim else 64

    @T.prim_func
    def kernel(A: T.Tensor((M, N), "float32"), B: T.Tensor((T.ceildiv(M, 16), length), "float32")):
        with T.Kernel(T.ceildiv(M, 16), threads=64) as by:
            local = T.alloc_fragment((16, 64), "float32")
            result = T.alloc_fragment((length,), "float32")
            T.copy(A[by * 16, 0], local)
            T.fill(result, 0.25)
            T.reduce(local, result, op, dim=dim, clear=clear)
            T.copy(result, B[by, 0])

    return kernel


@case({}, dtype=("float64", "float16", "bfloat16", "int32", "int64"), op=("sum", "max", "min"), dim=(0, 1))
def of_a_dtype(dtype, op, dim):
    held = {"float16": "float32", "bfloat16": "float32"}.get(dtype, dtype)

    @T.prim_func
    def kernel(A: T.Tensor((12, 40), dtype), B: T.Tensor((12 if dim else 40,), held)):
        with T.Kernel(1, threads=64) as _:
            local = T.alloc_fragment((12, 40), held)
            result = T.alloc_fragment((12 if dim else 40,), held)
            T.copy(A, local)
            T.reduce(local, result, op, dim=dim)
            T.copy(result, B)

    return kernel


@case({}, op=("sum", "max", "absmax"), n=(256, 100, 1), threads=(32, 128))
def of_a_vector(op, n, threads):
    @T.prim_func
    def kernel(A: T.Tensor((n,), "float32"), B: T.Tensor((1,), "float32")):
        with T.Kernel(1, threads=threads) as _:
            local = T.alloc_fragment((n,), "float32")
            result = T.alloc_fragment((1,), "float32")
            T.copy(A, local)
            T.reduce(local, result, op, dim=0)
            T.copy(result, B)

    return kernel


@case({}, op=("bitand", "bitor", "bitxor"), dtype=("int32", "uint8", "uint64"))
def of_bits(op, dtype):
    @T.prim_func
    def kernel(A: T.Tensor((12, 40), dtype), B: T.Tensor((40,), dtype), C: T.Tensor((12,), dtype)):
        with T.Kernel(1, threads=64) as _:
            local = T.alloc_fragment((12, 40), dtype)
            columns = T.alloc_fragment((40,), dtype)
            rows = T.alloc_fragment((12,), dtype)
            T.copy(A, local)
            T.fill(rows, 3)
            T.reduce(local, columns, op, dim=0)
            T.reduce(local, rows, op, dim=1, clear=False)
            T.copy(columns, B)
            T.copy(rows, C)

    return kernel


@case({}, shape=((256, 128), (100, 32)))
def bits_of_a_vector(shape):
    n, threads = shape

    @T.prim_func
    def kernel(A: T.Tensor((n,), "int32"), B: T.Tensor((3,), "int32")):
        with T.Kernel(1, threads=threads) as _:
            local = T.alloc_fragment((n,), "int32")
            result = T.alloc_fragment((1,), "int32")
            T.copy(A, local)
            T.reduce_bitor(local, result, dim=0)
            T.copy(result, B[0:1])
            T.reduce_bitand(local, result, dim=0)
            T.copy(result, B[1:2])
            T.reduce_bitxor(local, result)
            T.copy(result, B[2:3])

    return kernel


@case({"M": 40}, where=("fragment", "shared"), dtype=("float32", "float16", "int32", "bool"))
def votes(where, dtype):
    """One row in four is all zeros, one has a single other element, one a single zero."""

    @T.prim_func
    def kernel(A: T.Tensor((M, 50), dtype), B: T.Tensor((M, 3), "int32")):
        with T.Kernel(M, threads=64) as by:
            tile = T.alloc_fragment((1, 50), dtype) if where == "fragment" else T.alloc_shared((1, 50), dtype)
            for j in T.Parallel(50):
                one = T.if_then_else(by % 4 < 2, j == by % 50, j != by % 50)
                tile[0, j] = T.if_then_else(by % 4 == 0, False, one)
            B[by, 0] = T.cast(T.any_of(tile), "int32")
            holds = T.all_of(tile)
            if holds or by % 4 == 3:
                B[by, 1] = 1
            else:
                B[by, 1] = 0
            for j in T.Parallel(50):
                tile[0, j] = 1
            B[by, 2] = T.cast(T.all_of(tile), "int32")

    return kernel


@case({})
def votes_of_a_loop(A: T.Tensor[(64,), "int32"], B: T.Tensor[(64,), "int32"]):
    """Halves everything until nothing is left."""
    with T.Kernel(1, threads=32) as _:
        tile = T.alloc_shared((64,), "int32")
        steps = T.alloc_var("int32", init=0)
        for i in T.Parallel(64):
            tile[i] = (A[i] + 100) * i
        while steps < 40:
            if not T.any_of(tile[8:56]):
                break
            for i in T.Parallel(64):
                tile[i] = tile[i] // 2
            steps += 1
        for i in T.Parallel(64):
            B[i] = tile[i] + steps


@case({"M": 40, "N": 100}, op=("sum", "max", "min"), dtype=("int32", "float32"))
def reducers(op, dtype):
    """Columns of a matrix, of which each iteration of the loop over K contributes a part."""

    @T.prim_func
    def kernel(
        A: T.Tensor((M, N), dtype), B: T.Tensor((T.ceildiv(N, 32), 32), dtype), C: T.Tensor((N,), dtype)
    ):
        with T.Kernel(T.ceildiv(N, 32), threads=64) as bx:
            result = T.alloc_reducer((32,), dtype, op=op)
            for k in T.serial(T.ceildiv(M, 16)):
                for i, j in T.Parallel(16, 32):
                    if k * 16 + i < M and bx * 32 + j < N:
                        T.reducer_update(result[j], A[k * 16 + i, bx * 32 + j])
            for j in T.Parallel(32):
                if bx * 32 + j >= N:
                    T.reducer_update(result[j], 3)
            T.finalize_reducer(result, B[bx, 0])
            T.finalize_reducer(result)
            T.copy(result, C[bx * 32])

    return kernel


@case({}, op=("sum", "max"), dim=(0, 1, 2))
def of_three_dimensions(op, dim):
    shape = (4, 8, 16)
    left = tuple(extent for d, extent in enumerate(shape) if d != dim)

    @T.prim_func
    def kernel(A: T.Tensor(shape, "float32"), B: T.Tensor(left, "float32")):
        with T.Kernel(1, threads=64) as _:
            local = T.alloc_fragment(shape, "float32")
            result = T.alloc_fragment(left, "float32")
            T.copy(A, local)
            T.reduce(local, result, op, dim=dim)
            T.copy(result, B)

    return kernel


@case({}, threads=(32, 64, 128, 256))
def kept_dimension(threads):
    @T.prim_func
    def kernel(
        A: T.Tensor((8, 512), "float32"), B: T.Tensor((8, 1), "float32"), C: T.Tensor((8, 512), "float32")
    ):
        with T.Kernel(1, threads=threads) as _:
            local = T.alloc_fragment((8, 512), "float32")
            result = T.alloc_fragment((8, 1), "float32")
            T.copy(A, local)
            T.reduce_sum(local, result, dim=1)
            T.copy(result, B)
            for i, j in T.Parallel(8, 512):
                C[i, j] = local[i, j] / result[i, 0]

    return kernel


@case({"M": 37, "N": 60}, {"M": 1, "N": 1})
def softmax(X: T.Tensor[("M", "N"), "float32"], Y: T.Tensor[("M", "N"), "float32"], BM=4, BN=64):
    T.assume(N <= BN)
    with T.Kernel(T.ceildiv(M, BM), threads=128) as by:
        tile = T.alloc_fragment((BM, BN), "float32")
        top = T.alloc_fragment((BM,), "float32")
        total = T.alloc_fragment((BM,), "float32")
        T.copy(X[by * BM, 0], tile)
        for i, j in T.Parallel(BM, BN):
            tile[i, j] = T.if_then_else(j < N, tile[i, j], -T.infinity("float32"))
        T.reduce_max(tile, top, dim=1)
        for i, j in T.Parallel(BM, BN):
            tile[i, j] = T.exp(tile[i, j] - top[i])
        T.reduce_sum(tile, total, dim=1)
        for i, j in T.Parallel(BM, BN):
            tile[i, j] /= total[i]
        T.copy(tile, Y[by * BM, 0])


@case({"M": 20, "N": 60}, {"M": 1, "N": 1}, dtype=["float32", "float16"])
def maxima_without_nan(
    X: T.Tensor[("M", "N"), "float32"], Y: T.Tensor[("M", "N"), "float32"], R: T.Tensor[(6, "M"), "float32"],
    S: T.Tensor[("M", "N"), "float32"], dtype="float32",
):
    """Of a NaN and a number the maximum and the minimum are the number, in every operation and on every target."""
    with T.Kernel(T.ceildiv(M, 8), threads=64) as by:
        tile = T.alloc_fragment((8, 64), dtype)
        other = T.alloc_fragment((8, 64), dtype)
        running = T.alloc_fragment((8, 64), "float32")
        rows = T.alloc_fragment((8,), "float32")
        for i, j in T.Parallel(8, 64):
            nothing = T.infinity() - T.infinity()
            tile[i, j] = nothing if X[by * 8 + i, j] > 0.3 or by * 8 + i == 2 else X[by * 8 + i, j]
            other[i, j] = nothing if X[by * 8 + i, j] < -0.3 else X[by * 8 + i, j] * 0.5
        T.reduce_max(tile, rows, dim=1)
        T.copy(rows, R[0, by * 8])
        T.reduce_min(tile, rows, dim=1)
        T.copy(rows, R[1, by * 8])
        T.reduce_absmax(tile, rows, dim=1)
        T.copy(rows, R[2, by * 8])
        T.copy(tile, running)
        T.cummax(running, dim=1)
        T.copy(running, S[by * 8, 0])
        for i in T.Parallel(8):
            if by * 8 + i < M:
                R[3, by * 8 + i] = -100.0
                R[4, by * 8 + i] = 100.0
                R[5, by * 8 + i] = 0.0
        for i, j in T.Parallel(8, 64):
            if by * 8 + i < M and j < N:
                T.atomic_max(R[3, by * 8 + i], T.cast(tile[i, j], "float32"))
                T.atomic_min(R[4, by * 8 + i], T.cast(tile[i, j], "float32"))
                Y[by * 8 + i, j] = T.max(tile[i, j], other[i, j]) + 2.0 * T.min(other[i, j], tile[i, j])


@case({"M": 20}, op=("max", "min", "absmax"), dim=(0, 1), where=("fragment", "shared"), clear=(True, False))
def with_nan(op, dim, where, clear):
    """NaN in one element of a row or column, or in the result before, is NaN in the result; elsewhere it is not."""
    length = 16 if dim else 64

    @T.prim_func
    def kernel(A: T.Tensor((M, 64), "float32"), B: T.Tensor((T.ceildiv(M, 16), length), "float32"),
               C: T.Tensor((T.ceildiv(M, 16), length), "float32")):
        with T.Kernel(T.ceildiv(M, 16), threads=64) as by:
            tile = T.alloc_fragment((16, 64), "float32") if where == "fragment" else T.alloc_shared((16, 64), "float32")
            result = T.alloc_fragment((length,), "float32")
            for i, j in T.Parallel(16, 64):
                nothing = i * 7 % 16 == 3 and j == i or i == 5 and j == 40
                tile[i, j] = T.infinity() - T.infinity() if nothing else A[by * 16 + i, j]
            for k in T.Parallel(length):
                result[k] = T.infinity() - T.infinity() if k == 2 else 0.25
            T.reduce(tile, result, op, dim=dim, clear=clear, batch=2, nan_propagate=True)
            for k in T.Parallel(length):
                B[by, k] = T.cast(T.isnan(result[k]), "float32")
                C[by, k] = 0.0 if T.isnan(result[k]) else result[k]

    return kernel


@case({}, op=("max",), dtype=("int32", "float16", "float64"))
def with_nan_by_name(op, dtype):
    held = "float32" if dtype == "float16" else dtype

    @T.prim_func
    def kernel(A: T.Tensor((12, 40), dtype), B: T.Tensor((12, 3), held)):
        with T.Kernel(1, threads=64) as _:
            local = T.alloc_fragment((12, 40), held)
            result = T.alloc_fragment((12, 1), held)
            T.copy(A, local)
            T.reduce_max(local, result, dim=1, nan_propagate=True)
            T.copy(result, B[:, 0:1])
            T.reduce_min(local, result, nan_propagate=True)
            T.copy(result, B[:, 1:2])
            T.reduce_absmax(local, result, batch=4, nan_propagate=False)
            T.copy(result, B[:, 2:3])

    return kernel


@case({}, op=("sum", "max"), dim=(0, 1))
def of_parts_of_shared_tiles(op, dim):
    kept = 16 if dim else 32

    @T.prim_func
    def kernel(A: T.Tensor((16, 64), "float32"), B: T.Tensor((2, kept), "float32")):
        with T.Kernel(1, threads=64) as _:
            tile = T.alloc_shared((16, 64), "float32")
            result = T.alloc_fragment((kept,), "float32")
            T.copy(A, tile)
            for g in T.serial(2):
                T.reduce(tile[:, g * 32 : g * 32 + 32], result, op, dim=dim)
                T.copy(result, B[g, 0])

    return kernel
