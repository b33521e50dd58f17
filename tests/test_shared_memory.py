"""The places of shared tiles: those that follow one another share one, with a barrier between them; what does not
fit is refused with a ledger."""

import linecache

import numpy
import pytest
from generated_runs import arguments, run
from tilegen import errors
from tilegen.api import jit
from tilegen.build import clang_hip, nvrtc
from tilegen.build.toolchain import compile_text
from tilegen.explain import decisions
from tilegen.interpret import run as interpret
from tilegen.runtime.contract import read_contract

# Two products after each other, and a store through shared memory after both.
PRODUCTS = '''
import tilegen.language as T


def products(A: T.Tensor[("M", "K"), "float32"], B: T.Tensor[("K", "N"), "float32"], C: T.Tensor[("M", "N"), "float32"],
             D: T.Tensor[("M", "N"), "float32"], BM=32, BN=64, BK={depth}, stages={stages}):
    with T.Kernel(T.ceildiv(N, BN), T.ceildiv(M, BM), threads={threads}) as (bx, by):
        A_shared = T.alloc_shared((BM, BK), "float32")
        B_shared = T.alloc_shared((BK, BN), "float32")
        A_second = T.alloc_shared((BM, BK), "float32")
        B_second = T.alloc_shared((BK, BN), "float32")
        C_shared = T.alloc_shared((BM, BN), "{kept}")
        total = T.alloc_fragment((BM, BN), "float32")
        {extra}
        T.clear(total)
        for k in T.Pipelined(T.ceildiv(K, BK), num_stages=stages):
            T.copy(A[by * BM, k * BK], A_shared)
            T.copy(B[k * BK, bx * BN], B_shared)
            T.gemm(A_shared, B_shared, total)
        for k in T.Pipelined(T.ceildiv(K, BK), num_stages=stages):
            T.copy(A[by * BM, k * BK], A_second)
            T.copy(B[k * BK, bx * BN], B_second)
            T.gemm(A_second, B_second, total)
        for i, j in T.Parallel(BM, BN):
            C_shared[i, j] = total[i, j]
        for i, j in T.Parallel(BM, BN):
            C[by * BM + i, bx * BN + j] = C_shared[BM - 1 - i, BN - 1 - j]
        T.copy({last}, D[by * BM, bx * BN])
'''
ROOMY = "wide = T.alloc_shared(({extent}, 128), 'float32')\n        T.clear(wide)\n" \
        "        for i, j in T.Parallel(BM, BN):\n            total[i, j] = wide[i, j]"


def made(extent: int = 0, stages: int = 3, last: str = "C_shared", kept: str = "float32",
         threads: int = 128, depth: int = 32):
    """The kernel; `extent`: rows of a tile that takes most of shared memory before the products."""
    extra = ROOMY.format(extent=extent) if extent else ""
    text = PRODUCTS.format(extra=extra, stages=stages, last=last, kept=kept, threads=threads, depth=depth)
    name = f"<products {extent} {stages} {last} {kept} {threads} {depth}>"
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    names = {"__name__": "products"}
    exec(compile(text, name, "exec"), names)
    return jit(names["products"])


def right(special, text: str = "", order: str = "random") -> bool:
    """Whether the watched emulator gives what the interpreter gives."""
    text = text or special.source
    sizes = {"M": 40, "N": 70, "K": 110}
    given, expected = (arguments(read_contract(text, "<text>"), sizes, 3) for _ in range(2))
    interpret(special.kernel, expected, sizes=sizes)
    run(text, given, order)
    return all(numpy.allclose(given[n], expected[n], rtol=1e-4, atol=1e-4) for n in ("C", "D"))


def places(special) -> dict[str, int]:
    return special.planned.plan.phases


