"""Kernel functions in both forms: parameters, sizes, knobs, values, access."""

import numpy as np
import pytest
import tilegen.language as T
from tilegen import ir
from tilegen.errors import TilegenError
from tilegen.frontend import form, instantiate, parse
from tilegen.printer import show

LOG2E = 1.4426950408889634


def matmul(A: T.Tensor[("M", "K"), "float16"], B: T.Tensor[("K", "N"), "float16"],
           C: T.Tensor[("M", "N"), "float16"], BM=T.by_target(128, cpu=480), BN=256, BK=64, stages=3):
    with T.Kernel(T.ceildiv(N, BN), T.ceildiv(M, BM), threads=256) as (bx, by):
        A_shared = T.alloc_shared((BM, BK), "float16")
        B_shared = T.alloc_shared((BK, BN), "float16")
        C_local = T.alloc_fragment((BM, BN), "float32")
        T.clear(C_local)
        for ko in T.Pipelined(T.ceildiv(K, BK), num_stages=stages):
            T.copy(A[by * BM, ko * BK], A_shared)
            T.copy(B[ko * BK, bx * BN], B_shared)
            T.gemm(A_shared, B_shared, C_local)
        T.copy(C_local, C[by * BM, bx * BN])


def factory(M, N, block_M=64, dtype="float16", causal=True, scale_by=None):
    tiles = M // block_M
    half = N // 2
    root = float(N) ** 0.5
    shape = (M, N)

    @T.prim_func
    def kernel(X: T.Tensor(shape, dtype), Y: T.Tensor((M, half), "float32")):
        with T.Kernel(tiles, threads=64) as bx:
            for i, j in T.Parallel(block_M, half):
                if causal:
                    Y[bx * block_M + i, j] = X[bx * block_M + i, j] * root * LOG2E
                if scale_by is not None:
                    Y[i, j] = scale_by
    return kernel


def text(function, **options):
    return show(parse(function, **options))


def test_the_kernel_of_the_readme():
    assert text(matmul).splitlines() == """\
BM = 128
BN = 256
BK = 64
stages = 3
M = T.dynamic("M")
K = T.dynamic("K")
N = T.dynamic("N")

@T.prim_func
def matmul(
    A: T.Tensor((M, K), "float16"),
    B: T.Tensor((K, N), "float16"),
    C: T.Tensor((M, N), "float16"),  # write
):
    with T.Kernel(ceildiv(N, BN), ceildiv(M, BM), threads=256) as (bx, by):
        A_shared = T.alloc_shared((BM, BK), "float16")
        B_shared = T.alloc_shared((BK, BN), "float16")
        C_local = T.alloc_fragment((BM, BN), "float32")
        T.clear(C_local)
        for ko in T.Pipelined(ceildiv(K, BK), num_stages=stages):
            T.copy(A[by * BM:by * BM + BM, ko * BK:ko * BK + BK], A_shared)
            T.copy(B[ko * BK:ko * BK + BK, bx * BN:bx * BN + BN], B_shared)
            T.gemm(A_shared, B_shared, C_local)
        T.copy(C_local, C[by * BM:by * BM + BM, bx * BN:bx * BN + BN])
""".splitlines()


def test_every_statement_and_region_has_a_place():
    kernel = parse(matmul)
    for node in ir.walk(kernel.body):
        if isinstance(node, (ir.Stmt, ir.Region)):
            assert node.loc is not None and node.loc.file == __file__, node
    gemm = next(node for node in ir.walk(kernel.body) if isinstance(node, ir.Gemm))
    assert gemm.loc.text().strip() == "T.gemm(A_shared, B_shared, C_local)"
    assert gemm.b.loc.text()[gemm.b.loc.column:gemm.b.loc.end_column] == "B_shared"
    assert kernel.launch_loc.text().strip().startswith("with T.Kernel")


# ---- Knobs, sizes and values ---------------------------------------------------------------------
def test_defaults_differ_by_target():
    assert parse(matmul, target="cpu").knobs[0].value == 480
    assert parse(matmul, target="cpu", values={"BM": np.int64(96)}).knobs[0].value == 96


def test_a_size_with_a_value_is_a_knob():
    kernel = parse(matmul, values={"M": 4096, "BN": 64})
    assert [(k.name, k.value) for k in kernel.knobs] == [("BM", 128), ("BN", 64), ("BK", 64), ("stages", 3),
                                                         ("M", 4096)]
    assert [s.name for s in kernel.sizes] == ["K", "N"]
    assert kernel.params[0].buffer.shape[0] == ir.Var("M", kind="knob")


