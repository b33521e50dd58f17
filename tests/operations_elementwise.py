"""T.Parallel over all scopes, the math functions, conditions, and atomics."""

from operation_cases import case

import tilegen.language as T

M, N = T.dynamic("M"), T.dynamic("N")


@case({"M": 20, "N": 50}, {"M": 16, "N": 32}, {"M": 1, "N": 1}, {"M": 0, "N": 9})
def mixed_scopes(
    A: T.Tensor[("M", "N"), "float32"],
    bias: T.Tensor[("N",), "float16"],
    B: T.Tensor[("M", "N"), "float32"],
    C: T.Tensor[("M", "N"), "float16"],
):
    with T.Kernel(T.ceildiv(N, 32), T.ceildiv(M, 16), threads=64) as (bx, by):
        tile = T.alloc_shared((16, 32), "float32")
        line = T.alloc_fragment((32,), "float32")
        local = T.alloc_fragment((16, 32), "float32")
        T.copy(A[by * 16, bx * 32], tile)
        T.copy(bias[bx * 32], line)
        for i, j in T.Parallel(16, 32):
            local[i, j] = tile[15 - i, j] * 2.0 + line[j] + A[by * 16 + i, bx * 32 + j]
        for i, j in T.Parallel(16, 32):
            B[by * 16 + i, bx * 32 + j] = local[i, j]
            C[by * 16 + i, bx * 32 + j] = local[i, j] - bias[bx * 32 + j]


@case({"N": 700}, {"N": 1})
def shifted_neighbours(X: T.Tensor[("N",), "float32"], Y: T.Tensor[("N",), "float32"], BN=128):
    with T.Kernel(T.ceildiv(N, BN), threads=64) as b:
        line = T.alloc_shared((BN,), "float32")
        T.copy(X[b * BN], line)
        for i in T.Parallel(BN):
            Y[b * BN + i] = X[b * BN + i - 1] + X[b * BN + i + 1] - 2 * line[(i + 1) % BN]


@case({"N": 300}, {"N": 1}, dtype=("float32", "float64", "float16", "bfloat16"), rtol=0.02)
def one_argument(dtype):
    @T.prim_func
    def kernel(X: T.Tensor((N,), dtype), Y: T.Tensor((26, N), dtype)):
        with T.Kernel(T.ceildiv(N, 128), threads=64) as b:
            for i in T.Parallel(128):
                x = X[b * 128 + i]
                Y[0, b * 128 + i] = T.exp(x)
                Y[1, b * 128 + i] = T.exp2(x)
                Y[2, b * 128 + i] = T.exp10(x)
                Y[3, b * 128 + i] = T.log(T.abs(x) + 0.5)
                Y[4, b * 128 + i] = T.log2(T.abs(x) + 0.5)
                Y[5, b * 128 + i] = T.log10(T.abs(x) + 0.5)
                Y[6, b * 128 + i] = T.log1p(T.abs(x))
                Y[7, b * 128 + i] = T.sqrt(T.abs(x))
                Y[8, b * 128 + i] = T.rsqrt(T.abs(x) + 0.5)
                Y[9, b * 128 + i] = T.sin(x) + T.cos(x)
                Y[10, b * 128 + i] = T.tan(x)
                Y[11, b * 128 + i] = T.asin(x)
                Y[12, b * 128 + i] = T.acos(x)
                Y[13, b * 128 + i] = T.atan(x)
                Y[14, b * 128 + i] = T.sinh(x)
                Y[15, b * 128 + i] = T.cosh(x)
                Y[16, b * 128 + i] = T.tanh(x)
                Y[17, b * 128 + i] = T.asinh(x)
                Y[18, b * 128 + i] = T.acosh(T.abs(x) + 1.5)
                Y[19, b * 128 + i] = T.atanh(x * 0.9)
                Y[20, b * 128 + i] = T.erf(x)
                Y[21, b * 128 + i] = T.floor(x * 8.0) + T.ceil(x * 4.0)
                Y[22, b * 128 + i] = T.round(x * 8.0) + T.trunc(x * 8.0)
                Y[23, b * 128 + i] = T.nearbyint(x * 8.0)
                Y[24, b * 128 + i] = T.sigmoid(x) + T.silu(x) + T.relu(x)
                Y[25, b * 128 + i] = T.gelu(x) + T.softplus(x) + T.gelu(x, "tanh")

    return kernel


