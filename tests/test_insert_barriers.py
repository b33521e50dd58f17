"""Statements of a block that meet in a global tensor: the emulator watches for races."""

import numpy
import pytest

import tilegen
import tilegen.language as T
from generated_runs import run
from tilegen.interpret import run as interpret


def one_store_then_all(A: T.Tensor[(8, 64), "float32"], O: T.Tensor[(8, 64), "float32"]):
    with T.Kernel(1, threads=64) as _:
        O[2, 5] = 3.0
        T.copy(A, O)


def scattered_then_all(A: T.Tensor[(8, 64), "float32"], O: T.Tensor[(8, 64), "float32"]):
    with T.Kernel(1, threads=64) as _:
        for i, j in T.Parallel(8, 64):
            O[7 - i, 63 - j] = 1.0
        T.copy(A, O)


def all_then_one(A: T.Tensor[(8, 64), "float32"], O: T.Tensor[(8, 64), "float32"]):
    with T.Kernel(1, threads=64) as _:
        T.fill(O, 2.0)
        O[2, 5] = A[0, 0]


def turned_in_place(A: T.Tensor[(32, 32), "float32"]):
    with T.Kernel(1, threads=64) as _:
        x = T.alloc_fragment((32, 32), "float32")
        T.copy(A, x)
        for i, j in T.Parallel(32, 32):
            A[j, i] = x[i, j] + 1.0


def steps_in_place(A: T.Tensor[(32, 64), "float32"]):
    with T.Kernel(1, threads=64) as _:
        x = T.alloc_fragment((8, 64), "float32")
        for k in T.serial(3):
            T.copy(A[k * 8, 0], x)
            T.copy(x, A[k * 8 + 8, 0])


def there_and_back(A: T.Tensor[(8, 64), "float32"]):
    """Each thread writes back what it has read."""
    with T.Kernel(1, threads=64) as _:
        x = T.alloc_fragment((8, 64), "float32")
        T.copy(A, x)
        for i, j in T.Parallel(8, 64):
            x[i, j] = x[i, j] * 2.0
        T.copy(x, A)


def two_halves(A: T.Tensor[(8, 64), "float32"], O: T.Tensor[(8, 64), "float32"]):
    """Boxes that lie apart."""
    with T.Kernel(1, threads=64) as _:
        x = T.alloc_fragment((8, 32), "float32")
        T.copy(A[0:8, 0:32], x)
        T.copy(x, O[0:8, 0:32])
        T.copy(x, O[0:8, 32:64])


BARRIERS = {one_store_then_all: "// why: the earlier writes to O come first",
            scattered_then_all: "// why: the earlier writes to O come first",
            all_then_one: "// why: the earlier writes to O come first",
            turned_in_place: "// why: nobody still reads A when it is overwritten",
            steps_in_place: "// why: A is complete before it is read"}
NONE = (there_and_back, two_halves)


@pytest.mark.parametrize("kernel", (*BARRIERS, *NONE), ids=lambda k: k.__name__)
def test_stores_come_in_the_order_of_the_source(kernel):
    made = tilegen.jit(kernel).specialize().specialised("cuda", "sm_80")
    names = [p.name for p in made.kernel.params]
    rng = numpy.random.default_rng(0)
    given = {p.name: rng.random(tuple(e.value for e in p.buffer.shape)).astype("float32") for p in made.kernel.params}
    expected = {name: value.copy() for name, value in given.items()}
    interpret(made.kernel, expected)
    run(made.source, given, "random")
    assert all(numpy.array_equal(expected[name], given[name]) for name in names)
    assert (BARRIERS[kernel] in made.source) if kernel in BARRIERS else "__syncthreads" not in made.source
