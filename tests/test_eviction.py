"""What T.copy's eviction_policy says to the L2 cache: by the loads of the copy engine, and nothing elsewhere."""

from __future__ import annotations

import numpy as np
import pytest

import tilegen
import tilegen.language as T
from tilegen.build import nvrtc
from tilegen.build.toolchain import compile_text


@tilegen.jit
def product(A: T.Tensor[("M", "K"), "float16"], B: T.Tensor[("N", "K"), "float16"], C: T.Tensor[("M", "N"), "float16"],
            BM=128, BN=128, threads=256):
    with T.Kernel(T.ceildiv(N, BN), T.ceildiv(M, BM), threads=threads) as (bx, by):
        A_shared = T.alloc_shared((BM, 64), "float16")
        B_shared = T.alloc_shared((BN, 64), "float16")
        C_local = T.alloc_fragment((BM, BN), "float32")
        T.clear(C_local)
        for ko in T.Pipelined(T.ceildiv(K, 64), num_stages=3):
            T.copy(A[by * BM, ko * 64], A_shared, eviction_policy="evict_first")
            T.copy(B[bx * BN, ko * 64], B_shared, eviction_policy="evict_last")
            T.gemm(A_shared, B_shared, C_local, transpose_B=True)
        T.copy(C_local, C[by * BM, bx * BN])


def loads(text: str) -> list[str]:
    """The calls that load, from the kernel's own lines."""
    kernel = text[text.index("// ---- The kernel"):text.index("// tilegen-launch")]
    return [" ".join(part.split(";")[0].split()) for part in kernel.split("tma_load_")[1:]]


@pytest.mark.parametrize("values, multicast", [(dict(BM=64, BN=16, threads=128), ""), ({}, "_multicast")],
                         ids=["alone", "cluster"])
def test_loads_of_the_copy_engine(values, multicast):
    special = product.specialize(**values).specialised("cuda", "sm_90a")
    a, b = loads(special.source)
    assert a.startswith("2d_hinted(s.A_shared") and a.endswith("l2_evict_first())")
    assert b.startswith(f"2d{multicast}_hinted(s.B_shared") and b.endswith("l2_evict_last())")
    numbers = np.random.default_rng(0)
    A, B = (numbers.standard_normal(shape).astype("float16") for shape in ((140, 136), (136, 136)))
    got = special.emulated(A, B).astype("float32")
    assert np.abs(got - A.astype("float32") @ B.astype("float32").T).max() < 0.1
    artifact = compile_text(special.source, nvrtc.find(), name="product.cu", target="cuda", arch="sm_90a")
    assert not artifact.findings and artifact.resources.stack == 0


def test_other_targets_load_as_they_do():
    for target, arch in (("cuda", "sm_80"), ("hip", "gfx942"), ("cpu", "avx2")):
        assert "l2_evict" not in product.specialised(target, arch).source
