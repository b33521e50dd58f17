"""Copies in all directions, of all dtypes, with slices, ragged edges and more dimensions."""

from operation_cases import case

import tilegen.language as T

M, N, K = T.dynamic("M"), T.dynamic("N"), T.dynamic("K")

DTYPES = ("float64", "float32", "float16", "bfloat16", "int8", "int16", "int32", "int64", "uint8", "bool")
RAGGED = ({"M": 33, "N": 67}, {"M": 32, "N": 64}, {"M": 1, "N": 1}, {"M": 0, "N": 5})


@case(*RAGGED, dtype=DTYPES)
def every_direction(dtype):
    @T.prim_func
    def kernel(A: T.Tensor((M, N), dtype), B: T.Tensor((M, N), dtype), C: T.Tensor((M, N), dtype)):
        with T.Kernel(T.ceildiv(N, 32), T.ceildiv(M, 16), threads=64) as (bx, by):
            tile = T.alloc_shared((16, 32), dtype)
            other = T.alloc_shared((16, 32), dtype)
            local = T.alloc_fragment((16, 32), dtype)
            again = T.alloc_fragment((16, 32), dtype)
            T.copy(A[by * 16, bx * 32], tile)
            T.copy(tile, other)
            T.copy(other, local)
            T.copy(local, again)
            T.copy(again, tile)
            T.copy(tile, B[by * 16, bx * 32])
            T.copy(A[by * 16, bx * 32], C[by * 16 : by * 16 + 16, bx * 32 : bx * 32 + 32])

    return kernel


@case(
    {"M": 19, "N": 40},
    source=("float32", "float64", "int32"),
    target=("float16", "bfloat16", "float32", "float8_e4m3", "float8_e5m2"),
)
@case(
    {"M": 19, "N": 40},
    source=("float16", "bfloat16", "float8_e4m3", "float8_e5m2"),
    target=("float32", "float16", "bfloat16"),
)
@case(
    {"M": 19, "N": 40},
    source=("int8", "uint8", "int64", "bool", "float32"),
    target=("int32", "int64", "float32"),
)
def conversions(source, target):
    @T.prim_func
    def kernel(A: T.Tensor((M, N), source), B: T.Tensor((M, N), target), C: T.Tensor((M, N), target)):
        with T.Kernel(T.ceildiv(M, 16), threads=64) as by:
            tile = T.alloc_shared((16, 40), source)
            local = T.alloc_fragment((16, 40), target)
            T.copy(A[by * 16, 0], tile)
            T.copy(tile, local)
            T.copy(local, B[by * 16, 0])
            for i, j in T.Parallel(16, 40):
                C[by * 16 + i, j] = T.cast(A[by * 16 + i, j], target)

    return kernel


@case({"M": 64}, {"M": 61}, {"M": 1})
def slices(
    A: T.Tensor[("M", 64), "float32"], B: T.Tensor[("M", 64), "float32"], C: T.Tensor[("M", 16), "float32"]
):
    with T.Kernel(T.ceildiv(M, 32), threads=64) as by:
        tile = T.alloc_shared((32, 64), "float32")
        half = T.alloc_fragment((32, 32), "float32")
        few = T.alloc_shared((32, 16), "float32")
        T.copy(A[by * 32 : (by + 1) * 32, :], tile)
        for part in T.serial(2):
            T.copy(tile[:, part * 32 : part * 32 + 32], half)
            T.copy(half, B[by * 32, 32 - part * 32])
        T.copy(tile[:, 24:40], few)
        T.copy(few, C[by * 32, 0])


@case(
    {"B": 3, "M": 20, "N": 24},
    {"B": 1, "M": 16, "N": 8},
    {"B": 2, "M": 1, "N": 1},
    dtype=("float32", "float16"),
)
def three_dimensions(dtype):
    B = T.dynamic("B")

    @T.prim_func
    def kernel(X: T.Tensor((B, M, N), dtype), Y: T.Tensor((B, M, N), dtype), Z: T.Tensor((M, B, N), dtype)):
        with T.Kernel(T.ceildiv(N, 16), T.ceildiv(M, 16), threads=128) as (bx, by):
            tile = T.alloc_shared((2, 16, 16), dtype)
            plane = T.alloc_shared((16, 16), dtype)
            for b in T.serial(T.ceildiv(B, 2)):
                T.copy(X[b * 2, by * 16, bx * 16], tile)
                T.copy(tile, Y[b * 2, by * 16, bx * 16])
            for b in range(B):
                T.copy(X[b, by * 16, bx * 16], plane)
                for i, j in T.Parallel(16, 16):
                    Z[by * 16 + i, b, bx * 16 + j] = plane[i, j]

    return kernel


@case({"N": 1000}, {"N": 1024}, {"N": 1}, {"N": 0}, dtype=("float32", "int8", "float64"))
def vectors(dtype):
    @T.prim_func
    def kernel(X: T.Tensor((N,), dtype), Y: T.Tensor((N,), dtype), Z: T.Tensor((N,), dtype)):
        with T.Kernel(T.ceildiv(N, 256), threads=64) as b:
            line = T.alloc_shared((256,), dtype)
            part = T.alloc_fragment((256,), dtype)
            T.copy(X[b * 256], line)
            T.copy(line, part)
            T.copy(part, Y[b * 256])
            T.copy(X[b * 256 : (b + 1) * 256], part)
            T.copy(part, Z[b * 256])

    return kernel


