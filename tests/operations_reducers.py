"""Reducers: contributions in registers, of every shape of loop, and those that stay atomic updates."""

from operation_cases import case

import tilegen.language as T

M, N = T.dynamic("M"), T.dynamic("N")


@case({"M": 20, "N": 700}, op=("sum", "max", "min"), threads=(32, 96, 128), replication=(None, "all", "none"))
def rows_of_a_matrix(op, threads, replication):
    """The last dimension meets: threads of a row."""

    @T.prim_func
    def kernel(A: T.Tensor((M, N), "float32"), B: T.Tensor((M,), "float32")):
        with T.Kernel(T.ceildiv(M, 8), threads=threads) as by:
            rows = T.alloc_reducer((8,), "float32", op=op, replication=replication)
            for k in T.serial(T.ceildiv(N, 64)):
                for i, j in T.Parallel(8, 64):
                    if by * 8 + i < M and k * 64 + j < N:
                        T.reducer_update(rows[i], A[by * 8 + i, k * 64 + j])
            T.finalize_reducer(rows, B[by * 8])

    return kernel


@case({"N": 1000}, op=("sum", "max"), dtype=("float32", "float16", "int64", "float64"), threads=(64, 96))
def everything(op, dtype, threads):
    """One element, to which all threads contribute: in a loop of one dimension, in one of three, and once by itself."""

    @T.prim_func
    def kernel(A: T.Tensor((N,), dtype), B: T.Tensor((2,), dtype)):
        with T.Kernel(1, threads=threads) as _:
            total = T.alloc_reducer((1,), dtype, op=op)
            for k in T.serial(T.ceildiv(N, 128)):
                for i in T.Parallel(128):
                    if k * 128 + i < N:
                        T.reducer_update(total[0], A[k * 128 + i])
            T.finalize_reducer(total, B[0:1])
            T.reducer_init(total)
            for i, j, k in T.Parallel(3, 5, 7):
                T.reducer_update(total[0], A[(i * 5 + j) * 7 + k])
            T.reducer_update(total[0], 3)
            T.finalize_reducer(total)
            B[1] = total[0]

    return kernel


@case({}, threads=(32, 64, 128))
def beside_fragments(threads):
    """Rows and columns of one fragment, a part of its rows, and a tile as a whole."""

    @T.prim_func
    def kernel(A: T.Tensor((32, 64), "float32"), R: T.Tensor((32,), "float32"), C: T.Tensor((64,), "float32"),
               Y: T.Tensor((32, 64), "float32")):
        with T.Kernel(1, threads=threads) as _:
            x = T.alloc_fragment((32, 64), "float32")
            rows = T.alloc_reducer((32,), "float32", op="sum")
            columns = T.alloc_reducer((64,), "float32", op="max")
            sums = T.alloc_reducer((32, 64), "float32", op="sum")
            T.copy(A, x)
            for turn in T.serial(3):
                for i, j in T.Parallel(32, 64):
                    T.reducer_update(rows[i], x[i, j] * turn)
                    T.reducer_update(columns[j], x[i, j] + turn)
                T.reducer_update(sums, x)
            T.reducer_update(rows[5], 0.5)
            T.finalize_reducer(rows)
            T.finalize_reducer(columns, C)
            T.finalize_reducer(sums)
            for i, j in T.Parallel(32, 64):
                Y[i, j] = sums[i, j] - rows[i]
            T.copy(rows, R)

    return kernel


@case({"K": 96}, dtype=("float16", "float32"))
def of_a_product(dtype):
    """Of an accumulator of matrix instructions: its rows, its columns, all of it."""
    K = T.dynamic("K")

    @T.prim_func
    def kernel(A: T.Tensor((64, K), dtype), B: T.Tensor((K, 64), dtype), R: T.Tensor((64,), "float32"),
               C: T.Tensor((64,), "float32"), S: T.Tensor((1,), "float32")):
        with T.Kernel(1, threads=128) as _:
            left = T.alloc_shared((64, 32), dtype)
            right = T.alloc_shared((32, 64), dtype)
            product = T.alloc_fragment((64, 64), "float32")
            rows = T.alloc_reducer((64,), "float32", op="sum")
            columns = T.alloc_reducer((64,), "float32", op="sum")
            largest = T.alloc_reducer((1,), "float32", op="max")
            for k in T.Pipelined(T.ceildiv(K, 32), num_stages=2):
                T.copy(A[0, k * 32], left)
                T.copy(B[k * 32, 0], right)
                T.gemm(left, right, product, clear_accum=True)
                for i, j in T.Parallel(64, 64):
                    T.reducer_update(rows[i], product[i, j])
                    T.reducer_update(columns[j], product[i, j])
                    T.reducer_update(largest[0], product[i, j])
            T.finalize_reducer(rows, R)
            T.finalize_reducer(columns, C)
            T.finalize_reducer(largest, S)

    return kernel


@case({"N": 1000}, dtype=("int32", "float32"), rtol=1e-5)
def by_places_that_are_loaded(dtype):
    """The thread that contributes to an element is not known: atomic updates."""

    @T.prim_func
    def kernel(X: T.Tensor((N,), "int32"), W: T.Tensor((N,), dtype), counts: T.Tensor((16,), dtype)):
        with T.Kernel(1, threads=64) as _:
            result = T.alloc_reducer((16,), dtype, op="sum")
            for k in T.serial(T.ceildiv(N, 128)):
                for i in T.Parallel(128):
                    if k * 128 + i < N:
                        result[X[k * 128 + i] & 15] += W[k * 128 + i]
            T.finalize_reducer(result, counts)

    return kernel


@case({"M": 50})
def finalized_twice(A: T.Tensor[("M", 64), "float32"], B: T.Tensor[("M", 2), "float32"]):
    """A running total, and one for each row."""
    with T.Kernel(1, threads=64) as _:
        running = T.alloc_reducer((1,), "float32")
        for m in T.serial(M):
            own = T.alloc_reducer((1,), "float32")
            for j in T.Parallel(64):
                running[0] += A[m, j]
                own[0] += A[m, j]
            T.finalize_reducer(running)
            T.finalize_reducer(own)
            B[m, 0] = running[0]
            B[m, 1] = own[0] + running[0]
