"""Matrix products: dtypes, transposes, odd shapes, several in a kernel."""

from operation_cases import case

import tilegen.language as T

M, N, K = T.dynamic("M"), T.dynamic("N"), T.dynamic("K")
RAGGED = (
    {"M": 33, "N": 35, "K": 37},
    {"M": 32, "N": 64, "K": 32},
    {"M": 1, "N": 1, "K": 1},
    {"M": 5, "N": 7, "K": 0},
    {"M": 0, "N": 7, "K": 3},
)


@case(*RAGGED, turned_a=(False, True), turned_b=(False, True))
def transposes(turned_a, turned_b):
    @T.prim_func
    def kernel(
        A: T.Tensor((K, M) if turned_a else (M, K), "float32"),
        B: T.Tensor((N, K) if turned_b else (K, N), "float32"),
        C: T.Tensor((M, N), "float32"),
    ):
        with T.Kernel(T.ceildiv(N, 32), T.ceildiv(M, 32), threads=64) as (bx, by):
            a = T.alloc_shared((16, 32) if turned_a else (32, 16), "float32")
            b = T.alloc_shared((32, 16) if turned_b else (16, 32), "float32")
            c = T.alloc_fragment((32, 32), "float32")
            T.clear(c)
            for k in T.Pipelined(T.ceildiv(K, 16), num_stages=2):
                if turned_a:
                    T.copy(A[k * 16, by * 32], a)
                else:
                    T.copy(A[by * 32, k * 16], a)
                if turned_b:
                    T.copy(B[bx * 32, k * 16], b)
                else:
                    T.copy(B[k * 16, bx * 32], b)
                T.gemm(a, b, c, transpose_A=turned_a, transpose_B=turned_b)
            T.copy(c, C[by * 32, bx * 32])

    return kernel


@case(
    {"M": 35, "N": 33, "K": 40},
    operand=("float16", "bfloat16", "float64", "int8", "float32"),
    stages=(0, 1, 3),
)
def operand_types(operand, stages):
    total = {"float64": "float64", "int8": "int32"}.get(operand, "float32")

    @T.prim_func
    def kernel(A: T.Tensor((M, K), operand), B: T.Tensor((K, N), operand), C: T.Tensor((M, N), total)):
        with T.Kernel(T.ceildiv(N, 32), T.ceildiv(M, 16), threads=128) as (bx, by):
            a = T.alloc_shared((16, 16), operand)
            b = T.alloc_shared((16, 32), operand)
            c = T.alloc_fragment((16, 32), total)
            T.clear(c)
            for k in T.Pipelined(T.ceildiv(K, 16), num_stages=stages):
                T.copy(A[by * 16, k * 16], a)
                T.copy(B[k * 16, bx * 32], b)
                T.gemm(a, b, c)
            T.copy(c, C[by * 16, bx * 32])

    return kernel


@case({}, m=(16, 24, 1), n=(16, 40), k=(8, 12, 1))
def odd_tiles(m, n, k):
    @T.prim_func
    def kernel(
        A: T.Tensor((m, k), "float32"), B: T.Tensor((k, n), "float32"), C: T.Tensor((m, n), "float32")
    ):
        with T.Kernel(1, threads=64) as _:
            a = T.alloc_shared((m, k), "float32")
            b = T.alloc_shared((k, n), "float32")
            c = T.alloc_fragment((m, n), "float32")
            T.copy(A, a)
            T.copy(B, b)
            T.gemm(a, b, c, clear_accum=True)
            T.copy(c, C)

    return kernel


@case({"M": 40, "K": 30}, {"M": 16, "K": 16})
def product_of_slices(
    A: T.Tensor[("M", "K"), "float32"], B: T.Tensor[("K", 32), "float32"], C: T.Tensor[("M", 32), "float32"]
):
    with T.Kernel(T.ceildiv(M, 16), threads=64) as by:
        a = T.alloc_shared((16, 32), "float32")
        b = T.alloc_shared((32, 32), "float32")
        c = T.alloc_fragment((16, 32), "float32")
        T.clear(c)
        for k in T.serial(T.ceildiv(K, 32)):
            T.copy(A[by * 16, k * 32], a)
            T.copy(B[k * 32, 0], b)
            for step in T.serial(0, 32, 8):
                T.gemm(a[:, step : step + 8], b[step : step + 8, :], c)
        T.copy(c, C[by * 16, 0])


