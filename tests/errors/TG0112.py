"""Values that are used before they have one."""
import tilegen.language as T


def bound_in_one_branch(A: T.Tensor[(64,), "float32"]):
    with T.Kernel(2) as bx:
        if bx > 0:
            x = 1.0
        A[bx] = x  # error: TG0112 only in a branch, at line 8


def bound_in_one_of_two_branches(A: T.Tensor[(64,), "float32"]):
    with T.Kernel(2) as bx:
        if bx > 0:
            x = 1.0
        elif bx > 1:
            x = 2.0
        A[bx] = x  # error: TG0112 give x a value before the branch


def bound_in_a_loop(A: T.Tensor[(64,), "float32"]):
    with T.Kernel(2) as bx:
        for i in range(4):
            last = i * 2
        A[bx] = last  # error: TG0112 only inside of a loop


def bound_later(A: T.Tensor[(64,), "float32"]):
    with T.Kernel(2) as bx:
        A[bx] = x  # error: TG0112 x is used before it has a value
        x = 1.0


def update_of_nothing(A: T.Tensor[(64,), "float32"]):
    with T.Kernel(2) as bx:
        total += 1  # error: TG0112 total is used before it has a value
        A[bx] = total


def accumulator_without_clear(A: T.Tensor[(64, 64), "float16"]):
    with T.Kernel(1):
        x = T.alloc_shared((64, 64), "float16")
        y = T.alloc_fragment((64, 64), "float32")
        T.copy(A, x)
        for k in range(4):
            T.gemm(x, x, y)  # error: TG0112 write T.clear(y) before the loop


def tile_that_nobody_wrote(A: T.Tensor[(64,), "float32"]):
    with T.Kernel(1):
        x = T.alloc_shared((64,), "float32")
        T.copy(x, A)  # error: TG0112 x is read before it has a value


def read_without_sync(A: T.Tensor[(64, 64), "float16"], B: T.Tensor[(64, 64), "float16"]):
    with T.Kernel(1):
        tile = T.alloc_shared((64, 64), "float16")
        T.copy_async(A, tile)
        T.sync_threads()
        T.copy(tile, B)  # error: TG0112 write T.sync() between them


def product_without_sync(A: T.Tensor[(64, 64), "float16"], B: T.Tensor[(64, 64), "float32"]):
    with T.Kernel(1):
        tile = T.alloc_shared((64, 64), "float16")
        C_local = T.alloc_fragment((64, 64), "float32")
        T.copy_async(A, tile)
        for k in T.Pipelined(2):
            T.gemm(tile, tile, C_local, clear_accum=True)  # error: TG0112 before its T.copy_async is complete
        T.copy(C_local, B)


def reducer_read_too_early(A: T.Tensor[(64,), "float32"]):
    with T.Kernel(1):
        total = T.alloc_reducer((1,), "float32")
        for turn in range(3):
            A[turn] = total[0]  # error: TG0112 total is read before T.finalize_reducer
            for i in T.Parallel(32):
                T.reducer_update(total[0], A[i + 32])
        T.finalize_reducer(total)


def reducer_never_finalized(A: T.Tensor[(64,), "float32"]):
    with T.Kernel(1):
        total = T.alloc_reducer((1,), "float32")  # error: TG0112 the reducer total is never finalized
        for i in T.Parallel(64):
            T.reducer_update(total[0], A[i])
