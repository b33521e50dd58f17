"""Kernels with layouts of their own."""

from __future__ import annotations

import tilegen.language as T
from operation_cases import Case

CASES: list[Case] = []


def case(*sizes):
    """Registers a kernel, run on each of `sizes`."""

    def register(function):
        CASES.append(Case(function.__name__, function, {}, sizes or ({},)))
        return function

    return register


@case({"K": 64}, {"K": 45})
def swizzled_operands(A: T.Tensor[(64, "K"), "float16"], B: T.Tensor[("K", 64), "float16"],
                      C: T.Tensor[(64, 64), "float32"], BK=32):
    """Pieces of 8 columns change places by the row: ldmatrix and cp.async go on, without padding."""
    with T.Kernel(1, threads=128) as _:
        a = T.alloc_shared((64, BK), "float16")
        b = T.alloc_shared((BK, 64), "float16")
        c = T.alloc_fragment((64, 64), "float32")
        T.annotate_layout({
            a: T.Layout(a.shape, lambda i, j: (i, (j // 8 ^ i // 2 % 4) * 8 + j % 8)),
            b: lambda i, j: i * 64 + (j ^ i % 8 * 8),
        })
        T.clear(c)
        for k in T.Pipelined(T.ceildiv(K, BK), num_stages=2):
            T.copy(A[0, k * BK], a)
            T.copy(B[k * BK, 0], b)
            T.gemm(a, b, c)
        T.copy(c, C)


@case()
def columns_first(A: T.Tensor[(32, 48), "float32"], B: T.Tensor[(48, 32), "float32"], C: T.Tensor[(32, 32), "float32"]):
    """A tile that lies by columns: no vectors, the same product."""
    with T.Kernel(1, threads=64) as _:
        a = T.alloc_shared((32, 48), "float32")
        b = T.alloc_shared((48, 32), "float32")
        c = T.alloc_fragment((32, 32), "float32")
        T.annotate_layout({a: T.Layout((32, 48), lambda i, j: (j, i))})
        T.copy(A, a)
        T.copy(B, b)
        T.clear(c)
        T.gemm(a, b, c)
        for i, j in T.Parallel(32, 32):
            c[i, j] = c[i, j] + a[j, i]
        T.copy(c, C)


def from_a_factory(n=64):
    layout = T.Layout((16, n), lambda i, j: (i * n + j) ^ (i % 4))

    @T.prim_func
    def kernel(A: T.Tensor((16, n), "float32"), B: T.Tensor((n, 16), "float32")):
        with T.Kernel(1, threads=32) as _:
            tile = T.alloc_shared((16, n), "float32")
            T.annotate_layout({tile: layout})
            T.copy(A, tile)
            for i, j in T.Parallel(n, 16):
                B[i, j] = tile[j, i]

    return kernel


CASES.append(Case("from_a_factory", from_a_factory, {"n": 64}))


@case()
def fragment_by_columns(A: T.Tensor[(32, 64), "float32"], B: T.Tensor[(32, 64), "float32"],
                        C: T.Tensor[(32,), "float32"]):
    """Neighbouring threads along a column, four columns in each; the sums of rows follow."""
    with T.Kernel(1, threads=64) as _:
        x = T.alloc_fragment((32, 64), "float32")
        rows = T.alloc_fragment((32,), "float32")
        T.annotate_layout({x: T.Fragment((32, 64), lambda i, j: (j // 4 % 2 * 32 + i, j // 8 * 4 + j % 4))})
        T.copy(A, x)
        T.reduce_sum(x, rows, dim=1)
        for i, j in T.Parallel(32, 64):
            x[i, j] = x[i, j] - rows[i]
        T.copy(x, B)
        T.copy(rows, C)


@case()
def fragment_with_copies(A: T.Tensor[(64,), "float32"], B: T.Tensor[(64,), "float32"]):
    """Each element in two threads."""
    with T.Kernel(1, threads=64) as _:
        x = T.alloc_fragment((64,), "float32")
        T.annotate_layout({x: T.Fragment((64,), forward_thread_fn=lambda i, copy: i // 2 % 32 + copy * 32,
                                         forward_index_fn=lambda i: i % 2, replicate=2)})
        T.copy(A, x)
        for i in T.Parallel(64):
            x[i] = x[i] * 2.0
        T.copy(x, B)


@case()
def accumulator_as_it_is(A: T.Tensor[(32, 32), "float16"], C: T.Tensor[(32, 32), "float32"]):
    """A tile in the threads of the accumulator of mma, without a product: a copy of one."""
    with T.Kernel(1, threads=32) as _:
        x = T.alloc_fragment((32, 32), "float32")
        T.annotate_layout({x: T.Fragment((32, 32), forward_thread_fn=lambda i, j: i % 8 * 4 + j // 2 % 4)})
        T.copy(A, x)
        T.copy(x, C)
