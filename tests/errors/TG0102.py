"""Dtypes that differ."""
import tilegen.language as T


def gemm_of_two_dtypes(A: T.Tensor[(64, 64), "float16"]):
    with T.Kernel(1):
        x = T.alloc_shared((64, 64), "float16")
        y = T.alloc_shared((64, 64), "bfloat16")
        z = T.alloc_fragment((64, 64), "float32")
        T.gemm(x, y, z, clear_accum=True)  # error: TG0102 x is float16, y is bfloat16


def accumulator_too_small(A: T.Tensor[(64, 64), "float32"]):
    with T.Kernel(1):
        x = T.alloc_shared((64, 64), "float32")
        z = T.alloc_fragment((64, 64), "float16")
        T.gemm(x, x, z, clear_accum=True)  # error: TG0102 products of float32 cannot be accumulated in float16


def integer_accumulator(A: T.Tensor[(64, 64), "int8"]):
    with T.Kernel(1):
        x = T.alloc_shared((64, 64), "int8")
        z = T.alloc_fragment((64, 64), "float32")
        T.gemm(x, x, z, clear_accum=True)  # error: TG0102 allocate z as int32


def reduction_of_bool(A: T.Tensor[(64, 64), "bool"]):
    with T.Kernel(1):
        x = T.alloc_fragment((64, 64), "bool")
        y = T.alloc_fragment((64,), "bool")
        T.copy(A, x)
        T.reduce_max(x, y)  # error: TG0102 does not take bool


def variable_becomes_float(A: T.Tensor[(64,), "float32"]):
    with T.Kernel(8) as bx:
        x = bx + 1
        x = A[bx]  # error: TG0102 x is int32
        A[0] = x


def infinity_of_an_integer(A: T.Tensor[(64,), "int32"]):
    with T.Kernel(1) as bx:
        A[bx] = T.infinity("int32")  # error: TG0102 T.max_value(dtype)


def bits_of_floats(A: T.Tensor[(64, 32), "float32"]):
    with T.Kernel(1):
        x = T.alloc_fragment((64, 32), "float32")
        y = T.alloc_fragment((64,), "float32")
        T.copy(A, x)
        T.reduce_bitor(x, y)  # error: TG0102 T.reduce_bitor takes integers


def scan_of_bool(A: T.Tensor[(64,), "bool"]):
    with T.Kernel(1):
        x = T.alloc_fragment((64,), "bool")
        T.copy(A, x)
        T.cumsum(x)  # error: TG0102 T.cumsum does not take bool


def elements_that_share_a_byte(X: T.Tensor[(8, 64), "int4"]):
    with T.Kernel(1):
        x = T.alloc_shared((8, 64), "int4")
        for i, j in T.Parallel(8, 64):
            x[i, j] = 1  # error: TG0102 x is int4: its elements share bytes


def packing(X: T.Tensor[(8, 64), "int8"]):
    with T.Kernel(1):
        x = T.alloc_shared((8, 64), "int4")
        T.copy(X, x)  # error: TG0102 int8 cannot be packed into int4


def half_a_byte(X: T.Tensor[(8, 64), "uint4"]):
    with T.Kernel(1):
        x = T.alloc_shared((8, 32), "uint4")
        T.copy(X[:, 1:33], x)  # error: TG0102 a part of it has to start and end at even elements of a row
