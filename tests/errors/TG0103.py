"""Buffers of the wrong scope."""
import tilegen.language as T


def accumulator_in_shared_memory(A: T.Tensor[(64, 64), "float16"]):
    with T.Kernel(1):
        x = T.alloc_shared((64, 64), "float16")
        y = T.alloc_shared((64, 64), "float32")
        T.gemm(x, x, y)  # error: TG0103 the accumulator C has to be a fragment tile


def global_operand(A: T.Tensor[(64, 64), "float16"]):
    with T.Kernel(1):
        y = T.alloc_fragment((64, 64), "float32")
        T.gemm(A, A, y)  # error: TG0103 T.copy A into a shared tile first


def reduction_of_a_tensor(A: T.Tensor[(64, 64), "float32"]):
    with T.Kernel(1):
        y = T.alloc_fragment((64,), "float32")
        T.reduce_sum(A, y)  # error: TG0103 T.copy A into a fragment first


def atomic_on_a_fragment(A: T.Tensor[(64,), "float32"]):
    with T.Kernel(1) as bx:
        y = T.alloc_fragment((64,), "float32")
        T.atomic_add(y[bx], 1)  # error: TG0103 a global tensor or a shared tile


def accumulator_of_warps_in_shared_memory(A: T.Tensor[(64, 64), "float16"]):
    with T.Kernel(1):
        x = T.alloc_shared((64, 64), "float16")
        y = T.alloc_shared((32, 32), "float32")
        T.gemm_warp(x, x, y, tile_shape=(32, 32))  # error: TG0103 C has to be a fragment tile


def global_operand_of_warps(A: T.Tensor[(64, 64), "float16"]):
    with T.Kernel(1):
        y = T.alloc_fragment((32, 32), "float32")
        T.gemm_warp(A, A, y, tile_shape=(32, 32))  # error: TG0103 T.copy it into a shared tile first


def asynchronous_copy_to_a_fragment(A: T.Tensor[(64, 64), "float16"]):
    with T.Kernel(1):
        x = T.alloc_fragment((64, 64), "float16")
        T.copy_async(A, x)  # error: TG0103 dst has to be a shared tile


def asynchronous_copy_from_shared_memory(A: T.Tensor[(64, 64), "float16"]):
    with T.Kernel(1):
        x = T.alloc_shared((64, 64), "float16")
        y = T.alloc_shared((64, 64), "float16")
        T.copy_async(x, y)  # error: TG0103 src has to be a global tensor


def scan_of_a_tensor(A: T.Tensor[(64,), "float32"]):
    with T.Kernel(1):
        T.cumsum(A)  # error: TG0103 T.cumsum: src has to be a fragment tile or a shared tile


def vote_of_a_tensor(A: T.Tensor[(64,), "float32"], B: T.Tensor[(1,), "int32"]):
    with T.Kernel(1):
        B[0] = T.cast(T.any_of(A), "int32")  # error: TG0103 T.any_of: the tile has to be a fragment


def view_of_a_local_array():
    with T.Kernel(1):
        x = T.alloc_local((64,), "float32")
        y = T.reshape(x, (8, 8))  # error: TG0103 x is a local array


def a_fragment_of_nibbles(X: T.Tensor[(8, 64), "int4"]):
    with T.Kernel(1):
        x = T.alloc_fragment((8, 64), "int4")  # error: TG0103 tiles of int4 are shared tiles
        T.copy(X, x)


def reducer_that_is_assigned(A: T.Tensor[(64,), "float32"]):
    with T.Kernel(1):
        total = T.alloc_reducer((1,), "float32", op="max")
        for i in T.Parallel(64):
            total[0] = T.max(total[0], A[i])  # error: TG0103 total is a reducer
        T.finalize_reducer(total, A[0:1])


def sum_into_a_maximum(A: T.Tensor[(64,), "float32"]):
    with T.Kernel(1):
        total = T.alloc_reducer((1,), "float32", op="max")
        for i in T.Parallel(64):
            total[0] += A[i]  # error: TG0103 total is a reducer
        T.finalize_reducer(total, A[0:1])