@pytest.mark.parametrize("target, arch", [("cuda", "sm_80"), ("cuda", "sm_75"), ("hip", "gfx942"), ("maca", "xcore1000")])
@pytest.mark.parametrize("order", ["forward", "reverse", "random"])
def test_tiles_that_follow_one_another_share_a_place(target, arch, order):
    special = made(extent=112).specialised(target, arch, {})
    phases = places(special)
    assert set(phases) == {"wide", "A_shared", "B_shared", "A_second", "B_second", "C_shared"}
    assert phases["wide"] == 0 < phases["A_shared"] == phases["B_shared"] <= phases["A_second"] <= phases["C_shared"]
    assert "    union {" in special.source and right(special, order=order)


def test_every_phase_begins_with_a_barrier_that_is_needed():
    special = made(extent=112).specialised("cuda", "sm_80", {})
    lines = special.source.split("\n")
    found = [n for n, line in enumerate(lines) if ", whose place " in line]
    assert len(found) == max(places(special).values()) and not any(lines[n].startswith("        ") for n in found)       # in no loop
    for n in found:
        text = "\n".join(lines[:n] + lines[n + 1:])
        with pytest.raises((AssertionError, errors.TilegenError)):
            assert right(special, text)


def test_loops_have_no_more_barriers_for_it():
    def inside(special):
        return sum(line.startswith("        ") and "__syncthreads" in line for line in special.source.split("\n"))

    shared = made(extent=112).specialised("cuda", "sm_80", {})
    own = made(stages=2, threads=512, depth=16).specialised("cuda", "sm_80", {})
    assert places(shared) and not places(own)
    assert inside(shared) == inside(own) == 2


def test_what_gains_nothing_is_left_alone_and_explained():
    special = made(stages=2, threads=512, depth=16).specialised("cuda", "sm_80", {})
    assert not places(special) and "union" not in special.source
    [reason] = [d.reason for d in decisions(special.planned) if d.subject == "shared places"]
    assert "no more blocks would be on an SM" in reason


def test_a_tile_that_lives_on_keeps_its_place():
    special = made(extent=112, last="wide[0:BM, 0:BN]").specialised("cuda", "sm_80", {})
    assert "wide" not in places(special) and right(special)


@pytest.mark.parametrize("target, arch", [("cuda", "sm_80"), ("hip", "gfx942")])
def test_compilers_take_the_union(target, arch):
    special = made(extent=112, kept="float16").specialised(target, arch, {})
    toolchain = {"cuda": nvrtc, "hip": clang_hip}[target].find()
    assert "union {" in special.source
    assert not compile_text(special.source, toolchain, name="products", target=target, arch=arch).findings


# ---- The ledger ----------------------------------------------------------------------------------
def test_the_ledger_says_what_fits():
    with pytest.raises(errors.TilegenError) as caught:
        made(stages=9, extent=32).specialised("cuda", "sm_86", {}).source
    text = str(caught.value)
    assert caught.value.code == "TG0201" and "cuda sm_86 has 101376" in text
    assert "A_shared: 9 stages x 32 x 36 float32, 4608 bytes a stage: 41472 bytes" in text
    assert "together 115200 bytes, 13824 more than 101376" in text
    help_line = text.splitlines()[-1]
    stages = int(help_line.split("stages=")[1].split()[0])
    assert made(stages=stages, extent=32).specialised("cuda", "sm_86", {}).source
    with pytest.raises(errors.TilegenError):
        made(stages=stages + 1, extent=32).specialised("cuda", "sm_86", {}).source


@pytest.mark.parametrize("target, arch", [("cuda", "sm_80"), ("cuda", "sm_90a"), ("hip", "gfx950")])
def test_more_than_48_kb_is_asked_for_at_the_launch(target, arch):
    special = made(stages=4, extent=120).specialised(target, arch, {})
    assert special.planned.plan.shared_bytes > 48 * 1024
    assert f"SMEM_BYTES <= {special.target.max_shared}" in special.source
    assert '"shared": "SMEM_BYTES"' in special.source
    attribute = {"cuda": "cudaFuncAttributeMaxDynamicSharedMemorySize",
                 "hip": "hipFuncAttributeMaxDynamicSharedMemorySize"}[target]
    assert attribute in special.source
