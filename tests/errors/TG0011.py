"""break and continue where they cannot be."""
import tilegen.language as T


def break_in_parallel(A: T.Tensor[(64,), "float32"]):
    with T.Kernel(1):
        for i in T.Parallel(64):
            if i > 3:
                break  # error: TG0011 break in a parallel loop
            A[i] = 0


def continue_in_pipelined(A: T.Tensor[(64,), "float32"]):
    with T.Kernel(1):
        for i in T.Pipelined(4, num_stages=2):
            if i > 3:
                continue  # error: TG0011 continue in a pipelined loop
            A[i] = 0


