"""Attention over sequences of different lengths that lie behind each other: `starts` says where each begins."""

import numpy

import tilegen
import tilegen.language as T


@tilegen.jit
def varlen(Q: T.Tensor[("tokens", "heads", "D"), "float16"], K: T.Tensor[("tokens", "heads", "D"), "float16"],
           V: T.Tensor[("tokens", "heads", "D"), "float16"], starts: T.Tensor[("bounds",), "int32"],
           longest: T.int32, O: T.Tensor[("tokens", "heads", "D"), "float16"],
           BM=128, BN=T.by_target(64, sm_70=32), D=64, stages=2):
    with T.Kernel(T.ceildiv(longest, BM), heads, bounds - 1, threads=128) as (bx, head, sequence):
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
        start = starts[sequence]
        length = T.min(starts[sequence + 1], tokens) - start
        if bx * BM < length:
            first = start + bx * BM
            T.copy(Q[first:first + BM, head, 0:D], Q_shared)
            T.clear(O_local)
            T.clear(row_sum)
            T.fill(row_max, -T.infinity("float32"))
            for kb in T.Pipelined(T.ceildiv(length, BN), num_stages=stages):
                T.copy(K[start + kb * BN:start + (kb + 1) * BN, head, 0:D], K_shared)
                T.copy(V[start + kb * BN:start + (kb + 1) * BN, head, 0:D], V_shared)
                T.gemm(Q_shared, K_shared, S_local, transpose_B=True, clear_accum=True)
                if (kb + 1) * BN > length:                    # the rest of the tile is of the next sequence
                    for i, j in T.Parallel(BM, BN):
                        S_local[i, j] = T.if_then_else(kb * BN + j < length, S_local[i, j], -T.infinity("float32"))
                T.copy(row_max, old_max)
                T.reduce_max(S_local, row_max, dim=1, clear=False)
                for i in T.Parallel(BM):
                    rescale[i] = T.exp2((old_max[i] - row_max[i]) * scale)
                for i, j in T.Parallel(BM, D):
                    if rescale[i] != 1:                       # a row's maximum seldom grows
                        O_local[i, j] = O_local[i, j] * rescale[i]
                for i, j in T.Parallel(BM, BN):
                    S_local[i, j] = T.exp2(S_local[i, j] * scale - row_max[i] * scale)
                T.reduce_sum(S_local, block_sum, dim=1)
                for i in T.Parallel(BM):
                    row_sum[i] = row_sum[i] * rescale[i] + block_sum[i]
                T.copy(S_local, P_local)
                T.gemm(P_local, V_shared, O_local)
            for i, j in T.Parallel(BM, D):
                if bx * BM + i < length:
                    O[first + i, head, j] = O_local[i, j] * (1 / row_sum[i])


if __name__ == "__main__":
    generator, starts = numpy.random.default_rng(0), numpy.array([0, 90, 91, 300], dtype="int32")
    Q, K, V = (generator.standard_normal((300, 2, 64)).astype("float16") for _ in range(3))
    same = numpy.subtract.outer(*[numpy.searchsorted(starts, range(300), side="right")] * 2) == 0
    q, k, v = (x.astype("float32").transpose(1, 0, 2) for x in (Q, K, V))
    weights = numpy.where(same, numpy.exp(0.125 * q @ k.transpose(0, 2, 1)), 0)
    expected = (weights / weights.sum(-1, keepdims=True) @ v).transpose(1, 0, 2)
    assert numpy.allclose(varlen(Q, K, V, starts, 209), expected, atol=5e-3)
    print("varlen attention: sequences of 90, 1 and 209 tokens as NumPy computes them")
