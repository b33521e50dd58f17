"""Causal linear attention in chunks: a state of keys times values runs along, the chunk's own part is masked."""

import numpy

import tilegen
import tilegen.language as T


@tilegen.jit(out=[3])
def tl_fused_chunk_fwd(B, S, H, DK, DV, dtype="float16", scale=None):
    if scale is None:
        scale = DK**-0.5
    accum_dtype = "float32"
    chunk_size = 64
    BK = BV = 64
    num_k = DK // BK
    num_v = DV // BV
    NT = T.ceildiv(S, chunk_size)

    @T.prim_func
    def fused_chunk_linear_attn_fwd(
        Q: T.Tensor([B, S, H, DK], dtype),
        K: T.Tensor([B, S, H, DK], dtype),
        V: T.Tensor([B, S, H, DV], dtype),
        O: T.Tensor([B, S, H, DV], accum_dtype),
    ):
        with T.Kernel(num_v, num_k, B * H, threads=128) as (i_v, i_k, i_bh):
            i_b = i_bh // H
            i_h = i_bh % H
            q = T.alloc_shared([chunk_size, BK], dtype)
            k = T.alloc_shared([chunk_size, BK], dtype)
            v = T.alloc_shared([chunk_size, BV], dtype)
            h = T.alloc_fragment([BK, BV], accum_dtype)
            h_shared = T.alloc_shared([BK, BV], dtype)
            s = T.alloc_fragment([chunk_size, chunk_size], accum_dtype)
            s_shared = T.alloc_shared([chunk_size, chunk_size], dtype)
            o = T.alloc_fragment([chunk_size, BV], accum_dtype)
            T.clear(h)
            for i in T.Pipelined(0, NT):
                for row, col in T.Parallel(chunk_size, BK):
                    q[row, col] = Q[i_b, i * chunk_size + row, i_h, i_k * BK + col] * scale
                T.copy(K[i_b, i * chunk_size : (i + 1) * chunk_size, i_h, i_k * BK : (i_k + 1) * BK], k)
                T.copy(V[i_b, i * chunk_size : (i + 1) * chunk_size, i_h, i_v * BV : (i_v + 1) * BV], v)
                T.gemm(q, k, s, clear_accum=True, transpose_B=True)
                for row, col in T.Parallel(chunk_size, chunk_size):
                    s_shared[row, col] = T.if_then_else(row >= col, s[row, col], 0)
                T.gemm(s_shared, v, o, clear_accum=True)
                T.copy(h, h_shared)
                T.gemm(k, v, h, transpose_A=True)
                T.gemm(q, h_shared, o)
                T.copy(o, O[i_b, i * chunk_size : (i + 1) * chunk_size, i_h, i_v * BV : (i_v + 1) * BV])

    return fused_chunk_linear_attn_fwd


def cases(generator):
    B, S, H, D = 1, 128, 2, 64
    Q, K, V = ((generator.standard_normal((B, S, H, D)) / 4).astype("float16") for _ in range(3))
    q, k, v = (x.astype("float32").swapaxes(1, 2) for x in (Q, K, V))
    scores = numpy.tril(q @ k.swapaxes(-1, -2) * D**-0.5)
    yield tl_fused_chunk_fwd(B, S, H, D, D), (Q, K, V), (scores @ v).swapaxes(1, 2)
