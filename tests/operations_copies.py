"""Copies in all directions, of all dtypes, with slices, ragged edges and more dimensions."""

from operation_cases import case

import tilegen.language as T

DTYPES = ("float64", "float32", "float16", "bfloat16", "int8", "int16", "int32", "int64", "uint8", "bool")
RAGGED = ({"M": 32, "N": 64}, {"M": 33, "N": 67}, {"M": 1, "N": 1})


@case(*RAGGED, dtype=DTYPES)
def global_shared_fragment_global(A: T.Tensor[("M", "N"), "dtype"], B: T.Tensor[("M", "N"), "dtype"], dtype="float32",
                                  BM=16, BN=32):
    with T.Kernel(T.ceildiv(N, BN), T.ceildiv(M, BM), threads=64) as (bx, by):
        tile = T.alloc_shared((BM, BN), dtype)
        local = T.alloc_fragment((BM, BN), dtype)
        T.copy(A[by * BM, bx * BN], tile)
        T.copy(tile, local)
        T.copy(local, B[by * BM, bx * BN])
