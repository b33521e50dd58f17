"""Sizes that have to be known when the kernel is emitted."""
import tilegen.language as T


def tile_of_a_size(A: T.Tensor[("N",), "float32"]):
    with T.Kernel(1):
        x = T.alloc_shared((N,), "float32")  # error: TG0109 N is known at launch only
        T.copy(A, x)


def parallel_of_a_size(A: T.Tensor[("N",), "float32"]):
    with T.Kernel(1):
        for i in T.Parallel(N):  # error: TG0109 an extent of T.Parallel
            A[i] = 0


def stages_of_a_size(A: T.Tensor[("N",), "float32"]):
    with T.Kernel(1):
        for i in T.Pipelined(8, num_stages=N):  # error: TG0109 num_stages
            A[i] = 0


def tuple_at_a_block(A: T.Tensor[("N",), "float32"], offsets=(1, 2)):
    with T.Kernel(2) as bx:
        A[bx] = offsets[bx]  # error: TG0109 put the values into a tensor
