"""Lanes, shuffles and votes in the emulator, against NumPy; and where they have no meaning."""

import numpy
import pytest

import tilegen
import tilegen.language as T
from tilegen.errors import TilegenError
from tilegen.interpret import run as interpret

GPUS = {"cuda": 32, "hip": 64, "maca": 64}
every_gpu = pytest.mark.parametrize("target", GPUS)


def emulated(function, target, *arrays):
    tilegen.jit(function).specialize().specialised(target, None).emulated(*arrays)


def shuffles(X: T.Tensor[("N",), "float32"], Y: T.Tensor[(6, 128), "float32"], Z: T.Tensor[(2, 128), "int32"]):
    with T.Kernel(1, threads=128) as _:
        tx = T.get_thread_binding(0)
        lane, warp = T.get_lane_idx(), T.get_warp_idx()
        x = X[tx]
        Y[0, tx] = T.shfl_xor(x, 5)
        Y[1, tx] = T.shfl_up(x, 3)
        Y[2, tx] = T.shfl_down(x, 2)
        Y[3, tx] = T.shfl_sync(x, (lane + 7) % 16)
        Y[4, tx] = T.warp_reduce_sum(x) if warp > 0 else T.warp_reduce_min(x)
        Y[5, tx] = T.warp_reduce_max(x * 2.0)
        Z[0, tx] = lane
        Z[1, tx] = warp