@case({"S": 40}, {"S": 16}, {"S": 1}, dtype=("float32", "float16"))
def attention(dtype):
    S = T.dynamic("S")

    @T.prim_func
    def kernel(
        Q: T.Tensor((S, 16), dtype),
        K: T.Tensor((S, 16), dtype),
        V: T.Tensor((S, 16), dtype),
        O: T.Tensor((S, 16), "float32"),
    ):
        with T.Kernel(T.ceildiv(S, 16), threads=64) as bx:
            q = T.alloc_shared((16, 16), dtype)
            k = T.alloc_shared((8, 16), dtype)
            v = T.alloc_shared((8, 16), dtype)
            weight = T.alloc_shared((16, 8), dtype)
            score = T.alloc_fragment((16, 8), "float32")
            out = T.alloc_fragment((16, 16), "float32")
            top = T.alloc_fragment((16,), "float32")
            before = T.alloc_fragment((16,), "float32")
            total = T.alloc_fragment((16,), "float32")
            part = T.alloc_fragment((16,), "float32")
            T.clear(out)
            T.clear(total)
            T.fill(top, -T.infinity("float32"))
            T.copy(Q[bx * 16, 0], q)
            for n in T.Pipelined(T.ceildiv(S, 8), num_stages=2):
                T.copy(K[n * 8, 0], k)
                T.copy(V[n * 8, 0], v)
                T.gemm(q, k, score, transpose_B=True, clear_accum=True)
                T.copy(top, before)
                for i, j in T.Parallel(16, 8):
                    score[i, j] = T.if_then_else(n * 8 + j < S, score[i, j] * 0.25, -T.infinity("float32"))
                T.reduce_max(score, top, dim=1, clear=False)
                for i, j in T.Parallel(16, 8):
                    score[i, j] = T.exp(score[i, j] - top[i])
                T.reduce_sum(score, part, dim=1)
                for i in T.Parallel(16):
                    before[i] = T.exp(before[i] - top[i])
                    total[i] = total[i] * before[i] + part[i]
                for i, j in T.Parallel(16, 16):
                    out[i, j] *= before[i]
                T.copy(score, weight)
                T.gemm(weight, v, out)
            for i, j in T.Parallel(16, 16):
                out[i, j] /= total[i]
            T.copy(out, O[bx * 16, 0])

    return kernel


@case({"M": 20, "K": 24})
def two_products_in_a_row(
    A: T.Tensor[("M", "K"), "float32"],
    B: T.Tensor[("K", 16), "float32"],
    W: T.Tensor[(16, 32), "float32"],
    C: T.Tensor[("M", 32), "float32"],
):
    with T.Kernel(T.ceildiv(M, 16), threads=64) as by:
        a = T.alloc_shared((16, 8), "float32")
        b = T.alloc_shared((8, 16), "float32")
        w = T.alloc_shared((16, 32), "float32")
        middle = T.alloc_shared((16, 16), "float32")
        first = T.alloc_fragment((16, 16), "float32")
        second = T.alloc_fragment((16, 32), "float32")
        T.clear(first)
        T.copy(W, w)
        for k in T.Pipelined(T.ceildiv(K, 8), num_stages=2):
            T.copy(A[by * 16, k * 8], a)
            T.copy(B[k * 8, 0], b)
            T.gemm(a, b, first)
        for i, j in T.Parallel(16, 16):
            middle[i, j] = T.max(first[i, j], 0.0)
        T.gemm(middle, w, second, clear_accum=True)
        T.copy(second, C[by * 16, 0])
