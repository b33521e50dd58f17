"""The execution model of the emulator: indices, shared memory, warps, atomics, orders, compilers."""

from __future__ import annotations

import ctypes
import os

import numpy as np
import pytest

from tilegen.emulator.build import Mode, compile_file
from tilegen.errors import TilegenError
from tilegen.runtime import emulator


def run(body: str, *arrays: np.ndarray, block=32, grid=1, shared: int = 0, target: str = "cuda", warp_size: int = 32,
        before: str = "", **options) -> emulator.Report:
    """Compiles `body` as the kernel k(p0, p1, ...) of these arrays, and launches it."""
    kinds = {"float32": "float", "int32": "int", "uint32": "unsigned", "float64": "double", "int64": "long long",
             "uint64": "unsigned long long", "float16": "float16"}
    parameters = ", ".join(f"{kinds[a.dtype.name]}* p{i}" for i, a in enumerate(arrays))
    compiling = {name: options.pop(name) for name in ("check", "sanitize", "compiler", "debug") if name in options}
    text = f"{before}\nextern \"C\" __global__ void k({parameters})\n{{\n{body}\n}}\n"
    library = emulator.compile_source(text, target, warp_size=warp_size, name=f"k{emulator.SUFFIXES[target]}", **compiling)
    size = block if isinstance(block, (tuple, list)) else [block]
    return emulator.launch(library, "k", grid if isinstance(grid, (tuple, list)) else [grid], size, shared,
                           list(arrays), **options)


def test_indices_in_three_dimensions():
    out = np.zeros((2, 3, 2, 2, 4, 3), np.int32)
    run("int block = (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;\n"
        "int thread = (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;\n"
        "p0[block * blockDim.x * blockDim.y * blockDim.z + thread] = 1000 * block + thread;",
        out, block=(3, 4, 2), grid=(2, 3, 2))
    assert np.array_equal(out.reshape(12, 24), 1000 * np.arange(12)[:, None] + np.arange(24))


@pytest.mark.parametrize("order", emulator.ORDERS)
def test_static_and_dynamic_shared_memory(order):
    out = np.zeros((4, 96), np.int32)
    report = run("__shared__ int fixed[96];\n"
                 "extern __shared__ __align__(128) unsigned char raw[];\n"
                 "int* dynamic = reinterpret_cast<int*>(raw);\n"
                 "fixed[threadIdx.x] = threadIdx.x; dynamic[threadIdx.x] = blockIdx.x;\n"
                 "__syncthreads();\n"
                 "p0[blockIdx.x * 96 + threadIdx.x] = fixed[95 - threadIdx.x] + 1000 * dynamic[(threadIdx.x + 1) % 96];",
                 out, block=96, grid=4, shared=384, order=order, seed=3, check=True)
    assert np.array_equal(out, 1000 * np.arange(4)[:, None] + 95 - np.arange(96))
    assert report.shared_bytes == 768 and report.blocks == 4


def test_shared_memory_starts_as_nan():
    out = np.zeros(1, np.float32)
    run("__shared__ float s[32]; p0[0] = s[3];", out)
    assert np.isnan(out[0])


@pytest.mark.parametrize("warp_size, target", [(32, "cuda"), (64, "hip"), (64, "maca")])
def test_shuffles(warp_size, target):
    out = np.zeros((5, 128), np.int32)
    include = {"hip": "#include <hip/hip_runtime.h>", "maca": "#include <mc_runtime.h>"}.get(target, "")
    run("int t = threadIdx.x, x = 10 * t;\n"
        "p0[t] = shuffle_xor(x, 5); p0[128 + t] = shuffle_down(x, 3u); p0[256 + t] = shuffle_up(x, 2u);\n"
        "p0[384 + t] = shuffle_from_lane(x, 7); p0[512 + t] = warpSize;",
        out, block=128, warp_size=warp_size, target=target, before=include)
    t = np.arange(128)
    lane, first = t % warp_size, t - t % warp_size
    assert np.array_equal(out[0], 10 * (t ^ 5))
    assert np.array_equal(out[1], 10 * np.where(lane + 3 < warp_size, t + 3, t))
    assert np.array_equal(out[2], 10 * np.where(lane >= 2, t - 2, t))
    assert np.array_equal(out[3], 10 * (first + 7))
    assert (out[4] == warp_size).all()


