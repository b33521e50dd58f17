"""Products whose operands are fragments: in registers where the instruction takes them so, else through shared
memory; and products of products."""

import numpy
import pytest
import tilegen.language as T
from tilegen.api import jit
from tilegen.interpret import run as interpret
from tilegen.runtime.load import load


def product(dtype, accum, ta, tb, fragments):
    """(64, 32) times (32, 64), with A, B or both in fragments."""
    a_shape, b_shape = (32, 64) if ta else (64, 32), (64, 32) if tb else (32, 64)
    alloc_a = T.alloc_fragment if "A" in fragments else T.alloc_shared
    alloc_b = T.alloc_fragment if "B" in fragments else T.alloc_shared

    @T.prim_func
    def kernel(A: T.Tensor(a_shape, dtype), B: T.Tensor(b_shape, dtype), C: T.Tensor((64, 64), accum)):
        with T.Kernel(1, threads=128) as bx:
            A_tile = alloc_a(a_shape, dtype)
            B_tile = alloc_b(b_shape, dtype)
            C_local = T.alloc_fragment((64, 64), accum)
            T.copy(A, A_tile)
            T.copy(B, B_tile)
            T.gemm(A_tile, B_tile, C_local, transpose_A=ta, transpose_B=tb, clear_accum=True)
            T.copy(C_local, C)
    return jit(kernel)


def chain(accum="float32"):
    """(Q @ K.T) @ V, the first product kept on the chip, as attention does."""
    @T.prim_func
    def kernel(Q: T.Tensor((64, 32), "float16"), K: T.Tensor((64, 32), "float16"), V: T.Tensor((64, 32), "float16"),
               O: T.Tensor((64, 32), accum)):
        with T.Kernel(1, threads=64) as bx:
            Q_shared = T.alloc_shared((64, 32), "float16")
            K_shared = T.alloc_shared((64, 32), "float16")
            V_shared = T.alloc_shared((64, 32), "float16")
            S_local = T.alloc_fragment((64, 64), "float32")
            P_local = T.alloc_fragment((64, 64), "float16")
            row_sum = T.alloc_fragment((64,), "float32")
            O_local = T.alloc_fragment((64, 32), accum)
            T.copy(Q, Q_shared)
            T.copy(K, K_shared)
            T.copy(V, V_shared)
            T.gemm(Q_shared, K_shared, S_local, transpose_B=True, clear_accum=True)
            T.reduce_sum(S_local, row_sum, dim=1)
            for i, j in T.Parallel(64, 64):
                S_local[i, j] = S_local[i, j] + row_sum[i] / 64
            T.copy(S_local, P_local)
            T.gemm(P_local, V_shared, O_local, clear_accum=True)
            T.copy(O_local, O)
    return jit(kernel)


def verify(kernel, arch, allowed):
    special = kernel.specialised("cuda", arch, {})
    rng = numpy.random.default_rng(2)
    given = {}
    for p in special.kernel.params:
        shape, dtype = tuple(e.value for e in p.buffer.shape), p.buffer.dtype
        values = rng.integers(-8, 8, shape) if dtype.is_integer else rng.integers(-8, 8, shape) / 8
        given[p.name] = values.astype(dtype.numpy)
    want, got = ({n: v.copy() for n, v in given.items()} for _ in range(2))
    interpret(special.kernel, want, {})
    load(special.source, target="emulator")(**got)
    last = special.kernel.params[-1].name
    assert numpy.abs(want[last].astype(float) - got[last].astype(float)).max() <= allowed
    return special.source


@pytest.mark.parametrize("fragments", ["A", "B", "AB"])
@pytest.mark.parametrize("transposed", [(False, False), (True, True)], ids=["NN", "TT"])
@pytest.mark.parametrize("dtype, accum, arch", [
    ("float16", "float32", "sm_70"), ("float16", "float32", "sm_75"), ("float16", "float16", "sm_80"),
    ("tfloat32", "float32", "sm_80"), ("float64", "float64", "sm_90a"), ("int8", "int32", "sm_80"),
    ("float8_e4m3", "float32", "sm_89"), ("float32", "float32", "sm_80")])
def test_operands_in_fragments(dtype, accum, arch, transposed, fragments):
    source = verify(product(dtype, accum, *transposed, fragments), arch, 0.0)
    assert ("mma_m" in source) == (dtype != "float32")


@pytest.mark.parametrize("accum", ["float32", "float16"])
@pytest.mark.parametrize("arch, in_registers", [("sm_70", False), ("sm_75", True), ("sm_80", True), ("sm_120", True)])
def test_a_product_of_a_product(arch, in_registers, accum):
    """From sm_75 on the accumulator's registers are the next operand's."""
    source = verify(chain(accum), arch, 0.02 if accum == "float32" else 0.3)
    assert ("pack_pair(&P_local" in source) == (in_registers and (accum, arch) != ("float16", "sm_70"))
