"""O = softmax(Q K^T / sqrt(D)) V for every head: scores never leave the chip, the softmax is kept running."""

import numpy

import tilegen
import tilegen.language as T


def knobs(arch, D=64):
    """On sm_90a a wider head leaves registers for fewer keys at a time, but heads of 128 fit as those of 64 do."""
    return dict(BN=80) if arch == "sm_90a" and D > 64 and D != 128 else {}


@tilegen.jit(knobs=knobs)
def attention(Q: T.Tensor[("heads", "queries", "D"), "float16"], K: T.Tensor[("heads", "keys", "D"), "float16"],
              V: T.Tensor[("heads", "keys", "D"), "float16"], O: T.Tensor[("heads", "queries", "D"), "float16"],
              BM=T.by_target(128, sm_90a=192, sm_120=64), BN=T.by_target(64, sm_70=32, sm_90a=128), D=64, stages=2,
              threads=T.by_target(128, sm_90a=384)):
    with T.Kernel(T.ceildiv(queries, BM), heads, threads=threads) as (bx, by):
        Q_shared = T.alloc_shared((BM, D), "float16")
        K_shared = T.alloc_shared((BN, D), "float16")
        V_shared = T.alloc_shared((BN, D), "float16")
        S_local = T.alloc_fragment((BM, BN), "float32")
        P_local = T.alloc_fragment((BM, BN), "float16")
        O_local = T.alloc_fragment((BM, D), "float32")
        row_max = T.alloc_fragment((BM,), "float32")
        old_max = T.alloc_fragment((BM,), "float32")
        rescale = T.alloc_fragment((BM,), "float32")
        row_sum = T.alloc_fragment((BM,), "float32")
        block_sum = T.alloc_fragment((BM,), "float32")
        scale = 1.44269504 / T.sqrt(T.cast(D, "float32"))     # log2(e) / sqrt(D), since exp2 is used
        T.copy(Q[by, bx * BM, 0], Q_shared)
        T.clear(O_local)
        T.clear(row_sum)
        T.fill(row_max, -T.infinity("float32"))
        for kb in T.Pipelined(T.ceildiv(keys, BN), num_stages=stages):
            T.copy(K[by, kb * BN, 0], K_shared)
            T.copy(V[by, kb * BN, 0], V_shared)
            T.gemm(Q_shared, K_shared, S_local, transpose_B=True, clear_accum=True)
            if (kb + 1) * BN > keys:
                for i, j in T.Parallel(BM, BN):
                    S_local[i, j] = T.if_then_else(kb * BN + j < keys, S_local[i, j], -T.infinity("float32"))
            T.copy(row_max, old_max)
            T.reduce_max(S_local, row_max, dim=1, clear=False)
            for i in T.Parallel(BM):
                rescale[i] = T.exp2((old_max[i] - row_max[i]) * scale)
            for i, j in T.Parallel(BM, D):
                if rescale[i] != 1:                           # a row's maximum seldom grows
                    O_local[i, j] = O_local[i, j] * rescale[i]
            for i, j in T.Parallel(BM, BN):
                S_local[i, j] = T.exp2(S_local[i, j] * scale - row_max[i] * scale)
            T.reduce_sum(S_local, block_sum, dim=1)
            for i in T.Parallel(BM):
                row_sum[i] = row_sum[i] * rescale[i] + block_sum[i]
            T.copy(S_local, P_local)
            T.gemm(P_local, V_shared, O_local)
        for i, j in T.Parallel(BM, D):
            O_local[i, j] = O_local[i, j] * (1 / row_sum[i])
        T.copy(O_local, O[by, bx * BM, 0])


if __name__ == "__main__":
    generator = numpy.random.default_rng(0)
    Q, K, V = (generator.standard_normal((4, length, 64)).astype("float16") for length in (100, 300, 300))
    weights = numpy.exp(0.125 * Q.astype("float32") @ K.astype("float32").transpose(0, 2, 1))
    expected = weights / weights.sum(-1, keepdims=True) @ V.astype("float32")
    assert numpy.allclose(attention(Q, K, V), expected, atol=5e-3)
    print("attention: 4 heads of 100 queries and 300 keys as NumPy computes them")