def test_numbers_of_a_factory_are_knobs_under_their_names():
    kernel = parse(factory(1024, 256))
    assert kernel.name == "factory"
    assert [(k.name, k.value, k.expr and show(k.expr)) for k in kernel.knobs] == [
        ("M", 1024, None), ("N", 256, None), ("block_M", 64, None), ("tiles", 16, "M // block_M"),
        ("half", 128, "N // 2"), ("root", 16.0, None), ("LOG2E", LOG2E, None)]
    assert next(k.comment for k in kernel.knobs if k.name == "root") == "computed in Python: float(N) ** 0.5"
    assert [show(e) for e in kernel.params[0].buffer.shape] == ["M", "N"]
    assert [show(e) for e in kernel.params[1].buffer.shape] == ["M", "half"]


def test_a_float_of_the_module_is_no_knob_of_the_file():
    kernel = parse(factory(1024, 256))
    assert [k.name for k in kernel.knobs if k.fixed] == ["LOG2E"]
    assert [k.name for k in parse(factory, values={"M": 512, "N": 64, "scale_by": 2.0}).knobs if k.fixed] == ["LOG2E"]


def test_sizes_of_a_factory_stay_sizes():
    m = T.dynamic("m")
    kernel = parse(factory(m, 64))
    assert [s.name for s in kernel.sizes] == ["m"]
    assert show(kernel.grid[0]) == "m // block_M"
    assert [show(e) for e in kernel.params[0].buffer.shape] == ["m", "N"]


def test_values_of_a_factory_are_its_arguments():
    kernel = parse(factory, values={"M": 512, "N": 64, "block_M": 32, "causal": False, "scale_by": 2.0})
    assert [(k.name, k.value) for k in kernel.knobs] == [("M", 512), ("N", 64), ("block_M", 32),
                                                         ("scale_by", 2.0), ("tiles", 16), ("half", 32)]
    assert parse(factory, values={"M": "dynamic", "N": 64}).sizes[0].name == "M"


def test_a_changed_knob_changes_what_follows_from_it():
    kernel = parse(factory(1024, 256), values={"block_M": 128})
    assert [(k.name, k.value) for k in kernel.knobs if k.name in ("block_M", "tiles")] == [("block_M", 128),
                                                                                          ("tiles", 8)]


def test_a_knob_that_python_used_cannot_be_changed_afterwards():
    with pytest.raises(TilegenError) as caught:
        parse(factory(1024, 256), values={"N": 128})
    assert caught.value.code == "TG0503" and "root was computed from it" in caught.value.message


def test_python_that_a_factory_ran_does_not_run_again():
    calls = []

    def count(n):
        calls.append(n)
        return n * len(calls)

    def counted(N):
        rows = count(4) + N

        @T.prim_func
        def kernel(A: T.Tensor((N,), "float32")):
            with T.Kernel(rows) as bx:
                A[bx] = 0
        return kernel

    knob = parse(counted(8)).knobs[1]
    assert (knob.name, knob.value, knob.expr) == ("rows", 12, None)
    assert knob.comment == "computed in Python: count(4) + N"
    assert calls == [4]


def test_dtypes_may_be_values():
    kernel = parse(factory(64, 64, dtype=T.bfloat16))
    assert kernel.params[0].buffer.dtype.name == "bfloat16"


def test_eager_form():
    def add(A, B, block=64):
        M, N = T.const("M, N")
        A: T.Tensor((M, N), "float16")
        B: T.Tensor[[M, N], T.float16]
        C = T.empty((M, N), "float32")
        with T.Kernel(T.ceildiv(M, block)) as bx:
            for i, j in T.Parallel(block, 16):
                C[bx * block + i, j] = A[bx * block + i, j] + B[bx * block + i, j]
        return C

    kernel = parse(add)
    assert [(p.name, p.access, p.buffer.dtype.name) for p in kernel.params] == [
        ("A", "read", "float16"), ("B", "read", "float16"), ("C", "write", "float32")]
    assert [s.name for s in kernel.sizes] == ["M", "N"]


