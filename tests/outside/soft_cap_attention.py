"""Attention whose scores are bounded: cap * tanh(score / cap)."""

import tilegen.language as T

SIZES = ({"L": 64, "S": 128}, {"L": 70, "S": 90})


def kernel(Q: T.Tensor[("L", 32), "float16"], K: T.Tensor[("S", 32), "float16"], V: T.Tensor[("S", 32), "float16"],
           O: T.Tensor[("L", 32), "float16"], BM=64, BN=32, CAP=10.0):
    with T.Kernel(T.ceildiv(L, BM), threads=128) as bx:
        q = T.alloc_shared((BM, 32), "float16")
        k = T.alloc_shared((BN, 32), "float16")
        v = T.alloc_shared((BN, 32), "float16")
        scores = T.alloc_fragment((BM, BN), "float32")
        weights = T.alloc_fragment((BM, BN), "float16")
        out = T.alloc_fragment((BM, 32), "float32")
        top = T.alloc_fragment((BM,), "float32")
        before = T.alloc_fragment((BM,), "float32")
        part = T.alloc_fragment((BM,), "float32")
        total = T.alloc_fragment((BM,), "float32")
        T.copy(Q[bx * BM, 0], q)
        T.clear(out)
        T.clear(total)
        T.fill(top, -T.infinity("float32"))
        for step in T.Pipelined(T.ceildiv(S, BN), num_stages=2):
            T.copy(K[step * BN, 0], k)
            T.copy(V[step * BN, 0], v)
            T.gemm(q, k, scores, transpose_B=True, clear_accum=True)
            for i, j in T.Parallel(BM, BN):
                capped = CAP * T.tanh(scores[i, j] * 0.17677669 / CAP)
                scores[i, j] = T.if_then_else(step * BN + j < S, capped, -T.infinity("float32"))
            T.copy(top, before)
            T.reduce_max(scores, top, dim=1, clear=False)
            for i, j in T.Parallel(BM, BN):
                scores[i, j] = T.exp(scores[i, j] - top[i])
            T.reduce_sum(scores, part, dim=1)
            for i in T.Parallel(BM):
                total[i] = total[i] * T.exp(before[i] - top[i]) + part[i]
            for i, j in T.Parallel(BM, 32):
                out[i, j] = out[i, j] * T.exp(before[i] - top[i])
            T.copy(scores, weights)
            T.gemm(weights, v, out)
        for i, j in T.Parallel(BM, 32):
            out[i, j] = out[i, j] / total[i]
        T.copy(out, O[bx * BM, 0])
