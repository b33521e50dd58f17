"""Attention with a bias that falls with the distance (ALiBi), all keys at once, in a 16-bit tile of its own."""

import tilegen.language as T

SIZES = ({"H": 2, "L": 64}, {"H": 3, "L": 50})


def kernel(Q: T.Tensor[("H", "L", 64), "bfloat16"], K: T.Tensor[("H", "L", 64), "bfloat16"],
           V: T.Tensor[("H", "L", 64), "bfloat16"], slopes: T.Tensor[("H",), "float32"],
           O: T.Tensor[("H", "L", 64), "float32"], BM=32, BN=64):
    T.assume(L <= BN)
    with T.Kernel(T.ceildiv(L, BM), H, threads=64) as (bx, h):
        q = T.alloc_shared((BM, 64), "bfloat16")
        k = T.alloc_shared((BN, 64), "bfloat16")
        v = T.alloc_shared((BN, 64), "bfloat16")
        scores = T.alloc_fragment((BM, BN), "float32")
        weights = T.alloc_shared((BM, BN), "bfloat16")
        top = T.alloc_fragment((BM,), "float32")
        total = T.alloc_fragment((BM,), "float32")
        out = T.alloc_fragment((BM, 64), "float32")
        T.copy(Q[h, bx * BM, 0], q)
        T.copy(K[h, 0, 0], k)
        T.copy(V[h, 0, 0], v)
        T.clear(scores)
        T.gemm(q, k, scores, transpose_B=True)
        for i, j in T.Parallel(BM, BN):
            distance = T.abs(bx * BM + i - j)
            biased = scores[i, j] * 0.125 - slopes[h] * T.cast(distance, "float32")
            scores[i, j] = T.if_then_else(j < L, biased, -T.infinity("float32"))
        T.reduce_max(scores, top, dim=1)
        for i, j in T.Parallel(BM, BN):
            scores[i, j] = T.exp(scores[i, j] - top[i])
        T.reduce_sum(scores, total, dim=1)
        for i, j in T.Parallel(BM, BN):
            weights[i, j] = scores[i, j] / total[i]
        T.clear(out)
        T.gemm(weights, v, out)
        T.copy(out, O[h, bx * BM, 0])
