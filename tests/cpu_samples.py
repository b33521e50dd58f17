"""Kernels for the tests of the CPU target."""

import tilegen.language as T

M, N, K, Z, H, S = T.dynamic("M, N, K, Z, H, S")


def product(dtype="float32", accumulator="float32", result="float32", a_turned=False, b_turned=False,
            BM=24, BN=40, BK=16):
    """A factory of gemm kernels."""
    A_shape, B_shape = ((K, M) if a_turned else (M, K)), ((N, K) if b_turned else (K, N))
    A_tile, B_tile = ((BK, BM) if a_turned else (BM, BK)), ((BN, BK) if b_turned else (BK, BN))

    @T.prim_func
    def gemm(A: T.Tensor(A_shape, dtype), B: T.Tensor(B_shape, dtype), C: T.Tensor((M, N), result)):
        with T.Kernel(T.ceildiv(N, BN), T.ceildiv(M, BM), threads=128) as (bx, by):
            A_shared = T.alloc_shared(A_tile, dtype)
            B_shared = T.alloc_shared(B_tile, dtype)
            C_local = T.alloc_fragment((BM, BN), accumulator)
            T.clear(C_local)
            for ko in T.Pipelined(T.ceildiv(K, BK), num_stages=2):
                if a_turned:
                    T.copy(A[ko * BK, by * BM], A_shared)
                else:
                    T.copy(A[by * BM, ko * BK], A_shared)
                if b_turned:
                    T.copy(B[bx * BN, ko * BK], B_shared)
                else:
                    T.copy(B[ko * BK, bx * BN], B_shared)
                T.gemm(A_shared, B_shared, C_local, transpose_A=a_turned, transpose_B=b_turned)
            T.copy(C_local, C[by * BM, bx * BN])
    return gemm


def matmul(A: T.Tensor[("M", "K"), "float32"], B: T.Tensor[("K", "N"), "float32"],
           C: T.Tensor[("M", "N"), "float32"], BM=48, BN=64, BK=32):
    with T.Kernel(T.ceildiv(N, BN), T.ceildiv(M, BM), threads=256) as (bx, by):
        A_shared = T.alloc_shared((BM, BK), "float32")
        B_shared = T.alloc_shared((BK, BN), "float32")
        C_local = T.alloc_fragment((BM, BN), "float32")
        T.clear(C_local)
        for ko in T.Pipelined(T.ceildiv(K, BK), num_stages=2):
            T.copy(A[by * BM, ko * BK], A_shared)
            T.copy(B[ko * BK, bx * BN], B_shared)
            T.gemm(A_shared, B_shared, C_local)
        T.copy(C_local, C[by * BM, bx * BN])


def gemm_bias_gelu(A: T.Tensor[("M", "K"), "float32"], B: T.Tensor[("K", "N"), "float32"],
                   bias: T.Tensor[("N",), "float32"], C: T.Tensor[("M", "N"), "float32"], BM=48, BN=64, BK=32):
    with T.Kernel(T.ceildiv(N, BN), T.ceildiv(M, BM), threads=256) as (bx, by):
        A_shared = T.alloc_shared((BM, BK), "float32")
        B_shared = T.alloc_shared((BK, BN), "float32")
        C_local = T.alloc_fragment((BM, BN), "float32")
        T.clear(C_local)
        for ko in T.Pipelined(T.ceildiv(K, BK), num_stages=2):
            T.copy(A[by * BM, ko * BK], A_shared)
            T.copy(B[ko * BK, bx * BN], B_shared)
            T.gemm(A_shared, B_shared, C_local)
        for i, j in T.Parallel(BM, BN):
            C_local[i, j] = T.gelu(C_local[i, j] + bias[bx * BN + j])
        T.copy(C_local, C[by * BM, bx * BN])


def batched(A: T.Tensor[("Z", "M", "K"), "bfloat16"], B: T.Tensor[("Z", "K", "N"), "bfloat16"],
            C: T.Tensor[("Z", "M", "N"), "bfloat16"], BM=16, BN=40, BK=16):
    with T.Kernel(T.ceildiv(N, BN), T.ceildiv(M, BM), Z, threads=256) as (bx, by, bz):
        A_shared = T.alloc_shared((BM, BK), "bfloat16")
        B_shared = T.alloc_shared((BK, BN), "bfloat16")
        C_local = T.alloc_fragment((BM, BN), "float32")
        T.clear(C_local)
        for ko in T.Pipelined(T.ceildiv(K, BK), num_stages=2):
            T.copy(A[bz, by * BM, ko * BK], A_shared)
            T.copy(B[bz, ko * BK, bx * BN], B_shared)
            T.gemm(A_shared, B_shared, C_local)
        T.copy(C_local, C[bz, by * BM, bx * BN])


