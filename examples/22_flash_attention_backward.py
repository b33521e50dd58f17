"""Gradients of attention in one pass: a block keeps dK and dV of its keys, and adds its part of dQ atomically."""

import numpy

import tilegen
import tilegen.language as T


@tilegen.jit
def gradients(Q: T.Tensor[("heads", "queries", "D"), "float16"],
              K: T.Tensor[("heads", "keys", "D"), "float16"],
              V: T.Tensor[("heads", "keys", "D"), "float16"],
              dO: T.Tensor[("heads", "queries", "D"), "float16"],
              lse: T.Tensor[("heads", "queries"), "float32"],       # log of the sum of a row's exponentials
              delta: T.Tensor[("heads", "queries"), "float32"],     # sum of dO * O over a row
              dQ: T.Tensor[("heads", "queries", "D"), "float32"],   # starts as zeros
              dK: T.Tensor[("heads", "keys", "D"), "float16"],
              dV: T.Tensor[("heads", "keys", "D"), "float16"],
              BM=32, BN=T.by_target(128, hip=64, maca=64, sm_70=32), D=64,
              stages=T.by_target(2, sm_90=3, sm_90a=3)):
    with T.Kernel(T.ceildiv(keys, BN), heads, threads=128) as (bx, by):
        K_shared = T.alloc_shared((BN, D), "float16")
        V_shared = T.alloc_shared((BN, D), "float16")
        Q_shared = T.alloc_shared((BM, D), "float16")
        dO_shared = T.alloc_shared((BM, D), "float16")
        lse_shared = T.alloc_shared((BM,), "float32")
        delta_shared = T.alloc_shared((BM,), "float32")
        dS_shared = T.alloc_shared((BN, BM), "float16")
        S_local = T.alloc_fragment((BN, BM), "float32")       # scores, later probabilities: keys by queries
        dS_local = T.alloc_fragment((BN, BM), "float32")
        P_half = T.alloc_fragment((BN, BM), "float16")
        dS_half = T.alloc_fragment((BN, BM), "float16")
        dK_local = T.alloc_fragment((BN, D), "float32")
        dV_local = T.alloc_fragment((BN, D), "float32")
        dQ_local = T.alloc_fragment((BM, D), "float32")
        scale = 1 / T.sqrt(T.cast(D, "float32"))
        log2_e = 1.44269504                                   # since exp2 is used
        T.copy(K[by, bx * BN, 0], K_shared)
        T.copy(V[by, bx * BN, 0], V_shared)
        T.clear(dK_local)
        T.clear(dV_local)
        for qb in T.Pipelined(T.ceildiv(queries, BM), num_stages=stages):
            T.copy(Q[by, qb * BM, 0], Q_shared)
            T.copy(dO[by, qb * BM, 0], dO_shared)
            T.copy(lse[by, qb * BM], lse_shared)
            T.copy(delta[by, qb * BM], delta_shared)
            T.gemm(K_shared, Q_shared, S_local, transpose_B=True, clear_accum=True)
            for i, j in T.Parallel(BN, BM):                   # missing queries are rows of zeros in dO and Q
                S_local[i, j] = T.exp2(S_local[i, j] * (scale * log2_e) - lse_shared[j] * log2_e)
            T.copy(S_local, P_half)
            T.gemm(P_half, dO_shared, dV_local)
            T.gemm(V_shared, dO_shared, dS_local, transpose_B=True, clear_accum=True)
            for i, j in T.Parallel(BN, BM):
                dS_local[i, j] = S_local[i, j] * (dS_local[i, j] - delta_shared[j])
            T.copy(dS_local, dS_half)
            T.gemm(dS_half, Q_shared, dK_local)
            T.copy(dS_half, dS_shared)
            T.gemm(dS_shared, K_shared, dQ_local, transpose_A=True, clear_accum=True)
            for i, j in T.Parallel(BM, D):
                T.atomic_add(dQ[by, qb * BM + i, j], dQ_local[i, j] * scale)
        for i, j in T.Parallel(BN, D):
            dK_local[i, j] = dK_local[i, j] * scale
        T.copy(dK_local, dK[by, bx * BN, 0])
        T.copy(dV_local, dV[by, bx * BN, 0])


if __name__ == "__main__":
    generator = numpy.random.default_rng(0)
    Q, K, V, dO = arrays = [generator.standard_normal((2, n, 64)).astype("float16") for n in (100, 300, 300, 100)]
    q, k, v, do = (x.astype("float32") for x in arrays)
    S, dP, dQ = q @ k.transpose(0, 2, 1) / 8, do @ v.transpose(0, 2, 1), numpy.zeros(q.shape, "float32")
    P = numpy.exp(S) / numpy.exp(S).sum(-1, keepdims=True)
    gradients(Q, K, V, dO, numpy.log(numpy.exp(S).sum(-1)), (P * dP).sum(-1), dQ)
    assert numpy.allclose(dQ, P * (dP - (P * dP).sum(-1, keepdims=True)) @ k / 8, atol=2e-2)
    print("attention backward: gradients of 2 heads of 100 queries and 300 keys as NumPy computes them")
