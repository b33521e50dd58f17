"""Philox 4x32 with 10 rounds (Salmon et al., Parallel random numbers: as easy as 1, 2, 3, 2011) in NumPy."""

from __future__ import annotations

import numpy

ROUNDS = 10
FACTORS = numpy.uint64(0xD2511F53), numpy.uint64(0xCD9E8D57)
STEPS = numpy.uint64(0x9E3779B9), numpy.uint64(0xBB67AE85)      # of the key, from round to round
_LOW = numpy.uint64(0xFFFFFFFF)
_WORD = numpy.uint64(32)


def block(words, key):
    """Four words of 32 bits, carried in uint64, from a counter of four words and a key of two."""
    a, b, c, d = words
    first, second = key
    for _ in range(ROUNDS):
        left, right = FACTORS[0] * a, FACTORS[1] * c
        a, b, c, d = (right >> _WORD) ^ b ^ first, right & _LOW, (left >> _WORD) ^ d ^ second, left & _LOW
        first, second = (first + STEPS[0]) & _LOW, (second + STEPS[1]) & _LOW
    return a, b, c, d


def philox(seed, sequence, counter):
    """Number `counter` of a sequence: word `counter % 4` of the block `counter // 4`."""
    seed, sequence, counter = (numpy.asarray(x).astype("uint64") for x in (seed, sequence, counter))
    at, word = counter >> numpy.uint64(2), counter & numpy.uint64(3)
    words = block((at & _LOW, at >> _WORD, sequence & _LOW, sequence >> _WORD), (seed & _LOW, seed >> _WORD))
    return numpy.choose(word.astype("int64"), numpy.broadcast_arrays(*words)).astype("uint32")[()]
