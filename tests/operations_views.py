"""Other shapes and dtypes of one memory, and transposes."""

from operation_cases import case

import tilegen.language as T

M, N = T.dynamic("M"), T.dynamic("N")


@case({"M": 40})
def reshaped_tiles(A: T.Tensor[("M", 32), "float32"], B: T.Tensor[("M", 32), "float32"],
                   C: T.Tensor[("M",), "float32"]):
    with T.Kernel(T.ceildiv(M, 8), threads=64) as by:
        tile = T.alloc_shared((8, 32), "float32")
        T.copy(A[by * 8, 0], tile)
        parts = T.reshape(tile, (8, 4, 8))
        for i, p, j in T.Parallel(8, 4, 8):
            parts[i, p, j] = parts[i, p, j] * T.cast(p + 1, "float32")
        T.copy(tile, B[by * 8, 0])
        flat = T.view(parts, (256,))
        rows = T.alloc_fragment((64, 4), "float32")
        sums = T.alloc_fragment((64,), "float32")
        square = T.reshape(flat, (64, 4))
        T.copy(square, rows)
        T.reduce_sum(rows, sums, dim=1)
        for i in T.Parallel(8):
            C[by * 8 + i] = flat[i * 32] + flat[i * 32 + 31]
        T.copy(sums, flat[0:64])
        for i in T.Parallel(8):
            C[by * 8 + i] += tile[i // 4, i]


@case({"M": 5, "N": 48}, {"M": 1, "N": 3})
def reshaped_tensors(A: T.Tensor[("M", "N", 4), "float32"], B: T.Tensor[("M", "N", 4), "int32"]):
    with T.Kernel(T.ceildiv(M * N, 16), threads=32) as b:
        rows = T.reshape(A, (M * N, 4))
        results = T.view(B, (M * N, 4), "float32")
        tile = T.alloc_shared((16, 4), "float32")
        T.copy(rows[b * 16, 0], tile)
        for i, j in T.Parallel(16, 4):
            results[b * 16 + i, j] = tile[i, 3 - j]


@case({}, pair=(("float32", "int32"), ("float16", "uint32"), ("int64", "float32"), ("int8", "int16")))
def other_elements(pair):
    wide, narrow = pair

    @T.prim_func
    def kernel(A: T.Tensor((8, 16), wide), B: T.Tensor((8, 16), wide)):
        with T.Kernel(1, threads=32) as _:
            tile = T.alloc_shared((8, 16), wide)
            T.copy(A, tile)
            bits = T.view(tile, dtype=narrow)
            for i in T.Parallel(8):
                first = bits[i, 0]
                bits[i, 0] = bits[i, 1]
                bits[i, 1] = first
            T.copy(tile, B)
    return kernel


@case({"M": 20})
def reshaped_fragments(A: T.Tensor[("M", 64), "float32"], B: T.Tensor[("M", 64), "float32"]):
    with T.Kernel(T.ceildiv(M, 8), threads=64) as by:
        tile = T.alloc_fragment((8, 64), "float32")
        top = T.alloc_fragment((8,), "float32")
        T.copy(A[by * 8, 0], tile)
        plane = T.reshape(tile, (1, 8, 64))
        column = T.reshape(top, (8, 1))
        T.reduce_max(tile, column, dim=1)
        for i, j in T.Parallel(8, 64):
            plane[0, i, j] = plane[0, i, j] - top[i]
        T.copy(tile, B[by * 8, 0])


@case({"M": 40, "N": 70}, source=("shared", "fragment", "global"), target=("shared", "fragment", "global"))
def transposes(source, target):
    @T.prim_func
    def kernel(A: T.Tensor((M, N), "float32"), B: T.Tensor((N, M), "float32")):
        with T.Kernel(T.ceildiv(M, 16), T.ceildiv(N, 32), threads=64) as (by, bx):
            of_source = T.alloc_fragment if source == "fragment" else T.alloc_shared
            of_target = T.alloc_fragment if target == "fragment" else T.alloc_shared
            tile = of_source((16, 32), "float32")
            turned = of_target((32, 16), "float32")
            T.copy(A[by * 16, bx * 32], tile)
            if source == "global":
                T.transpose(A[by * 16:by * 16 + 16, bx * 32:bx * 32 + 32], turned)
            else:
                T.transpose(tile, turned)
            if target == "global":
                T.transpose(tile, B[bx * 32:bx * 32 + 32, by * 16:by * 16 + 16])
            else:
                T.copy(turned, B[bx * 32, by * 16])
    return kernel


@case({})
def product_of_a_view(A: T.Tensor[(2048,), "float16"], B: T.Tensor[(32, 64), "float16"],
                      C: T.Tensor[(64, 64), "float32"]):
    with T.Kernel(1, threads=128) as _:
        A_flat = T.alloc_shared((2048,), "float16")
        B_shared = T.alloc_shared((32, 64), "float16")
        C_local = T.alloc_fragment((64, 64), "float32")
        T.copy(A, A_flat)
        T.copy(B, B_shared)
        A_shared = T.reshape(A_flat, (64, 32))
        T.gemm(A_shared, B_shared, C_local, clear_accum=True)
        T.copy(C_local, C)