@every_gpu
@pytest.mark.parametrize("n", [128, 100])
def test_shuffles(target, n):
    """X ends within a warp: what is not there reads as 0, and no lane stays away from an exchange."""
    width = GPUS[target]
    x = numpy.random.default_rng(0).integers(1, 9, n).astype("float32")
    y, z = numpy.full((6, 128), -1, "float32"), numpy.full((2, 128), -1, "int32")
    emulated(shuffles, target, x, y, z)
    rows = numpy.pad(x, (0, 128 - n)).reshape(-1, width)
    lane = numpy.arange(width)
    sources = (lane ^ 5, numpy.where(lane < 3, lane, lane - 3), numpy.where(lane + 2 < width, lane + 2, lane),
               (lane + 7) % 16)
    for k, source in enumerate(sources):
        numpy.testing.assert_array_equal(y[k].reshape(-1, width), rows[:, source])
    expected = numpy.concatenate([rows[:1].min(1), rows[1:].sum(1)])
    numpy.testing.assert_array_equal(y[4].reshape(-1, width), numpy.repeat(expected[:, None], width, 1))
    numpy.testing.assert_array_equal(y[5].reshape(-1, width), numpy.repeat(2 * rows.max(1)[:, None], width, 1))
    numpy.testing.assert_array_equal(z[0], numpy.arange(128) % width)
    numpy.testing.assert_array_equal(z[1], numpy.arange(128) // width)


def shuffles_in_groups(X: T.Tensor[(128,), "float16"], Y: T.Tensor[(4, 128), "float32"], Z: T.Tensor[(4, 128), "int32"]):
    with T.Kernel(T.ceildiv(128, 128), 1, threads=(64, 2)):
        tx, ty = T.get_thread_bindings()
        bx, by = T.get_block_bindings()
        n, m = T.get_thread_extents()
        gx, gy = T.get_block_extents()
        at = ty * n + tx
        x = X[at + bx + by]
        Y[0, at] = T.shfl_xor(x, 5, width=8) + T.shfl_xor(x, 9, width=8, mask=-1)
        Y[1, at] = T.shfl_up(x, 3, width=8)
        Y[2, at] = T.shfl_down(x, 2, width=4)
        Y[3, at] = T.shfl_sync(x, at + 7, width=16, mask=0xFFFFFFFF)
        Z[0, at] = n
        Z[1, at] = m
        Z[2, at] = gx + gy * 10
        Z[3, at] = at


@every_gpu
def test_shuffles_in_groups(target):
    """Groups of lanes smaller than a warp, and the indices of a block of two extents."""
    x = numpy.random.default_rng(0).integers(1, 9, 128).astype("float16")
    y, z = numpy.full((4, 128), -1, "float32"), numpy.full((4, 128), -1, "int32")
    emulated(shuffles_in_groups, target, x, y, z)
    at = numpy.arange(128)
    own = (x[at ^ 5] + x, x[numpy.where(at % 8 < 3, at, at - 3)], x[numpy.where(at % 4 < 2, at + 2, at) % 128],
           x[at // 16 * 16 + (at + 7) % 16])
    for k, expected in enumerate(own):
        numpy.testing.assert_array_equal(y[k], expected)
    numpy.testing.assert_array_equal(z, numpy.stack([at * 0 + 64, at * 0 + 2, at * 0 + 11, at]))


def lane_votes(X: T.Tensor[(128,), "int32"], Y: T.Tensor[(4, 128), "int32"]):
    with T.Kernel(1, threads=128) as _:
        tx = T.get_thread_binding(0)
        Y[0, tx] = T.cast(T.any_sync(X[tx] == 3), "int32")
        Y[1, tx] = T.cast(T.all_sync(X[tx] > 0), "int32")
        Y[2, tx] = T.popcount(T.ballot_sync(X[tx] > 1))
        Y[3, tx] = T.cast(T.ballot_sync(X[tx] > 1) >> T.cast(T.get_lane_idx(), "uint32") & 1, "int32")


@every_gpu
def test_votes(target):
    width = GPUS[target]
    x = numpy.random.default_rng(1).integers(1, 3, 128).astype("int32")
    x[5], x[-1] = 3, 0
    y = numpy.full((4, 128), -1, "int32")
    emulated(lane_votes, target, x, y)
    rows = x.reshape(-1, width)
    for k, expected in enumerate(((rows == 3).any(1), (rows > 0).all(1), (rows > 1).sum(1))):
        numpy.testing.assert_array_equal(y[k], numpy.repeat(expected, width))
    numpy.testing.assert_array_equal(y[3], x > 1)


def block_sum(X: T.Tensor[("N",), "float16"], Y: T.Tensor[(1,), "float32"]):
    """The classic: each warp reduces, the first one reduces the results."""
    with T.Kernel(1, threads=256) as _:
        tx = T.get_thread_binding(0)
        partial = T.alloc_shared((256,), "float32")
        total = T.alloc_var("float32", init=0.0)
        for k in T.serial(tx, T.ceildiv(N, 256) * 256, 256):
            total += X[k]
        partial[tx] = 0.0
        T.sync_threads()
        whole = T.warp_reduce_sum(total)
        if T.get_lane_idx() == 0:
            partial[T.get_warp_idx()] = whole
        T.sync_threads()
        again = T.warp_reduce_sum(partial[T.get_lane_idx()])
        if tx == 0:
            Y[0] = again


@every_gpu
def test_a_sum_of_the_block(target):
    x = numpy.random.default_rng(2).integers(0, 9, 1000).astype("float16")
    y = numpy.zeros(1, "float32")
    emulated(block_sum, target, x, y)
    assert y[0] == x.astype("float32").sum()


# ---- Where they have no meaning ------------------------------------------------------------------
def of_a_block(X: T.Tensor[(4,), "float32"]):
    with T.Kernel(1, threads=32) as _:
        X[0] = T.warp_reduce_sum(X[1])


def in_a_parallel_loop(X: T.Tensor[(64,), "float32"]):
    with T.Kernel(1, threads=32) as _:
        for i in T.Parallel(64):
            X[i] = T.shfl_xor(X[i], 1)


def test_a_cpu_and_the_interpreter_have_no_warps():
    with pytest.raises(TilegenError) as caught:
        tilegen.jit(of_a_block).emit("cpu")
    assert caught.value.code == "TG0204" and "T.warp_reduce_sum" in caught.value.message
    assert "T.reduce" in caught.value.hint
    with pytest.raises(TilegenError) as caught:
        interpret(tilegen.jit(of_a_block).ir, {"X": numpy.zeros(4, "float32")})
    assert caught.value.code == "TG0204" and "T.warp_reduce_sum" in caught.value.message
    assert "Not checked" in tilegen.jit(of_a_block).emit("cuda")


def test_iterations_have_no_lanes():
    with pytest.raises(TilegenError) as caught:
        tilegen.jit(in_a_parallel_loop).emit("cuda")
    assert caught.value.code == "TG0006" and "T.shfl_xor(X[i], 1)" in caught.value.loc.text()


def exchange_of_some(X: T.Tensor[(64,), "float32"], Y: T.Tensor[(1,), "float32"]):
    with T.Kernel(1, threads=64) as _:
        tile = T.alloc_fragment((64,), "float32")
        T.copy(X, tile)
        if T.get_thread_binding(0) < 5:
            T.cumsum(tile)
        T.copy(tile, X)


def test_an_exchange_that_not_all_threads_reach_is_refused():
    with pytest.raises(TilegenError) as caught:
        tilegen.jit(exchange_of_some).emit("cuda")
    assert caught.value.code == "TG0205" and "T.cumsum(tile)" in caught.value.loc.text()


def stores_of_each_thread(X: T.Tensor[("N",), "float32"], Y: T.Tensor[("N",), "float32"]):
    with T.Kernel(T.ceildiv(N, 64), threads=64) as b:
        tx = T.get_thread_binding(0)
        line = T.alloc_shared((64,), "float32")
        own = T.alloc_var("float32", init=0.0)
        for k in range(3):
            own = X[b * 64 + tx] + T.cast(k, "float32")
            line[tx] = own
            T.sync_threads()
            Y[b * 64 + tx] = line[63 - tx]
            T.sync_threads()


@every_gpu
def test_barriers_between_stores_of_each_thread(target):
    x, y = numpy.arange(128, dtype="float32"), numpy.zeros(128, "float32")
    emulated(stores_of_each_thread, target, x, y)
    numpy.testing.assert_array_equal(y, x.reshape(2, 64)[:, ::-1].ravel() + 2)
