"""C += A @ W for up to 16 rows of A and 4-bit weights in groups with a scale: bound by reading the weights."""

import numpy

import tilegen
import tilegen.language as T

THOUSAND = 0x6400     # 1024 as float16, whose unit is the lowest bit: 1024 + w is the bits of both
SIXTYFOUR = 0x5400    # 64 as float16, whose unit is the fifth bit: 64 + w, with w one nibble further up


def pack(weights):
    """Words of eight 4-bit weights, (K / 128, N, 16), from uint8 (N, K): a group of all columns after the other. Word
    4 * b + t of a group holds the weights 32 * b + 2 * t + 8 * p + h in the bits 4 * p + 16 * h, since a thread that
    has the column pairs 2 * t of an mma operand needs just these."""
    blocks = weights.reshape(len(weights), -1, 4, 4, 4, 2).astype("uint32")            # n, group, b, p, t, h
    shifts = numpy.arange(4, dtype="uint32")[:, None, None] * 4 + numpy.array([0, 16], "uint32")
    return (blocks << shifts).sum((3, 5), dtype="uint32").reshape(len(weights), -1, 16).swapaxes(0, 1).copy()


def knobs(arch, M, N, K):
    """Tiles of 8 rows for 8 rows of A, and about 512 blocks, four for each SM of a large GPU."""
    if not arch.startswith("sm_") or arch in ("sm_70", "sm_72", "sm_75"):
        return {}
    return dict(BM=8 if M <= 8 else 16, SPLIT=max(1, min(K // 128, 512 // -(-N // 128))))


@tilegen.jit(knobs=knobs)
def int4_gemm(A: T.Tensor[("M", "K"), "float16"], W: T.Tensor[("K // GROUP", "N", 16), "uint32"],
              scales: T.Tensor[("K // GROUP", "N"), "float16"], C: T.Tensor[("M", "N"), "float32"],
              BM=16, BN=128, SPLIT=8, stages=4, GROUP=128, threads=128, blocks=T.by_target(4, sm_70=2)):
    with T.Kernel(T.ceildiv(N, BN), T.ceildiv(M, BM), SPLIT, threads=threads) as (bx, by, bz):
        A_shared = T.alloc_shared((BM, GROUP), "float16")
        W_shared = T.alloc_shared((BN, 16), "uint32")
        scale = T.alloc_shared((BN,), "float16")
        weights = T.alloc_fragment((BN, GROUP), "float16")
        group = T.alloc_fragment((BN, BM), "float32")      # transposed: weights are the left operand, from registers
        C_local = T.alloc_fragment((BN, BM), "float32")
        T.annotate_min_blocks_per_sm(blocks)
        T.clear(C_local)
        steps = T.ceildiv(K // GROUP, SPLIT)               # of each block, a group each
        for ko in T.Pipelined(steps, num_stages=stages):
            T.copy(A[by * BM, (bz * steps + ko) * GROUP], A_shared)
            T.copy(W[bz * steps + ko, bx * BN, 0], W_shared)
            T.copy(scales[bz * steps + ko, bx * BN], scale)
            for i, j in T.Parallel(BN, GROUP):
                word = W_shared[i, j // 32 * 4 + j % 8 // 2]
                high = j % 16 // 8                         # of the two nibbles of a byte
                taken = word >> (j % 32 // 16 * 8 + j % 2 * 16) & (15 << high * 4)
                bits = T.cast(T.if_then_else(high == 1, SIXTYFOUR, THOUSAND) | taken, "uint16")
                weights[i, j] = T.reinterpret(bits, "float16") - T.if_then_else(high == 1, 72.0, 1032.0)
            T.gemm(weights, A_shared, group, transpose_B=True, clear_accum=True)
            for i, j in T.Parallel(BN, BM):
                C_local[i, j] += group[i, j] * scale[i]
        for i, j in T.Parallel(BN, BM):
            T.atomic_add(C[by * BM + j, bx * BN + i], C_local[i, j])


if __name__ == "__main__":
    generator = numpy.random.default_rng(0)
    A, weights = generator.standard_normal((5, 512)).astype("float16"), generator.integers(0, 16, (200, 512), "uint8")
    scales, C = generator.random((4, 200)).astype("float16"), numpy.zeros((5, 200), "float32")
    int4_gemm(A, pack(weights), scales, C)
    expected = A.astype("float32") @ ((weights - 8.0).reshape(200, 4, 128) * scales.T[..., None]).reshape(200, 512).T
    assert numpy.allclose(C, expected, rtol=1e-3, atol=1e-2)
    print("int4_gemm: 5 x 512 times 512 x 200 in 4 bits as NumPy multiplies them")