def test_scalar_parameters():
    def scale(A: T.Tensor[("n",), "float32"], alpha: T.float32, n: T.int32):
        with T.Kernel(1):
            for i in T.serial(n):
                A[i] = A[i] * alpha

    kernel = parse(scale)
    assert [(p.name, p.var and p.var.dtype.name) for p in kernel.params] == [
        ("A", None), ("alpha", "float32"), ("n", "int32")]
    assert kernel.params[0].buffer.shape == (ir.Var("n", kind="scalar"),) and not kernel.sizes


def test_access_follows_from_use():
    def kernel(A: T.Tensor[(8,), "float32"], B: T.Tensor[(8,), "float32"], C: T.Tensor[(8,), "float32"],
               D: T.Tensor[(8,), "float32"]):
        with T.Kernel(1):
            T.copy(A, B)
            C[0] = 1
            C[1] += A[0]
            T.atomic_add(D[0], 1)

    assert [p.access for p in parse(kernel).params] == ["read", "write", "readwrite", "readwrite"]


def test_assumptions_on_sizes_are_requirements():
    def kernel(A: T.Tensor[("N",), "float32"], BM=32):
        T.assume(N % BM == 0)
        with T.Kernel(N // BM) as bx:
            T.assume(bx < 100)
            if bx > 0:
                T.assume(N > 100)
            A[bx] = 0

    assert [show(r) for r in parse(kernel).requires] == ["N % BM == 0"]


def test_a_float64_tensor_makes_literals_double():
    def kernel(A: T.Tensor[("N",), "float64"], eps=1e-12):
        with T.Kernel(N) as bx:
            x = 0.1
            A[bx] = A[bx] * 0.1 + eps + x

    parsed = parse(kernel)
    floats = [n for n in ir.walk(parsed.body) if isinstance(n, ir.Expr) and n.dtype.is_float]
    assert {n.dtype.name for n in floats} == {"float64"}
    assert {"eps", "x"} <= {n.name for n in floats if isinstance(n, ir.Var)}


def test_names_before_the_kernel():
    def kernel(A: T.Tensor[("N",), "float32"], BM=32):
        wide = BM * 4
        blocks = T.ceildiv(N, wide)
        last = blocks - 1
        with T.Kernel(blocks) as bx:
            A[bx] = last

    parsed = parse(kernel)
    assert [(k.name, k.value, k.expr and show(k.expr)) for k in parsed.knobs] == [
        ("BM", 32, None), ("wide", 128, "BM * 4")]
    assert show(parsed.grid[0]) == "ceildiv(N, wide)"
    assert [show(s) for s in parsed.body] == ["blocks: int32 = ceildiv(N, wide)", "last: int32 = blocks - 1",
                                              "A[bx] = last"]


def test_form_and_instantiate():
    assert form(matmul) == "direct" and form(factory) == "factory"
    assert form(factory(64, 64)) == "direct"
    assert instantiate(factory, values={"M": 64, "N": 64}).__name__ == "kernel"


def test_names_of_cpp_get_an_underscore():
    def exp(A: T.Tensor[("N",), "float32"]):
        with T.Kernel(N) as register:
            new = A[register]
            double = T.alloc_local((4,), "float32")
            double[0] = new
            for max in range(4):
                A[max] = double[0]

    kernel = parse(exp)
    assert kernel.name == "exp_kernel" and kernel.block_vars[0].name == "register_"
    assert [show(s).splitlines()[0] for s in kernel.body] == [
        "new_: float32 = A[register_]", 'double_ = T.alloc_local((4,), "float32")', "double_[0] = new_",
        "for max_ in T.serial(4):"]


def test_an_annotation_over_names_that_are_gone():
    rows, columns = 4, T.dynamic("columns")

    def kernel(A: T.Tensor((rows, columns), "float16"), B: T.Tensor[(rows,), "float32"]):
        with T.Kernel(1) as bx:
            B[bx] = A[bx, 0]

    parsed = parse(kernel)
    assert [show(e) for e in parsed.params[0].buffer.shape] == ["4", "columns"]
    assert [s.name for s in parsed.sizes] == ["columns"] and parsed.params[1].buffer.dtype.name == "float32"


def test_numbers_of_objects_are_knobs_under_their_attribute():
    class Tiles:
        rows = 16
    rows = 8 * 2
    config = Tiles()

    def kernel(A: T.Tensor[("N",), "float32"]):
        with T.Kernel(config.rows, rows):
            A[0] = config.rows + rows

    assert [(k.name, k.value, k.expr) for k in parse(kernel).knobs] == [("rows", 16, None)]