@pytest.mark.parametrize("kind", ["float", "double", "int", "long long", "float16", "signed char"])
def test_a_shuffle_moves_any_type(kind):
    out = np.zeros(32, np.float32)
    run(f"{kind} x = ({kind})threadIdx.x; p0[threadIdx.x] = float(shuffle_xor(x, 1));", out)
    assert np.array_equal(out, np.arange(32) ^ 1)


def test_shuffles_of_a_part_of_the_warp():
    out = np.zeros(32, np.int32)
    run("int t = threadIdx.x;\n"
        "if (t < 16) p0[t] = __shfl_xor_sync(0xffff, t, 1);\n"
        "else p0[t] = __shfl_sync(0xffff0000, t, 3, 8);", out, order="random")
    t = np.arange(32)
    assert np.array_equal(out, np.where(t < 16, t ^ 1, t // 8 * 8 + 3))


def test_votes_and_warp_reductions():
    out = np.zeros((6, 32), np.uint32)
    run("unsigned t = threadIdx.x, all = 0xffffffffu;\n"
        "p0[t] = __ballot_sync(all, t % 3 == 0); p0[32 + t] = __any_sync(all, t == 5);\n"
        "p0[64 + t] = __all_sync(all, t < 31); p0[96 + t] = __reduce_add_sync(all, t);\n"
        "p0[128 + t] = __reduce_max_sync(all, t ^ 9); p0[160 + t] = __match_any_sync(all, t / 8);", out)
    assert (out[0] == sum(1 << i for i in range(0, 32, 3))).all()
    assert (out[1] == 1).all() and (out[2] == 0).all() and (out[3] == 496).all() and (out[4] == 31).all()
    assert np.array_equal(out[5], 0xFF << np.arange(32) // 8 * 8)


def test_barriers_that_vote():
    out = np.zeros((3, 64), np.int32)
    run("int t = threadIdx.x;\n"
        "p0[t] = __syncthreads_count(t < 40); p0[64 + t] = __syncthreads_and(t < 64); p0[128 + t] = __syncthreads_or(t > 63);",
        out, block=64)
    assert (out[0] == 40).all() and (out[1] == 1).all() and (out[2] == 0).all()


def test_named_barriers_order_two_roles():
    out = np.zeros(64, np.int32)
    run("__shared__ int s[32];\n"
        "int t = threadIdx.x;\n"
        "if (t >= 32) { s[t - 32] = t; named_barrier_arrive(1, 64); }\n"
        "else { named_barrier_sync(1, 64); p0[t] = s[31 - t]; }", out, block=64, check=True)
    assert np.array_equal(out[:32], 63 - np.arange(32))


def test_a_partial_warp():
    out = np.zeros(40, np.int32)
    run("p0[threadIdx.x] = shuffle_xor(int(threadIdx.x), 1) + __popc(__ballot_sync(~0u, 1));", out, block=40)
    assert np.array_equal(out, (np.arange(40) ^ 1) + np.where(np.arange(40) < 32, 32, 8))


def test_atomics_of_every_type():
    ints, floats, doubles = np.zeros(6, np.int32), np.zeros(2, np.float32), np.zeros(1)
    longs, words, halves = np.zeros(2, np.int64), np.zeros(4, np.uint32), np.zeros(2, np.float16)
    words[3] = 0xFFFFFFFF
    run("int t = threadIdx.x;\n"
        "atomicAdd(p0, 1); atomicSub(p0 + 1, 2); atomicMax(p0 + 2, t); atomicMin(p0 + 3, -t);\n"
        "if (atomicCAS(p0 + 4, 0, 7) == 0) p0[5] += 1;\n"
        "atomicAdd(p1, 0.5f); atomicMax(p1 + 1, float(t)); atomicAdd(p2, 0.25);\n"
        "atomicAdd(p3, 1ll << 33); atomicMax(p3 + 1, (long long)t);\n"
        "atomicOr(p4, 1u << t % 32); atomicXor(p4 + 1, 1u << t % 32); atomicInc(p4 + 2, 9); atomicAnd(p4 + 3, ~(1u << t % 4));\n"
        "atomicAdd(p5, float16(1)); atomicMax(p5 + 1, float16(t));",
        ints, floats, doubles, longs, words, halves, block=64, grid=4, threads=2)
    assert ints.tolist() == [256, -512, 63, -63, 7, 1]
    assert floats.tolist() == [128, 63] and doubles[0] == 64
    assert longs.tolist() == [256 << 33, 63]
    assert words.tolist() == [0xFFFFFFFF, 0, 256 % 10, 0xFFFFFFF0]
    assert halves.tolist() == [256, 63]


def test_a_spin_lock_between_blocks_makes_progress():
    out = np.zeros(2, np.int32)
    run("if (threadIdx.x == 0) {\n"
        "  while (atomicCAS(p0, 0, 1) != 0) {}\n"
        "  p0[1] += 1; __threadfence(); atomicExch(p0, 0);\n"
        "}", out, grid=8, threads=2)
    assert out.tolist() == [0, 8]


def test_math_and_bits():
    out = np.zeros(16, np.float32)
    run("float x = 0.5f;\n"
        "float values[] = {expf(x), __expf(x), exp2f(x), logf(x), tanhf(x), erff(x), rsqrtf(x), fmaf(x, 3, 1), fminf(x, 2),\n"
        "  float(min(3, 4)), float(max(3u, 4u)), float(__popc(255)), float(__clz(1)), fabsf(-x), float(abs(-3)), __fdividef(x, 4)};\n"
        "for (int i = 0; i < 16; ++i) p0[i] = values[i];", out, block=1)
    wanted = [np.exp(0.5), np.exp(0.5), 2**0.5, np.log(0.5), np.tanh(0.5), 0.5204999, 2**0.5, 2.5, 0.5, 3, 4, 8, 31, 0.5, 3, 0.125]
    assert np.allclose(out, wanted, rtol=1e-6)


def test_a_file_may_define_what_the_emulator_has():
    out = np.zeros(2, np.float32)
    run("float16 h; h.bits = 3; p0[0] = h.bits + tanhf(1); p0[1] = max(1.0f, 2.0f) + max(float2{1, 2});", out, block=1,
        before="struct float16 { unsigned short bits; };\n"
               "__device__ float tanhf(float x) { return x + 7; }\n"
               "__device__ float max(float2 v) { return v.x < v.y ? v.y : v.x; }")
    assert out.tolist() == [11, 4]


def test_vectors_are_copied_whole():
    source, out = np.arange(8, dtype=np.float32), np.zeros(8, np.float32)
    run("const float4 v = reinterpret_cast<const float4*>(p0)[threadIdx.x];\n"
        "reinterpret_cast<float4*>(p1)[threadIdx.x] = make_float4(v.w, v.z, v.y, v.x);", source, out, block=2, check=True)
    assert out.tolist() == [3, 2, 1, 0, 7, 6, 5, 4]


@pytest.mark.parametrize("compiler", ["g++"])
def test_debug_and_sanitized_builds_give_the_same(compiler):
    outs = []
    for mode in ({}, {"debug": True}, {"check": True}, {"sanitize": True}):
        out = np.zeros(64, np.float32)
        run("__shared__ float s[64]; s[threadIdx.x] = threadIdx.x * 0.1f; __syncthreads();\n"
            "float sum = 0; for (int i = 0; i < 64; ++i) sum += s[(i + threadIdx.x) % 64]; p0[threadIdx.x] = sum;",
            out, block=64, compiler=compiler, **mode)
        outs.append(out)
    assert all(np.array_equal(outs[0], out) for out in outs[1:])


def test_random_order_depends_on_the_seed_alone():
    def order_seen(seed: int) -> list[int]:
        out, counter = np.zeros(64, np.int32), np.zeros(1, np.int32)
        run("p0[threadIdx.x] = atomicAdd(p1, 1);", out, counter, block=64, order="random", seed=seed)
        return out.tolist()
    assert order_seen(1) == order_seen(1) != order_seen(2)
    assert sorted(order_seen(1)) == list(range(64))


def test_scalars_by_ctypes_and_arrays_that_are_read_only():
    library = emulator.compile_source(
        "__global__ void k(const float* a, float* b, double x, long long n, unsigned char c, bool flag)\n"
        "{ b[0] = a[0] + float(x) + float(n >> 33) + c + (flag ? 100 : 0); }", ".cu", warp_size=32)
    a, b = np.ones(1, np.float32), np.zeros(1, np.float32)
    a.flags.writeable = False
    emulator.launch(library, "k", [1], [1], 0, [a, b, ctypes.c_double(0.5), ctypes.c_longlong(3 << 33),
                                               ctypes.c_ubyte(20), ctypes.c_bool(True)])
    assert b[0] == 124.5


def test_clusters_share_their_memory():
    out = np.zeros((4, 32), np.int32)
    run("__shared__ int s[32];\n"
        "s[threadIdx.x] = 100 * blockIdx.x + threadIdx.x;\n"
        "cluster_sync();\n"
        "p0[blockIdx.x * 32 + threadIdx.x] = map_shared_rank(s, cluster_rank() ^ 1)[31 - threadIdx.x];\n"
        "cluster_sync();", out, grid=4, cluster=(2, 1, 1), check=True)
    assert np.array_equal(out, 100 * (np.arange(4)[:, None] ^ 1) + 31 - np.arange(32))


@pytest.mark.parametrize("block, message", [(1025, "1025 threads"), (0, "0 threads")])
def test_launches_that_no_gpu_takes(block, message):
    with pytest.raises(TilegenError, match=message):
        run("", block=block)


def free_keys() -> list[int]:
    """All keys of thread-specific data that the process can still make. They stay made."""
    process, key, made = ctypes.CDLL(None), ctypes.c_uint(), []
    while not process.pthread_key_create(ctypes.byref(key), None):
        made.append(key.value)
    return made


def give_back(keys: list[int]) -> None:
    for key in keys:
        ctypes.CDLL(None).pthread_key_delete(key)


def test_a_kernel_that_has_run_keeps_no_key():
    """A process has about 1000: many kernels would leave none to other libraries, such as compilers."""
    out = np.zeros(32, np.int32)
    run("p0[threadIdx.x] = 1;", out)
    before = free_keys()
    give_back(before)
    for value in (2, 3):
        run(f"p0[threadIdx.x] = {value};", out)
    after = free_keys()
    try:
        with pytest.raises(TilegenError, match="no more keys"):
            run("p0[threadIdx.x] = 4;", out)
    finally:
        give_back(after)
    assert len(before) == len(after) and (out == 3).all()
    run("p0[threadIdx.x] = 4;", out)
    assert (out == 4).all()


def test_an_empty_grid_does_nothing():
    assert run("__trap();", grid=0).blocks == 0


def test_source_that_does_not_compile():
    with pytest.raises(TilegenError) as caught:
        run("int x = 1;\nint y = undeclared;")
    assert caught.value.code == "TG0602" and "undeclared" in caught.value.message
    assert caught.value.loc.line == 5 and "log" in caught.value.hint


def test_a_file_without_a_kernel():
    with pytest.raises(TilegenError, match="no __global__ function"):
        emulator.compile_source("// __global__ void k() {}\n__device__ int x;", "cuda", warp_size=32)


def test_fibres_by_ucontext():
    text = ("__global__ void k(int* p) { __shared__ int s[64]; s[threadIdx.x] = threadIdx.x; __syncthreads();\n"
            "  p[threadIdx.x] = shuffle_xor(s[63 - threadIdx.x], 1); }")
    path = compile_file(text, "k.cu", Mode(portable=True))
    out = np.zeros(64, np.int32)
    emulator.launch(emulator.Library(path, path.parent / "k.cu", 32), "k", [1], [64], 0, [out], order="random")
    assert np.array_equal(out, 63 - (np.arange(64) ^ 1))


def test_reports_speak_of_arguments_and_of_python_lines():
    text = "__global__ void k(float* C)\n{\n    // add.py:7  T.copy(A, C)\n    C[threadIdx.x] = 1;\n}\n"
    library = emulator.compile_source(text, "cuda", warp_size=32, check=True)
    with pytest.raises(TilegenError) as caught:
        emulator.launch(library, "k", [1], [32], 0, [np.zeros(31, np.float32)], names=["C"])
    assert "after the end of argument C" in caught.value.message
    assert any("add.py:7" in note.message for note in caught.value.notes)


def test_the_command_for_a_debugger():
    library = emulator.compile_source("__global__ void k(int* p)\n{\n  p[0] = 1;\n}\n", "cuda", warp_size=32, debug=True)
    command = emulator.debugger_command(library, 3, thread=5)
    assert f"gdb -p {os.getpid()} " in command and str(library.source.parent) in command
    assert "break kernel.cu:3 if tilegen_emulator_thread() == 5" in command
