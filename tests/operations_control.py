"""Loops, branches, scalars, thread indices and barriers at the level of the block."""

from operation_cases import case

import tilegen.language as T

M, N = T.dynamic("M"), T.dynamic("N")


@case({"M": 40, "N": 70}, {"M": 1, "N": 1})
def loops(
    A: T.Tensor[("M", "N"), "float32"], B: T.Tensor[("M", 32), "float32"], C: T.Tensor[("M", 32), "float32"]
):
    with T.Kernel(T.ceildiv(M, 16), threads=64) as by:
        tile = T.alloc_shared((16, 32), "float32")
        total = T.alloc_fragment((16, 32), "float32")
        T.clear(total)
        for k in range(T.ceildiv(N, 32)):
            if k == 2:
                break
            T.copy(A[by * 16, k * 32], tile)
            if k % 2 == 0:
                for i, j in T.Parallel(16, 32):
                    total[i, j] += tile[i, j]
            else:
                for i, j in T.Parallel(16, 32):
                    total[i, j] -= tile[i, 31 - j]
        T.copy(total, B[by * 16, 0])
        for k in T.unroll(3):
            for i, j in T.Parallel(16, 32):
                total[i, j] += T.cast(k, "float32") * 0.5
        T.copy(total, C[by * 16, 0])


@case({"N": 50}, {"N": 1})
def scalars(
    X: T.Tensor[("N",), "int32"],
    count: T.Tensor[("N",), "int32"],
    half: T.float32,
    Y: T.Tensor[("N",), "float32"],
):
    with T.Kernel(N, threads=32) as b:
        x = T.alloc_var("int32", init=X[b] + 30)
        steps = T.alloc_var("int32", init=0)
        while x > 1:
            x = x // 2 if x % 2 == 0 else 3 * x + 1
            steps += 1
            if steps == 20:
                break
        for i in T.serial(10, 0, -3):
            if i == 4:
                continue
            steps += i
        count[b] = steps
        Y[b] = half * T.cast(steps, "float32")


@case({"N": 200}, {"N": 7})
def local_arrays(X: T.Tensor[("N",), "float32"], Y: T.Tensor[("N",), "float32"]):
    with T.Kernel(T.ceildiv(N, 64), threads=64) as b:
        for i in T.Parallel(64):
            powers = T.alloc_local((4,), "float32")
            powers[0] = 1.0
            for k in T.serial(1, 4):
                powers[k] = powers[k - 1] * X[b * 64 + i]
            total = T.alloc_var("float32", init=0.0)
            for k in T.serial(4):
                total += powers[k]
            Y[b * 64 + i] = total


@case({"M": 40, "N": 50}, {"M": 3, "N": 2})
def branches_of_the_block(A: T.Tensor[("M", "N"), "float32"], B: T.Tensor[("M", "N"), "float32"]):
    with T.Kernel(T.ceildiv(N, 32), T.ceildiv(M, 16), threads=64) as (bx, by):
        tile = T.alloc_shared((16, 32), "float32")
        if by == 0:
            T.copy(A[by * 16, bx * 32], tile)
        elif bx == 0:
            T.fill(tile, 2.0)
        else:
            for i, j in T.Parallel(16, 32):
                tile[i, j] = T.cast(i * j, "float32")
        T.copy(tile, B[by * 16, bx * 32])


@T.macro
def scaled(tile, factor):
    for i, j in T.Parallel(16, 32):
        tile[i, j] = tile[i, j] * factor


@case({"M": 20})
def macros(A: T.Tensor[("M", 32), "float32"], B: T.Tensor[("M", 32), "float32"]):
    with T.Kernel(T.ceildiv(M, 16), threads=64) as by:
        tile = T.alloc_fragment((16, 32), "float32")
        T.copy(A[by * 16, 0], tile)
        scaled(tile, 3.0)
        scaled(tile, 0.5)
        T.copy(tile, B[by * 16, 0])


@case({"M": 40, "N": 70})
def persistent(
    X: T.Tensor[("M", "N"), "float32"], Y: T.Tensor[("M", "N"), "float32"], BM=8, BN=32, workers=3
):
    with T.Kernel(workers, threads=64) as b:
        tile = T.alloc_shared((BM, BN), "float32")
        for by, bx in T.Persistent([T.ceildiv(M, BM), T.ceildiv(N, BN)], workers, b, group_size=2):
            T.copy(X[by * BM, bx * BN], tile)
            for i, j in T.Parallel(BM, BN):
                Y[by * BM + i, bx * BN + j] = tile[i, BN - 1 - j]


@case({"N": 200})
def broken_loops(X: T.Tensor[("N",), "int32"], Y: T.Tensor[(4,), "int32"]):
    with T.Kernel(4, threads=32) as b:
        found = T.alloc_var("int32", init=-1)
        for i in T.serial(b * 50, N):
            if X[i] == b:
                found = i
                T.loop_break()
        Y[b] = found
