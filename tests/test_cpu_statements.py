"""Plain statements on the CPU: scalars, loops, atomics, prints, assertions; and what the target refuses."""

import subprocess
import sys

import numpy
import pytest
import tilegen
from cpu_support import CPU, agrees, block_text, emitted, library, planned
from tilegen import ir
from tilegen import language as T
from tilegen.errors import TilegenError
from tilegen.passes import run as run_passes

N = T.dynamic("N")


@T.prim_func
def plain(A: T.Tensor((N,), "float32"), I: T.Tensor((N,), "int32"), O: T.Tensor((N,), "float32"),
          H: T.Tensor((8,), "float32"), Q: T.Tensor((N,), "int64")):
    with T.Kernel(T.ceildiv(N, 16), threads=32) as bx:
        scratch = T.alloc_local((4,), "float32")
        best = T.alloc_var("float32", init=-T.infinity("float32"))
        n = T.alloc_var("int32", init=0)
        tile = T.alloc_shared((16,), "float32")
        bins = T.alloc_shared((4,), "int32")
        T.copy(A[bx * 16], tile)
        T.clear(bins)
        for i in T.Parallel(16):
            scratch[i % 4] = tile[i]
            tile[i] = scratch[i % 4] * 2.0
        for i in T.serial(16):
            best = T.max(best, tile[i])
            if i == 11:
                break
        while n < 5:
            n += 2
            if n == 4:
                continue
        T.device_assert(n < 100, "n stays small")
        for i in T.Parallel(16):
            T.atomic_add(bins[(I[bx * 16 + i] + i) % 4], 1)
        for i in T.Parallel(16):
            T.atomic_max(H[i // 2], tile[i])
        for i in T.Parallel(16):
            O[bx * 16 + i] = best + n + T.sin(tile[i]) + T.cast(bins[i % 4], "float32")
        if bx == 0:
            Q[0] = T.cast(n // -4, "int64") * 4000000000


@pytest.mark.parametrize("n", [1, 16, 40])
def test_plain_statements(n):
    agrees(plain, dict(N=n), 1e-6)


def test_what_they_look_like():
    text = block_text(emitted(plain))
    assert 'assertion_failed("test_cpu_statements.py:' in text and 'n stays small");' in text
    assert "t.bins[floor_modulo(" in text and "atomic_max(&H[i / 2], t.tile[i]);" in text


@T.prim_func
def talks(A: T.Tensor((2, 3), "float32"), B: T.Tensor((4,), "int32")):
    with T.Kernel(1, threads=32) as bx:
        tile = T.alloc_shared((2, 3), "float32")
        T.copy(A, tile)
        T.print(tile, "the tile")
        T.print(f"first 100% = {tile[0, 0]} of {B[3]}")
        T.device_assert(tile[1, 2] > 0, "it is positive")


def test_print_and_assert(tmp_path):
    library(emitted(talks), tmp_path)
    program = (f"import ctypes, numpy\nlib = ctypes.CDLL({str(next(tmp_path.glob('*.so')))!r})\n"
               "A, B = numpy.arange(6, dtype='f4') - 3, numpy.arange(4, dtype='i4')\n"
               "for step in range(2):\n    A += step * -9\n"
               "    lib.talks(ctypes.c_void_p(A.ctypes.data), ctypes.c_void_p(B.ctypes.data))")
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode != 0 and "it is positive" in done.stderr
    assert done.stdout.startswith("the tile: \n -3 -2 -1\n 0 1 2\nfirst 100% = -3 of 3\n")


def test_unused_names_leave_no_trace():
    @T.prim_func
    def unused(A: T.Tensor((N,), "float32"), B: T.Tensor((N,), "float32")):
        with T.Kernel(1, 2, threads=32) as (bx, by):
            tile = T.alloc_shared((16,), "float32")
            nothing = T.alloc_fragment((16,), "float32")
            T.copy(A[by * 16], tile)
            T.copy(tile, B[by * 16])
    text = emitted(unused)
    assert "nothing" not in text and "int bx)" not in block_text(text)


def test_too_many_tiles():
    @T.prim_func
    def large(A: T.Tensor((N,), "float32")):
        with T.Kernel(1, threads=32) as bx:
            tile = T.alloc_shared((20 * 2**20,), "float32")
            T.copy(tile, A[0])
    with pytest.raises(TilegenError, match="tile 83886080") as caught:
        planned(large)
    assert caught.value.code == "TG0201"


def test_threads_have_no_number():
    @T.prim_func
    def threads(A: T.Tensor((N,), "int32")):
        with T.Kernel(1, threads=32) as bx:
            A[T.get_thread_binding(0)] = 1
    with pytest.raises(TilegenError, match="no thread index") as caught:
        planned(threads)
    assert caught.value.code == "TG0204" and caught.value.loc.text().strip().startswith("A[T.get_thread")


def test_barriers_are_gone():
    @T.prim_func
    def waits(A: T.Tensor((N,), "int32")):
        with T.Kernel(1, threads=32) as bx:
            T.sync_threads()
            A[0] = 1
    _, plans = planned(waits)
    assert not any(isinstance(n, ir.Sync) for n in ir.walk(plans.body))


def test_passes_do_not_change_their_input():
    kernel, _ = planned(plain)
    before = repr(kernel)
    run_passes(kernel, CPU)
    assert repr(kernel) == before


def test_a_kernel_may_use_the_name_of_the_tiles():
    @T.prim_func
    def steps(A: T.Tensor((64,), "float32"), B: T.Tensor((64,), "float32")):
        with T.Kernel(1, threads=32) as bx:
            tile = T.alloc_shared((16,), "float32")
            for t in T.serial(4):
                T.copy(A[t * 16], tile)
                T.copy(tile, B[t * 16])
    assert "store_float32(&B[t * 16 + col], load_float32(&tiles.tile[col]))" in block_text(emitted(steps))
    agrees(steps, {}, 0)


def test_a_kernel_may_use_the_names_of_helpers():
    @T.prim_func
    def fill_all(A: T.Tensor((N,), "float32"), multiply: T.Tensor((N,), "float32")):
        with T.Kernel(T.ceildiv(N, 16), threads=32) as load_float32:
            fill = T.alloc_shared((16,), "float32")
            broadcast = T.alloc_var("float32", init=2.0)
            T.clear(fill)
            for exp2 in T.Parallel(16):
                fill[exp2] = T.max(A[load_float32 * 16 + exp2] * broadcast, 0.5)
            T.copy(fill, multiply[load_float32 * 16])
    agrees(fill_all, dict(N=40), 0)
    text = emitted(fill_all)
    assert "::fill(t.fill, 0.0f);" in text and "static inline float32x8 exp2(" not in text


def test_a_view_in_other_elements_is_not_reordered():
    """Values that go into a tile as integers and are moved as floats: the compiler has to know that both are one memory."""
    def kernel(A: T.Tensor[(8, 16), "int64"], B: T.Tensor[(8, 16), "int64"]):
        with T.Kernel(1, threads=32) as _:
            tile = T.alloc_shared((8, 16), "int64")
            T.copy(A, tile)
            bits = T.view(tile, dtype="float32")
            for i in T.Parallel(8):
                first = bits[i, 0]
                bits[i, 0] = bits[i, 1]
                bits[i, 1] = first
            T.copy(tile, B)

    A = numpy.arange(5, 133).reshape(8, 16)
    B = numpy.zeros_like(A)
    tilegen.jit(kernel).specialised("cpu", None).loaded(A, B)
    assert (B[:, 0] == A[:, 0] << 32).all() and (B[:, 1:] == A[:, 1:]).all()