@case({"N": 200}, dtype=("float32", "float64"), rtol=1e-4)
def two_arguments(dtype):
    @T.prim_func
    def kernel(X: T.Tensor((N,), dtype), Y: T.Tensor((N,), dtype), Z: T.Tensor((9, N), dtype)):
        with T.Kernel(T.ceildiv(N, 128), threads=64) as b:
            for i in T.Parallel(128):
                x = X[b * 128 + i]
                y = Y[b * 128 + i]
                Z[0, b * 128 + i] = T.pow(T.abs(x) + 0.1, y)
                Z[1, b * 128 + i] = T.fmod(x, T.abs(y) + 0.3)
                Z[2, b * 128 + i] = T.hypot(x, y)
                Z[3, b * 128 + i] = T.atan2(y, x)
                Z[4, b * 128 + i] = T.copysign(x, y)
                Z[5, b * 128 + i] = T.max(x, y) + 2.0 * T.min(x, y)
                Z[6, b * 128 + i] = T.clamp(x, -0.5, 0.25)
                Z[7, b * 128 + i] = T.floor(x / (T.abs(y) + 0.3))
                Z[8, b * 128 + i] = x**2 + T.if_then_else(x > y, x, 1.0)

    return kernel


@case({"N": 150}, dtype=("int32", "int64", "int8"))
def integers(dtype):
    wide = "int64" if dtype == "int64" else "int32"

    @T.prim_func
    def kernel(X: T.Tensor((N,), dtype), Y: T.Tensor((N,), dtype), Z: T.Tensor((10, N), wide)):
        with T.Kernel(T.ceildiv(N, 64), threads=64) as b:
            for i in T.Parallel(64):
                x = X[b * 64 + i]
                y = Y[b * 64 + i]
                Z[0, b * 64 + i] = x // T.max(y, 1)
                Z[1, b * 64 + i] = x % T.max(T.abs(y), 3)
                Z[2, b * 64 + i] = T.max(x, y) - T.min(x, y)
                Z[3, b * 64 + i] = T.abs(x - y)
                Z[4, b * 64 + i] = (x & y) | (x ^ 5)
                Z[5, b * 64 + i] = (x << 2) + (y >> 1)
                Z[6, b * 64 + i] = T.popcount(x)
                Z[7, b * 64 + i] = T.clz(y)
                Z[8, b * 64 + i] = ~x
                Z[9, b * 64 + i] = T.clamp(x * y, -20, 20)

    return kernel


@case({"N": 100})
def tests_of_floats(X: T.Tensor[("N",), "float32"], Y: T.Tensor[(3, "N"), "bool"]):
    with T.Kernel(T.ceildiv(N, 64), threads=64) as b:
        for i in T.Parallel(64):
            x = T.log(X[b * 64 + i])
            inverse = 1.0 / T.floor(T.abs(X[b * 64 + i]) + 0.5)
            Y[0, b * 64 + i] = T.isnan(x)
            Y[1, b * 64 + i] = T.isinf(inverse)
            Y[2, b * 64 + i] = T.isfinite(inverse)


@case({"M": 20, "N": 40}, {"M": 1, "N": 3})
def conditions(
    A: T.Tensor[("M", "N"), "float32"],
    mask: T.Tensor[("M", "N"), "bool"],
    B: T.Tensor[("M", "N"), "float32"],
    limit=0.25,
):
    with T.Kernel(T.ceildiv(N, 32), T.ceildiv(M, 16), threads=64) as (bx, by):
        local = T.alloc_fragment((16, 32), "float32")
        T.copy(A[by * 16, bx * 32], local)
        for i, j in T.Parallel(16, 32):
            if local[i, j] > limit and not mask[by * 16 + i, bx * 32 + j]:
                local[i, j] = -local[i, j]
            elif -limit < local[i, j] <= limit or i == j:
                local[i, j] += 1.0
            else:
                local[i, j] = local[i, j] * 2.0 if mask[by * 16 + i, bx * 32 + j] else 0.0
        T.copy(local, B[by * 16, bx * 32])


ATOMIC = ("int32", "int64", "uint32", "float32", "float64")