@case({"M": 40, "N": 24}, {"M": 5, "N": 33})
def rows_and_columns(
    X: T.Tensor[("M", "N"), "float32"], R: T.Tensor[("M", "N"), "float32"], C: T.Tensor[("N", "M"), "float32"]
):
    with T.Kernel(M, threads=32) as row:
        line = T.alloc_shared((64,), "float32")
        T.copy(X[row, 0:64], line)
        T.copy(line, R[row, 0])
        for j in T.Parallel(64):
            C[j, row] = line[j]


@case({"M": 33, "N": 70}, threads=(32, 96, 128, 256, 1024))
def thread_counts(threads):
    @T.prim_func
    def kernel(A: T.Tensor((M, N), "float32"), B: T.Tensor((M, N), "float32"), C: T.Tensor((M,), "float32")):
        with T.Kernel(T.ceildiv(M, 32), threads=threads) as by:
            tile = T.alloc_shared((32, 96), "float32")
            local = T.alloc_fragment((32, 96), "float32")
            total = T.alloc_fragment((32,), "float32")
            T.copy(A[by * 32, 0], tile)
            T.copy(tile, local)
            T.reduce_sum(local, total, dim=1)
            for i, j in T.Parallel(32, 96):
                local[i, j] += total[i]
            T.copy(local, B[by * 32, 0])
            T.copy(total, C[by * 32])

    return kernel


@case({"M": 30, "N": 50}, threads=((32, 4), (8, 8, 2), (64, 1)))
def tuple_threads(threads):
    @T.prim_func
    def kernel(A: T.Tensor((M, N), "float32"), B: T.Tensor((M, N), "float32")):
        with T.Kernel(T.ceildiv(N, 64), T.ceildiv(M, 16), threads=threads) as (bx, by):
            local = T.alloc_fragment((16, 64), "float32")
            T.copy(A[by * 16, bx * 64], local)
            T.copy(local, B[by * 16, bx * 64])

    return kernel


@case({}, m=(48, 31), n=(64, 63))
def constant_sizes(m, n):
    @T.prim_func
    def kernel(A: T.Tensor((m, n), "float16"), B: T.Tensor((m, n), "float16")):
        with T.Kernel(T.ceildiv(n, 32), T.ceildiv(m, 16), threads=64) as (bx, by):
            tile = T.alloc_shared((16, 32), "float16")
            T.copy(A[by * 16, bx * 32], tile)
            for i, j in T.Parallel(16, 32):
                B[by * 16 + i, bx * 32 + j] = tile[i, j] + 1.0

    return kernel


@case({"M": 20, "N": 50}, dtype=("float32", "float16", "int32"))
def fills(dtype):
    @T.prim_func
    def kernel(A: T.Tensor((M, N), dtype), B: T.Tensor((M, N), dtype)):
        with T.Kernel(T.ceildiv(M, 16), threads=64) as by:
            tile = T.alloc_shared((16, 64), dtype)
            local = T.alloc_fragment((16, 64), dtype)
            T.fill(tile, 3)
            T.fill(local, 2)
            T.clear(tile[:, 8:24])
            for i, j in T.Parallel(16, 64):
                local[i, j] = local[i, j] + tile[i, j]
            T.copy(local, A[by * 16, 0])
            T.fill(B[by * 16 : by * 16 + 16, 0:64], 5)

    return kernel


@case(
    {"M": 33, "N": 70}, {"M": 32, "N": 128}, rows=(-3, 2), columns=(-8, -2, 3), scope=("shared", "fragment")
)
def shifted_origins(rows, columns, scope):
    """Boxes that begin before the tensor, or at a place that no vector starts at."""
    alloc = T.alloc_shared if scope == "shared" else T.alloc_fragment

    @T.prim_func
    def kernel(
        A: T.Tensor((M, N), "float32"), B: T.Tensor((M, N), "float32"), C: T.Tensor((M, N), "float32")
    ):
        with T.Kernel(T.ceildiv(N, 64), T.ceildiv(M, 16), threads=128) as (bx, by):
            tile = alloc((16, 64), "float32")
            T.copy(A[by * 16 + rows, bx * 64 + columns], tile)
            T.copy(tile, B[by * 16, bx * 64])
            T.copy(tile, C[by * 16 + rows, bx * 64 + columns])

    return kernel


@case({"M": 20, "N": 40}, {"M": 1, "N": 1}, {"M": 0, "N": 3})
def safe_values(X: T.Tensor[("M", "N"), "float16"], w: T.Tensor[("N",), "int32"], Y: T.Tensor[(2, 3, 64), "float32"]):
    """Reads outside of a tensor give a number of the kernel's; those of another tensor still give 0."""
    with T.Kernel(2, threads=64) as b:
        T.annotate_safe_value({X: -3.5, w: 7})
        tile = T.alloc_shared((16, 64), "float16")
        whole = T.alloc_fragment((16, 64), "float32")
        T.copy(X[b * 16, 0], tile)
        T.copy(X[b * 16 - 3, 0], whole)
        most = T.alloc_fragment((64,), "float32")
        T.reduce_max(whole, most, dim=0)
        for j in T.Parallel(64):
            Y[b, 0, j] = tile[3, j] + tile[15, j]
            Y[b, 1, j] = most[j]
            Y[b, 2, j] = T.cast(w[j - 2] + w[j * b], "float32")


@case({"M": 40, "N": 64})
def copies_under_other_names(X: T.Tensor[("M", "N"), "float32"], Y: T.Tensor[("M", "N"), "float32"]):
    with T.Kernel(T.ceildiv(M, 16), threads=64) as b:
        tile = T.alloc_shared((16, 64), "float32")
        T.async_copy(X[b * 16, 0], tile)
        T.ptx_wait_group(0)
        T.copy(tile, Y[b * 16, 0])
