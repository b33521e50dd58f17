"""Convolution of NHWC images as an implicit product, the patches gathered by index arithmetic."""

import numpy

import tilegen
import tilegen.language as T


@tilegen.jit(out=[2])
def convolution(N, C, H, W, F, K, S, D, P, block_M, block_N, block_K, num_stages, threads, dtype="float16",
                accum_dtype="float32"):
    KH, KW = K, K
    OH = (H + 2 * P - D * (K - 1) - 1) // S + 1
    OW = (W + 2 * P - D * (K - 1) - 1) // S + 1

    @T.prim_func
    def main(
        data: T.Tensor((N, H, W, C), dtype),
        kernel: T.Tensor((KH, KW, C, F), dtype),
        out: T.Tensor((N, OH, OW, F), dtype),
    ):
        with T.Kernel(T.ceildiv(F, block_N), T.ceildiv(N * OH * OW, block_M), threads=threads) as (bx, by):
            data_shared = T.alloc_shared((block_M, block_K), dtype)
            kernel_shared = T.alloc_shared((block_K, block_N), dtype)
            out_local = T.alloc_fragment((block_M, block_N), accum_dtype)
            out_shared = T.alloc_shared((block_M, block_N), dtype)
            kernel_flat = T.reshape(kernel, (KH * KW * C, F))
            out_flat = T.reshape(out, (N * OH * OW, F))
            T.clear(out_local)
            for k_iter in T.Pipelined(T.ceildiv(KH * KW * C, block_K), num_stages=num_stages):
                for i, j in T.Parallel(block_M, block_K):
                    k = k_iter * block_K + j
                    m = by * block_M + i
                    access_h = m % (OH * OW) // OW * S + k // (KW * C) * D - P
                    access_w = m % OW * S + k // C % KW * D - P
                    in_bound = (access_h >= 0) and (access_w >= 0) and (access_h < H) and (access_w < W)
                    data_shared[i, j] = T.if_then_else(in_bound, data[m // (OH * OW), access_h, access_w, k % C], 0)
                T.copy(kernel_flat[k_iter * block_K, bx * block_N], kernel_shared)
                T.gemm(data_shared, kernel_shared, out_local)
            T.copy(out_local, out_shared)
            T.copy(out_shared, out_flat[by * block_M, bx * block_N])

    return main


def cases(generator):
    N, C, H, W, F, K, S, D, P = 2, 16, 9, 11, 40, 3, 1, 1, 1
    data, kernel = (generator.standard_normal(s).astype("float16") for s in ((N, H, W, C), (K, K, C, F)))
    wide = numpy.pad(data.astype("float32"), ((0, 0), (P, P), (P, P), (0, 0)))
    taps = (wide[:, r : r + H, s : s + W] @ kernel[r, s].astype("float32") for r in range(K) for s in range(K))
    yield convolution(N, C, H, W, F, K, S, D, P, 64, 32, 32, 2, 128), (data, kernel), sum(taps)
