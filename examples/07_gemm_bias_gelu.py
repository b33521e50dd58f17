"""C = gelu(A @ B + bias): the epilogue works on the accumulator before it leaves the registers."""

import math

import numpy

import tilegen
import tilegen.language as T


@tilegen.jit
def linear_gelu(A: T.Tensor[("M", "K"), "float16"], B: T.Tensor[("K", "N"), "float16"],
                bias: T.Tensor[("N",), "float32"], C: T.Tensor[("M", "N"), "float16"],
                BM=T.by_target(128, cpu=480, sm_90a=256), BN=T.by_target(128, cpu=1024),
                BK=T.by_target(32, cpu=256, sm_90a=64), stages=T.by_target(2, sm_90a=4)):
    with T.Kernel(T.ceildiv(N, BN), T.ceildiv(M, BM), threads=256) as (bx, by):
        A_shared = T.alloc_shared((BM, BK), "float16")
        B_shared = T.alloc_shared((BK, BN), "float16")
        C_local = T.alloc_fragment((BM, BN), "float32")
        bias_local = T.alloc_fragment((BN,), "float32")
        T.clear(C_local)
        for ko in T.Pipelined(T.ceildiv(K, BK), num_stages=stages):
            T.copy(A[by * BM, ko * BK], A_shared)
            T.copy(B[ko * BK, bx * BN], B_shared)
            T.gemm(A_shared, B_shared, C_local)
        T.copy(bias[bx * BN], bias_local)
        for i, j in T.Parallel(BM, BN):
            C_local[i, j] = T.gelu(C_local[i, j] + bias_local[j])
        T.copy(C_local, C[by * BM, bx * BN])


if __name__ == "__main__":
    generator = numpy.random.default_rng(0)
    A, B = (generator.standard_normal(shape).astype("float16") for shape in ((200, 64), (64, 300)))
    bias = generator.standard_normal(300).astype("float32")
    x = A.astype("float32") @ B.astype("float32") + bias
    expected = 0.5 * x * (1 + numpy.vectorize(math.erf)(x / math.sqrt(2)))
    assert numpy.allclose(linear_gelu(A, B, bias), expected, rtol=1e-2, atol=1e-2)
    print("linear_gelu: 200 x 64 times 64 x 300 as NumPy computes them")
