"""What only the threads of a GPU can do: their indices, prints and assertions, in the emulator."""

import numpy
import pytest

import tilegen
import tilegen.language as T
from tilegen.errors import TilegenError
from tilegen.interpret import run as interpret

GPUS = ("cuda", "hip", "maca")


def emulated(function, target, *arrays, **values):
    made = tilegen.jit(function).specialize(**values).specialised(target, None)
    made.emulated(*arrays)
    return made


def reversed_in_tiles(X: T.Tensor[("N",), "float32"], Y: T.Tensor[("N",), "float32"]):
    with T.Kernel(T.ceildiv(N, 64), threads=64) as b:
        tx = T.get_thread_binding(0)
        line = T.alloc_shared((64,), "float32")
        if b * 64 + tx < N:
            line[tx] = X[b * 64 + tx]
        else:
            line[tx] = 0.0
        T.sync_threads()
        if b * 64 + tx < N:
            Y[b * 64 + tx] = line[63 - tx]


@pytest.mark.parametrize("target", GPUS)
@pytest.mark.parametrize("n", [128, 100, 1])
def test_each_thread_by_its_index(target, n):
    x, y = numpy.arange(1, n + 1, dtype="float32"), numpy.full(n, -1, "float32")
    emulated(reversed_in_tiles, target, x, y)
    padded = numpy.zeros(-(-n // 64) * 64, "float32")
    padded[:n] = x
    numpy.testing.assert_array_equal(y, padded.reshape(-1, 64)[:, ::-1].ravel()[:n])


def coordinates(Y: T.Tensor[(3, 64), "int32"]):
    with T.Kernel(1, threads=(8, 4, 2)) as _:
        x, y, z = T.get_thread_binding(0), T.get_thread_binding(1), T.get_thread_binding(2)
        Y[0, x + 8 * y + 32 * z] = x
        Y[1, x + 8 * y + 32 * z] = y
        Y[2, x + 8 * y + 32 * z] = z


@pytest.mark.parametrize("target", GPUS)
def test_coordinates_of_a_thread(target):
    found = numpy.full((3, 64), -1, "int32")
    emulated(coordinates, target, found)
    z, y, x = numpy.indices((2, 4, 8))
    numpy.testing.assert_array_equal(found, numpy.stack([x.ravel(), y.ravel(), z.ravel()]))


def of_one_thread(Y: T.Tensor[(4,), "int32"]):
    with T.Kernel(1, threads=64) as _:
        tx = T.get_thread_binding(0)
        mine = tx * 2
        if tx == 5:
            Y[0] = 7
        if mine == 20:
            Y[1] = 8
        if mine == 126:
            Y[2] = mine
        Y[3] = 9


@pytest.mark.parametrize("target", GPUS)
def test_a_write_of_one_thread_is_done_by_that_thread(target):
    found = numpy.full(4, -1, "int32")
    emulated(of_one_thread, target, found)
    assert found.tolist() == [7, 8, 126, 9]


def barrier_for_some(X: T.Tensor[(64,), "float32"], Y: T.Tensor[(64,), "float32"]):
    with T.Kernel(1, threads=64) as _:
        mine = T.get_thread_binding(0) * 2
        tile = T.alloc_shared((64,), "float32")
        if mine < 10:
            T.copy(X, tile)
            T.copy(tile, Y)


def test_a_barrier_that_not_all_threads_reach_is_refused():
    with pytest.raises(TilegenError) as caught:
        emulated(barrier_for_some, "cuda", numpy.zeros(64, "float32"), numpy.zeros(64, "float32"))
    assert caught.value.code == "TG0205" and "T.copy(tile, Y)" in caught.value.loc.text()


# ---- Prints and assertions -----------------------------------------------------------------------
def talkative(X: T.Tensor[(3, 4), "float16"], limit: T.int32):
    with T.Kernel(2, threads=64) as b:
        shared = T.alloc_shared((3, 4), "float16")
        local = T.alloc_fragment((3, 4), "float32")
        T.copy(X, shared)
        T.copy(shared, local)
        T.print(f"block {b}: 100% of {limit}, X[b, 1] = {X[b, 1]}")
        if b == 0:
            T.print(shared)
            T.print(local, "local")
            T.print(X[1, 1:3])
            for i in T.Parallel(3):
                T.print(shared[i, 0] > 1.0, "large")


@pytest.mark.parametrize("target", GPUS)
def test_prints_come_once_each(target, capfd):
    x = numpy.arange(12).reshape(3, 4).astype("float16") / 4
    emulated(talkative, target, x, 5)
    found = sorted(capfd.readouterr().out.splitlines())
    elements = [f"[{i}, {j}] = {x[i, j]:g}" for i in range(3) for j in range(4)]
    expected = [f"block {b}: 100% of 5, X[b, 1] = {x[b, 1]:g}" for b in range(2)]
    expected += [f"shared{e}" for e in elements] + [f"local{e}" for e in elements]
    expected += [
        "shared = ",
        "local: ",
        "X = ",
        "X[1, 1] = 1.25",
        "X[1, 2] = 1.5",
        "large: 0",
        "large: 0",
        "large: 1",
    ]
    assert found == sorted(expected)


def careful(X: T.Tensor[("N",), "float32"], BN=64):
    with T.Kernel(T.ceildiv(N, BN), threads=64) as b:
        T.device_assert(X[b] < 2.0, "the first is too large")
        for i in T.Parallel(BN):
            T.device_assert(X[b * BN + i] < 10.0, f"element {i} is too large")


@pytest.mark.parametrize("target", GPUS)
def test_assertions(target, capfd):
    x = numpy.ones(100, "float32")
    emulated(careful, target, x)
    assert capfd.readouterr().out == ""
    x[70] = 12
    for stop in (lambda: emulated(careful, target, x), lambda: interpret(tilegen.jit(careful).ir, {"X": x})):
        with pytest.raises(TilegenError) as caught:
            stop()
        assert caught.value.code in ("TG0601", "TG0414")
    assert "element 6 is too large" in capfd.readouterr().out
    x[70], x[1] = 1, 3
    with pytest.raises(TilegenError):
        emulated(careful, target, x)
    assert (
        "test_device_statements.py:" in (said := capfd.readouterr().out) and "the first is too large" in said
    )
