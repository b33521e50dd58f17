"""float16 times 4-bit weights: packed bytes are unpacked in registers, and multiplied from shared memory."""

import numpy

import tilegen
import tilegen.language as T


def unsigned_from_packed(num_bits, storage_bits=8):
    @T.macro
    def convert(value, position, dtype):
        mask = (1 << num_bits) - 1
        return ((value >> (position * num_bits)) & mask).astype(dtype)

    return convert


@tilegen.jit(out=[-1])
def matmul(M, N, K, in_dtype, out_dtype, accum_dtype, block_M=32, block_N=32, block_K=64, num_stages=2, threads=128,
           num_bits=4):
    num_elems_per_byte = 8 // num_bits
    storage_dtype = "uint8"
    unpack = unsigned_from_packed(num_bits)

    @T.prim_func
    def main(
        A: T.Tensor((M, K), in_dtype),
        B: T.Tensor((N, K // num_elems_per_byte), storage_dtype),
        Ct: T.Tensor((N, M), out_dtype),
    ):
        with T.Kernel(T.ceildiv(N, block_N), T.ceildiv(M, block_M), threads=threads) as (bx, by):
            A_shared = T.alloc_shared((block_M, block_K), in_dtype)
            B_shared = T.alloc_shared((block_N, block_K // num_elems_per_byte), storage_dtype)
            B_dequantize_local = T.alloc_fragment((block_N, block_K), in_dtype)
            B_dequantize_prev_local = T.alloc_fragment((block_N, block_K), in_dtype)
            Ct_local = T.alloc_fragment((block_N, block_M), accum_dtype)
            Ct_shared = T.alloc_shared((block_N, block_M), out_dtype)
            T.clear(Ct_local)
            for k in T.Pipelined(K // block_K, num_stages=num_stages):
                T.copy(A[by * block_M, k * block_K], A_shared)
                T.copy(B[bx * block_N, k * block_K // num_elems_per_byte], B_shared)
                for i, j in T.Parallel(block_N, block_K):
                    B_dequantize_local[i, j] = unpack(B_shared[i, j // num_elems_per_byte], j % num_elems_per_byte,
                                                      in_dtype)
                T.copy(B_dequantize_local, B_dequantize_prev_local)
                T.gemm(B_dequantize_prev_local, A_shared, Ct_local, transpose_B=True)
            T.copy(Ct_local, Ct_shared)
            T.copy(Ct_shared, Ct[bx * block_N, by * block_M])

    return main


def cases(generator):
    A, B = generator.standard_normal((64, 128)).astype("float16"), generator.integers(0, 256, (96, 64), "uint8")
    weights = numpy.stack([B & 15, B >> 4], axis=-1).reshape(96, 128).astype("float32")
    yield matmul(64, 96, 128, "float16", "float16", "float32", block_N=64), (A, B), weights @ A.astype("float32").T