def attention(Q: T.Tensor[("H", "S", "D"), "float16"], K: T.Tensor[("H", "S", "D"), "float16"],
              V: T.Tensor[("H", "S", "D"), "float16"], O: T.Tensor[("H", "S", "D"), "float32"], BM=32, BN=48, D=32):
    with T.Kernel(T.ceildiv(S, BM), H, threads=128) as (bx, by):
        Q_shared = T.alloc_shared((BM, D), "float16")
        K_shared = T.alloc_shared((BN, D), "float16")
        V_shared = T.alloc_shared((BN, D), "float16")
        scores = T.alloc_fragment((BM, BN), "float32")
        weights = T.alloc_fragment((BM, BN), "float16")
        result = T.alloc_fragment((BM, D), "float32")
        largest = T.alloc_fragment((BM,), "float32")
        before = T.alloc_fragment((BM,), "float32")
        total = T.alloc_fragment((BM,), "float32")
        part = T.alloc_fragment((BM,), "float32")
        T.copy(Q[by, bx * BM, 0], Q_shared)
        T.clear(result)
        T.clear(total)
        T.fill(largest, -T.infinity("float32"))
        for k in T.Pipelined(T.ceildiv(S, BN), num_stages=2):
            T.copy(K[by, k * BN, 0], K_shared)
            for i, j in T.Parallel(BM, BN):
                scores[i, j] = T.if_then_else(k * BN + j < S and bx * BM + i >= k * BN + j, 0.0, -T.infinity("float32"))
            T.gemm(Q_shared, K_shared, scores, transpose_B=True)
            T.copy(largest, before)
            T.reduce_max(scores, largest, dim=1, clear=False)
            for i, j in T.Parallel(BM, BN):
                scores[i, j] = T.exp(scores[i, j] - largest[i])
            T.reduce_sum(scores, part, dim=1)
            for i in T.Parallel(BM):
                total[i] = total[i] * T.exp(before[i] - largest[i]) + part[i]
            for i, j in T.Parallel(BM, D):
                result[i, j] *= T.exp(before[i] - largest[i])
            T.copy(scores, weights)
            T.copy(V[by, k * BN, 0], V_shared)
            T.gemm(weights, V_shared, result)
        for i, j in T.Parallel(BM, D):
            result[i, j] /= total[i]
        T.copy(result, O[by, bx * BM, 0])


def softmax(X: T.Tensor[("M", "N"), "float32"], Y: T.Tensor[("M", "N"), "float32"], BM=4, BN=1024):
    with T.Kernel(T.ceildiv(M, BM), threads=128) as bx:
        X_local = T.alloc_fragment((BM, BN), "float32")
        row_max = T.alloc_fragment((BM,), "float32")
        row_sum = T.alloc_fragment((BM,), "float32")
        T.copy(X[bx * BM, 0], X_local)
        for i, j in T.Parallel(BM, BN):
            X_local[i, j] = T.if_then_else(j < N, X_local[i, j], -T.infinity("float32"))
        T.reduce_max(X_local, row_max, dim=1)
        for i, j in T.Parallel(BM, BN):
            X_local[i, j] = T.exp(X_local[i, j] - row_max[i])
        T.reduce_sum(X_local, row_sum, dim=1)
        for i, j in T.Parallel(BM, BN):
            X_local[i, j] = X_local[i, j] / row_sum[i]
        T.copy(X_local, Y[bx * BM, 0])


def add(A: T.Tensor[("N",), "float32"], B: T.Tensor[("N",), "float32"], C: T.Tensor[("N",), "float32"], BN=64):
    with T.Kernel(T.ceildiv(N, BN), threads=128) as bx:
        for i in T.Parallel(BN):
            C[bx * BN + i] = A[bx * BN + i] + B[bx * BN + i]


def transpose(A: T.Tensor[("M", "N"), "float32"], B: T.Tensor[("N", "M"), "float32"], BM=32, BN=32):
    with T.Kernel(T.ceildiv(N, BN), T.ceildiv(M, BM), threads=256) as (bx, by):
        tile = T.alloc_shared((BM, BN), "float32")
        T.copy(A[by * BM, bx * BN], tile)
        for i, j in T.Parallel(BN, BM):
            B[bx * BN + i, by * BM + j] = tile[j, i]


def sums(A: T.Tensor[("M", "N"), "float32"], columns: T.Tensor[("M_blocks", "N"), "float32"],
         rows: T.Tensor[("N_blocks", "M"), "float32"], BM=32, BN=40):
    with T.Kernel(T.ceildiv(N, BN), T.ceildiv(M, BM), threads=256) as (bx, by):
        tile = T.alloc_fragment((BM, BN), "float32")
        down = T.alloc_fragment((BN,), "float32")
        along = T.alloc_fragment((BM,), "float32")
        T.copy(A[by * BM, bx * BN], tile)
        T.reduce_sum(tile, down, dim=0)
        T.fill(along, 0.5)
        T.reduce_absmax(tile, along, dim=1, clear=False)
        T.copy(down, columns[by, bx * BN])
        T.copy(along, rows[bx, by * BM])
