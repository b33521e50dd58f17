"""Random numbers: by counter, and from a stream of each iteration."""

from operation_cases import case

import tilegen.language as T

M, N = T.dynamic("M"), T.dynamic("N")


@case({"N": 70}, {"N": 3})
def numbers_by_counter(seed: T.Tensor[(1,), "int64"], A: T.Tensor[("N",), "uint32"], B: T.Tensor[("N",), "int64"]):
    with T.Kernel(T.ceildiv(N, 64), threads=32) as b:
        for i in T.Parallel(64):
            at = b * 64 + i
            A[at] = T.philox(seed[0] - 3, at)
            B[at] = T.philox(7, T.cast(at, "int64") * 6000000000, sequence=at)


@case({"M": 40})
def streams_of_iterations(A: T.Tensor[("M",), "uint32"], B: T.Tensor[("M", 2), "float32"]):
    with T.Kernel(T.ceildiv(M, 32), threads=32) as b:
        for i in T.Parallel(32):
            T.rng_init(1234, sequence=b * 32 + i, offset=2)
            first = T.rng_rand()
            A[b * 32 + i] = first ^ T.rng_rand()
            for k in range(2):
                B[b * 32 + i, k] = T.rng_rand_float() - 0.5


@case({"M": 5})
def stream_of_a_block(A: T.Tensor[("M",), "float32"]):
    with T.Kernel(M, threads=32) as b:
        T.rng_init(b + 1)
        steps = T.alloc_var("float32", init=0.0)
        while steps < 3.0:
            steps += T.rng_rand_float()
            if T.rng_rand() % 5 == 0:
                break
        A[b] = steps