@case({"N": 300}, {"N": 1}, {"N": 0}, dtype=ATOMIC, op=("add", "max", "min"))
@case({"N": 100}, dtype=("float16", "bfloat16"), op=("add", "max", "min"), rtol=0.2)
def atomics(dtype, op):
    @T.prim_func
    def kernel(X: T.Tensor((N,), dtype), H: T.Tensor((4,), dtype), G: T.Tensor((4,), dtype)):
        with T.Kernel(T.ceildiv(N, 128), threads=64) as b:
            tile = T.alloc_shared((4,), dtype)
            T.fill(tile, 1)
            for i in T.Parallel(128):
                if b * 128 + i < N:
                    if op == "add":
                        T.atomic_add(H[i % 4], X[b * 128 + i])
                        T.atomic_add(tile[i % 4], X[b * 128 + i])
                    elif op == "max":
                        T.atomic_max(H[i % 4], X[b * 128 + i])
                        T.atomic_max(tile[i % 4], X[b * 128 + i])
                    else:
                        T.atomic_min(H[i % 4], X[b * 128 + i])
                        T.atomic_min(tile[i % 4], X[b * 128 + i])
            T.atomic_add(G[0:4], tile)

    return kernel


@case({"M": 40, "N": 20})
def atomic_tiles(
    A: T.Tensor[("M", "N"), "float32"], C: T.Tensor[(16, 32), "float32"], S: T.Tensor[(1,), "float32"]
):
    with T.Kernel(T.ceildiv(M, 16), threads=64) as by:
        local = T.alloc_fragment((16, 32), "float32")
        total = T.alloc_fragment((16,), "float32")
        T.copy(A[by * 16, 0], local)
        T.atomic_add(C, local)
        T.reduce_sum(local, total, dim=1)
        for i in T.Parallel(16):
            T.atomic_add(S[0], total[i])


@case({"N": 200}, {"N": 1}, dtype=["int32", "float32", "float16", "int64"])
def atomics_that_give_the_value_before(
    X: T.Tensor[("N",), "int32"], place: T.Tensor[("N",), "int32"], S: T.Tensor[("N",), "int32"],
    blocks: T.Tensor[(1,), "int32"], dtype="int32",
):
    """Each element gets a place of its own: which one is not said, but that all are taken once."""
    counter = T.alloc_global((1,), dtype)
    with T.Kernel(1, threads=32) as _:
        counter[0] = 0
        blocks[0] = 0
    with T.Kernel(T.ceildiv(N, 64), threads=64) as b:
        for i in T.Parallel(64):
            if b * 64 + i < N:
                at = T.atomic_add(counter[0], 1, memory_order="acq_rel", return_prev=True)
                place[T.cast(at, "int32")] = 1
        number = T.atomic_add(blocks[0], 1, return_prev=True)
        for i in T.Parallel(64):
            if number * 64 + i < N:
                S[number * 64 + i] = 7


@case({"N": 70})
def atomic_bits(X: T.Tensor[("N",), "int32"], Y: T.Tensor[(4,), "int32"]):
    with T.Kernel(T.ceildiv(N, 64), threads=64) as b:
        for i in T.Parallel(64):
            T.atomic_or(Y[i % 4], T.cast(1 << (X[b * 64 + i] & 15), "int32"), memory_order="release")


@case({"N": 70})
def atomic_neighbours(X: T.Tensor[("N", 4), "float32"], Y: T.Tensor[(3, 4), "float32"], Z: T.Tensor[(8,), "float32"]):
    with T.Kernel(T.ceildiv(N, 64), threads=64) as b:
        for i in T.Parallel(64):
            T.atomic_addx4(Y[i % 3, 0], X[b * 64 + i, 0])
            T.atomic_addx2(Z[i % 4 * 2], X[b * 64 + i, 2])


@case({"N": 100}, floating=("float16", "bfloat16", "float32", "float64"))
def bits_as_another_type(floating):
    """The sign of a float is turned as a bit, and its bits are counted."""
    bits = {"float16": 16, "bfloat16": 16, "float32": 32, "float64": 64}[floating]
    whole = f"uint{bits}"

    @T.prim_func
    def kernel(X: T.Tensor((N,), floating), Y: T.Tensor((N,), floating), Z: T.Tensor((N,), whole)):
        with T.Kernel(T.ceildiv(N, 64), threads=32) as b:
            for i in T.Parallel(64):
                own = T.reinterpret(X[b * 64 + i], whole)
                Y[b * 64 + i] = T.reinterpret(floating, T.cast(own ^ (T.cast(1, whole) << (bits - 1)), whole))
                Z[b * 64 + i] = own

    return kernel
