"""One query for each head against a long cache, the keys split over blocks; a second kernel joins the parts."""

import numpy

import tilegen
import tilegen.language as T


@tilegen.jit(out=[3, 4])
def flash_attn_split(batch, heads, groups, seqlen_kv, dim, num_split, block_N=64, block_H=64, threads=128):
    scale = (1.0 / dim) ** 0.5 * 1.44269504
    dtype, accum_dtype = "float16", "float32"
    kv_group_num = heads // groups
    valid_block_H = min(block_H, kv_group_num)

    @T.prim_func
    def main(
        Q: T.Tensor([batch, heads, dim], dtype),
        K: T.Tensor([batch, seqlen_kv, groups, dim], dtype),
        V: T.Tensor([batch, seqlen_kv, groups, dim], dtype),
        glse: T.Tensor([batch, heads, num_split], accum_dtype),
        Output_partial: T.Tensor([batch, heads, num_split, dim], dtype),
    ):
        with T.Kernel(batch, heads // valid_block_H, num_split, threads=threads) as (bx, by, bz):
            Q_shared = T.alloc_shared([block_H, dim], dtype)
            K_shared = T.alloc_shared([block_N, dim], dtype)
            V_shared = T.alloc_shared([block_N, dim], dtype)
            acc_s = T.alloc_fragment([block_H, block_N], accum_dtype)
            acc_s_cast = T.alloc_fragment([block_H, block_N], dtype)
            acc_o = T.alloc_fragment([block_H, dim], accum_dtype)
            scores_max = T.alloc_fragment([block_H], accum_dtype)
            scores_max_prev = T.alloc_fragment([block_H], accum_dtype)
            scores_scale = T.alloc_fragment([block_H], accum_dtype)
            scores_sum = T.alloc_fragment([block_H], accum_dtype)
            logsum = T.alloc_fragment([block_H], accum_dtype)
            cur_kv_head = by // (kv_group_num // valid_block_H)
            T.copy(Q[bx, by * valid_block_H : by * valid_block_H + block_H, :], Q_shared)
            T.fill(acc_o, 0)
            T.fill(logsum, 0)
            T.fill(scores_max, -T.infinity(accum_dtype))
            part = seqlen_kv // num_split
            for k in T.Pipelined(T.ceildiv(part, block_N), num_stages=2):
                T.copy(K[bx, part * bz + k * block_N : part * bz + (k + 1) * block_N, cur_kv_head, :], K_shared)
                T.copy(V[bx, part * bz + k * block_N : part * bz + (k + 1) * block_N, cur_kv_head, :], V_shared)
                T.clear(acc_s)
                T.gemm(Q_shared, K_shared, acc_s, transpose_B=True, policy=T.GemmWarpPolicy.FullRow)
                T.copy(scores_max, scores_max_prev)
                T.fill(scores_max, -T.infinity(accum_dtype))
                T.reduce_max(acc_s, scores_max, dim=1, clear=False)
                for i in T.Parallel(block_H):
                    scores_max[i] = T.max(scores_max[i], scores_max_prev[i])
                    scores_scale[i] = T.exp2(scores_max_prev[i] * scale - scores_max[i] * scale)
                for i, j in T.Parallel(block_H, block_N):
                    acc_s[i, j] = T.exp2(acc_s[i, j] * scale - scores_max[i] * scale)
                T.reduce_sum(acc_s, scores_sum, dim=1)
                for i in T.Parallel(block_H):
                    logsum[i] = logsum[i] * scores_scale[i] + scores_sum[i]
                T.copy(acc_s, acc_s_cast)
                for i, j in T.Parallel(block_H, dim):
                    acc_o[i, j] *= scores_scale[i]
                T.gemm(acc_s_cast, V_shared, acc_o, policy=T.GemmWarpPolicy.FullRow)
            for i, j in T.Parallel(block_H, dim):
                acc_o[i, j] /= logsum[i]
            for i in T.Parallel(block_H):
                logsum[i] = T.log2(logsum[i]) + scores_max[i] * scale
            for i in T.Parallel(block_H):
                if i < valid_block_H:
                    glse[bx, by * valid_block_H + i, bz] = logsum[i]
            for i, j in T.Parallel(block_H, dim):
                if i < valid_block_H:
                    Output_partial[bx, by * valid_block_H + i, bz, j] = acc_o[i, j]

    return main


@tilegen.jit(out=[2])
def combine(batch, heads, dim, num_split):
    dtype, accum_dtype = "float16", "float32"

    @T.prim_func
    def main(
        glse: T.Tensor([batch, heads, num_split], accum_dtype),
        Output_partial: T.Tensor([batch, heads, num_split, dim], dtype),
        Output: T.Tensor([batch, heads, dim], dtype),
    ):
        with T.Kernel(heads, batch, threads=128) as (by, bz):
            o_accum_local = T.alloc_fragment([dim], accum_dtype)
            lse_max_local = T.alloc_var(accum_dtype)
            lse_logsum_local = T.alloc_var(accum_dtype)
            T.clear(o_accum_local)
            lse_logsum_local = 0.0
            lse_max_local = -T.infinity(accum_dtype)
            for k in T.serial(num_split):
                lse_max_local = T.max(lse_max_local, glse[bz, by, k])
            for k in T.serial(num_split):
                lse_logsum_local += T.exp2(glse[bz, by, k] - lse_max_local)
            lse_logsum_local = T.log2(lse_logsum_local) + lse_max_local
            for k in T.serial(num_split):
                scale_local = T.exp2(glse[bz, by, k] - lse_logsum_local)
                for i in T.Parallel(dim):
                    o_accum_local[i] += Output_partial[bz, by, k, i] * scale_local
            for i in T.Parallel(dim):
                Output[bz, by, i] = o_accum_local[i]

    return main


def cases(generator):
    batch, heads, groups, length, dim, splits = 2, 8, 2, 256, 64, 2
    Q = generator.standard_normal((batch, heads, dim)).astype("float16")
    K, V = (generator.standard_normal((batch, length, groups, dim)).astype("float16") for _ in range(2))
    q = Q.astype("float32").reshape(batch, groups, heads // groups, dim)
    k, v = (x.astype("float32").swapaxes(1, 2).reshape(batch, groups, splits, length // splits, dim) for x in (K, V))
    scores = numpy.einsum("bghd,bgsld->bghsl", q, k) / numpy.sqrt(dim)
    largest = scores.max(-1, keepdims=True)
    weights = numpy.exp(scores - largest)
    total = weights.sum(-1, keepdims=True)
    lse = (numpy.log2(total) + largest * 1.44269504)[..., 0].reshape(batch, heads, splits)
    partial = numpy.einsum("bghsl,bgsld->bghsd", weights / total, v).reshape(batch, heads, splits, dim)
    yield flash_attn_split(batch, heads, groups, length, dim, splits), (Q, K, V), (lse, partial)
    share = numpy.exp2(lse - lse.max(-1, keepdims=True))
    joined = (partial * (share / share.sum(-1, keepdims=True))[..., None]).sum(2)
    yield combine(batch, heads, dim, splits), (lse.astype("float32"), partial.astype("float16")), joined
