"""Running sums and maxima: along every dimension, in both directions, for every way of the threads."""

from operation_cases import case

import tilegen.language as T

M, N = T.dynamic("M"), T.dynamic("N")


@case({"M": 20, "N": 50}, dim=(0, -1), reverse=(False, True), where=("fragment", "shared"))
def scan_of_a_matrix(dim, reverse, where):
    @T.prim_func
    def kernel(A: T.Tensor((M, N), "float32"), B: T.Tensor((M, N), "float32"), C: T.Tensor((M, N), "float32")):
        with T.Kernel(T.ceildiv(M, 16), threads=64) as by:
            allocate = T.alloc_fragment if where == "fragment" else T.alloc_shared
            tile = allocate((16, 64), "float32")
            largest = T.alloc_fragment((16, 64), "float32")
            T.copy(A[by * 16, 0], tile)
            T.cummax(tile, largest, dim=dim, reverse=reverse)
            T.cumsum(tile, dim=dim, reverse=reverse)
            T.copy(tile, B[by * 16, 0])
            T.copy(largest, C[by * 16, 0])
    return kernel


@case({}, dtype=("float64", "float16", "bfloat16", "int32", "int64", "int8"))
def scan_of_a_dtype(dtype):
    @T.prim_func
    def kernel(A: T.Tensor((12, 40), dtype), B: T.Tensor((12, 40), dtype), C: T.Tensor((12, 40), dtype)):
        with T.Kernel(1, threads=64) as _:
            tile = T.alloc_fragment((12, 40), dtype)
            result = T.alloc_fragment((12, 40), dtype)
            T.copy(A, tile)
            T.cumsum(tile, result, dim=1)
            T.copy(result, B)
            T.cummax(tile, result, dim=0, reverse=True)
            T.copy(result, C)
    return kernel


@case({}, shape=((512, 256), (512, 32), (100, 96), (1, 32)), reverse=(False, True))
def scan_of_a_vector(shape, reverse):
    n, threads = shape

    @T.prim_func
    def kernel(A: T.Tensor((n,), "int32"), B: T.Tensor((n,), "int32")):
        with T.Kernel(1, threads=threads) as _:
            tile = T.alloc_fragment((n,), "int32")
            T.copy(A, tile)
            T.cumsum(tile, dim=0, reverse=reverse)
            T.copy(tile, B)
    return kernel


@case({}, dim=(0, 1, 2))
def scan_of_three_dimensions(dim):
    @T.prim_func
    def kernel(A: T.Tensor((4, 8, 16), "float32"), B: T.Tensor((4, 8, 16), "float32")):
        with T.Kernel(1, threads=64) as _:
            tile = T.alloc_fragment((4, 8, 16), "float32")
            T.copy(A, tile)
            T.cumsum(tile, dim=dim)
            T.copy(tile, B)
    return kernel


@case({}, dim=(0, 1), dtype=("float16", "float32"))
def scan_of_a_product(dim, dtype):
    """The layout of an accumulator: blocks of 8 x 4 or 4 x 8 threads in a warp."""
    @T.prim_func
    def kernel(A: T.Tensor((32, 32), dtype), B: T.Tensor((32, 64), dtype), C: T.Tensor((32, 64), "float32")):
        with T.Kernel(1, threads=128) as _:
            A_shared = T.alloc_shared((32, 32), dtype)
            B_shared = T.alloc_shared((32, 64), dtype)
            C_local = T.alloc_fragment((32, 64), "float32")
            T.copy(A, A_shared)
            T.copy(B, B_shared)
            T.gemm(A_shared, B_shared, C_local, clear_accum=True)
            T.cumsum(C_local, dim=dim)
            T.copy(C_local, C)
    return kernel


@case({})
def scan_of_a_part(A: T.Tensor[(3, 8, 32), "float32"], B: T.Tensor[(3, 8, 32), "float32"]):
    with T.Kernel(1, threads=64) as _:
        tile = T.alloc_shared((3, 8, 32), "float32")
        T.copy(A, tile)
        T.cumsum(tile[1, :, 8:24], dim=2)
        T.copy(tile, B)


@case({})
def along_the_first_dimension(A: T.Tensor[(12, 40), "float32"], B: T.Tensor[(12, 40), "float32"]):
    """Without `dim` a scan goes along dimension 0."""
    with T.Kernel(1, threads=64) as _:
        local = T.alloc_fragment((12, 40), "float32")
        other = T.alloc_shared((12, 40), "float32")
        T.copy(A, local)
        T.cumsum(local)
        T.copy(local, other)
        T.cummax(other, reverse=True)
        T.copy(other, B)
