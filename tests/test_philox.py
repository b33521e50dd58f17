"""Philox 4x32-10 against the known answers of its authors, and the statistics of T.rng_rand_float."""

import numpy
import pytest

import tilegen
import tilegen.language as T
from tilegen.errors import TilegenError
from tilegen.interpret import run as interpret
from tilegen.interpret.philox import block, philox

KNOWN = [("00000000 00000000 00000000 00000000", "00000000 00000000", "6627e8d5 e169c58d bc57ac4c 9b00dbd8"),
         ("ffffffff ffffffff ffffffff ffffffff", "ffffffff ffffffff", "408f276d 41c83b0e a20bc7c6 6d5451fd"),
         ("243f6a88 85a308d3 13198a2e 03707344", "a4093822 299f31d0", "d16cfe09 94fdcceb 5001e420 24126ea1")]


def words(text):
    return tuple(numpy.uint64(int(word, 16)) for word in text.split())


@pytest.mark.parametrize("counter, key, expected", KNOWN)
def test_known_answers(counter, key, expected):
    assert block(words(counter), words(key)) == words(expected)


@pytest.mark.parametrize("counter, key, expected", KNOWN)
def test_where_seed_sequence_and_counter_go(counter, key, expected):
    low, high, *sequence = (int(word) for word in words(counter))
    if high >= 1 << 30:                      # a counter of single numbers has 62 bits for blocks
        return
    first, second = (int(word) for word in words(key))
    start = 4 * (low + (high << 32))
    found = philox(first + (second << 32), sequence[0] + (sequence[1] << 32), numpy.arange(start, start + 4))
    assert [int(x) for x in found] == [int(x) for x in words(expected)]


def uniform(Y: T.Tensor[("N",), "float32"]):
    with T.Kernel(T.ceildiv(N, 256), threads=64) as b:
        for i in T.Parallel(256):
            T.rng_init(5, offset=b * 256 + i)
            Y[b * 256 + i] = T.rng_rand_float()


def test_floats_fill_the_unit_interval():
    y = numpy.zeros(4096, "float32")
    interpret(tilegen.jit(uniform).ir, {"Y": y})
    assert y.min() >= 0 and y.max() < 1 and abs(y.mean() - 0.5) < 0.02 and abs(y.var() - 1 / 12) < 0.01
    assert len(numpy.unique(y)) > 4090
    numpy.testing.assert_array_equal(y, (philox(5, 0, numpy.arange(4096)) >> 8) * numpy.float32(2.0 ** -24))


def without_a_start(Y: T.Tensor[(4,), "uint32"]):
    with T.Kernel(1, threads=32) as _:
        Y[0] = T.rng_rand()


def shared_by_iterations(Y: T.Tensor[(4,), "uint32"]):
    with T.Kernel(1, threads=32) as _:
        T.rng_init(1)
        for i in T.Parallel(4):
            Y[i] = T.rng_rand()


def after_its_block(Y: T.Tensor[(4,), "uint32"]):
    with T.Kernel(1, threads=32) as _:
        for i in T.Parallel(4):
            T.rng_init(1, sequence=i)
            Y[i] = T.rng_rand()
        Y[0] = T.rng_rand()


@pytest.mark.parametrize("function, code", [(without_a_start, "TG0112"), (shared_by_iterations, "TG0208"),
                                            (after_its_block, "TG0112")])
def test_a_stream_belongs_to_a_block(function, code):
    with pytest.raises(TilegenError) as caught:
        tilegen.jit(function).emit("cuda")
    assert caught.value.code == code
    assert "T.rng_rand()" in caught.value.loc.text() and "T.rng_init" in caught.value.hint
