"""Neighbours of 16 bits computed as one register: the bits that the interpreter gives, and where it is not done."""

import numpy
import pytest
import tilegen.language as T
from tilegen.api import jit
from tilegen.interpret import run as interpret
from tilegen.runtime.load import load


@T.macro
def added(x, y):
    return x + y


@T.macro
def subtracted(x, y):
    return x - y


@T.macro
def multiplied(x, y):
    return x * y


@T.macro
def lowered(x, y):
    return x - 1032


@T.macro
def scaled(x, y):
    return 0.375 * x


OPERATIONS = [added, subtracted, multiplied, lowered, scaled]


def arithmetic(operation, columns=64):
    """One operation on float16 in fragments."""
    @T.prim_func
    def kernel(X: T.Tensor((32, columns), "float16"), Y: T.Tensor((32, columns), "float16"),
               Z: T.Tensor((32, columns), "float16")):
        with T.Kernel(1, threads=32) as bx:
            x = T.alloc_fragment((32, columns), "float16")
            y = T.alloc_fragment((32, columns), "float16")
            z = T.alloc_fragment((32, columns), "float16")
            T.copy(X, x)
            T.copy(Y, y)
            for i, j in T.Parallel(32, columns):
                z[i, j] = operation(x[i, j], y[i, j])
            T.copy(z, Z)
    return jit(kernel)


def unpacked(weight):
    """Eight 4-bit numbers of a word; `weight(word, j)` takes the one of column j."""
    @T.prim_func
    def kernel(W: T.Tensor((32, 8), "uint32"), Z: T.Tensor((32, 64), "float16")):
        with T.Kernel(1, threads=32) as bx:
            words = T.alloc_shared((32, 8), "uint32")
            z = T.alloc_fragment((32, 64), "float16")
            T.copy(W, words)
            for i, j in T.Parallel(32, 64):
                word = words[i, j // 8]
                z[i, j] = weight(word, j)
            T.copy(z, Z)
    return jit(kernel)


def emulated(kernel, **given):
    """(source, Z of the emulated file, Z of the interpreter)"""
    special = kernel.specialised("cuda", "sm_80", {})
    shape = (32, next(iter(given.values())).shape[1] * (8 if "W" in given else 1))
    got, want = (numpy.zeros(shape, "float16") for _ in range(2))
    load(special.source, target="emulator")(**given, Z=got)
    interpret(special.kernel, dict(given, Z=want), {})
    return special.source, got, want


def everything(seed, columns=64):
    """float16 of all kinds: subnormal numbers, the largest, infinities, signed zeros."""
    rng = numpy.random.default_rng(seed)
    values = rng.integers(0, 2**16, (32, columns), "uint16").view("float16")
    return numpy.where(numpy.isnan(values), numpy.float16(6e-8), values)


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda macro: macro.__name__)
def test_every_kind_of_number_gives_the_same_bits(operation):
    with numpy.errstate(all="ignore"):
        source, got, want = emulated(arithmetic(operation), X=everything(1), Y=everything(2))
    assert "store_pair(" in source and "_pairs(" in source
    assert (got.view("uint16") == want.view("uint16"))[~numpy.isnan(want)].all()
    assert (numpy.isnan(got) == numpy.isnan(want)).all()


@T.macro
def nibble(word, j, apart=16):
    """Columns j and j + 1 of a pair are `apart` bits away from each other in their word."""
    return word >> (j % 8 // 2 * 4 + j % 2 * apart) & 15


@T.macro
def as_half(bits):
    return T.reinterpret(T.cast(bits, "uint16"), "float16")


@T.macro
def offset(word, j):
    return as_half(0x6400 | nibble(word, j)) - 1032


@T.macro
def bits(word, j):
    return as_half(0x6400 | nibble(word, j))


@T.macro
def moved(word, j):
    return as_half(nibble(word, j) << 6 | 0x4C00)


@T.macro
def chosen(word, j):
    return as_half(T.if_then_else(j % 4 < 2, 0x6400, 0x6800) | nibble(word, j))


@T.macro
def flipped(word, j):
    return as_half((nibble(word, j) ^ 8) & 12)


@T.macro
def two_magics(word, j):
    """The nibbles of a byte in their places, each with the number whose unit is its lowest bit."""
    high = j % 4 // 2
    taken = word >> (j % 8 // 4 * 8 + j % 2 * 16) & (15 << high * 4)
    return as_half(T.if_then_else(high == 1, 0x5400, 0x6400) | taken) - T.if_then_else(high == 1, 72, 1032)


@T.macro
def twelve_apart(word, j):
    return as_half(0x6400 | nibble(word, j, 12))


@T.macro
def leaves_its_half(word, j):
    return as_half(nibble(word, j) << 13)


@T.macro
def rounded_twice(word, j):
    return as_half(0x6400 | nibble(word, j)) * 3 - 1032


@T.macro
def no_float16(word, j):
    return as_half(0x6400 | nibble(word, j)) - 1032.3


@T.macro
def differs(word, j):
    return as_half(T.if_then_else(j % 2 == 0, 0x6400, 0x6800) | nibble(word, j))


def test_masked_bits_are_one_instruction_and_the_offset_another():
    words = numpy.random.default_rng(3).integers(0, 2**32, (32, 8), "uint32")
    source, got, want = emulated(unpacked(offset), W=words)
    assert "subtract_pairs(and_or(word >> " in source and "bits_as" not in source.partition("int main")[0]
    assert numpy.array_equal(got, want) and set(got.ravel()) == set(range(-8, 8))


@pytest.mark.parametrize("weight", [bits, moved, chosen, flipped, two_magics], ids=lambda macro: macro.__name__)
def test_bits_of_a_pair(weight):
    words = numpy.random.default_rng(4).integers(0, 2**32, (32, 8), "uint32")
    source, got, want = emulated(unpacked(weight), W=words)
    assert "store_pair(" in source
    assert numpy.array_equal(got.view("uint16"), want.view("uint16"))


@pytest.mark.parametrize("weight", [twelve_apart, leaves_its_half, rounded_twice, no_float16, differs],
                         ids=lambda macro: macro.__name__)
def test_what_is_computed_element_by_element(weight):
    words = numpy.random.default_rng(5).integers(0, 2**32, (32, 8), "uint32")
    source, got, want = emulated(unpacked(weight), W=words)
    assert "store_pair(" not in source
    assert numpy.array_equal(got.view("uint16"), want.view("uint16"))


def test_an_odd_run_is_computed_element_by_element():
    with numpy.errstate(all="ignore"):
        source, got, want = emulated(arithmetic(added, 31), X=everything(6, 31), Y=everything(7, 31))
    assert "store_pair(" not in source
    assert numpy.array_equal(got, want, equal_nan=True)


def test_other_targets_have_no_pairs():
    for target, arch in (("hip", "gfx942"), ("maca", None), ("cpu", "avx2")):
        assert "_pair" not in arithmetic(added).specialised(target, arch, {}).source


def test_a_knob_that_must_have_16_bits_says_so():
    @jit
    def kernel(W: T.Tensor[(32, 8), "uint32"], Z: T.Tensor[(32, 64), "float16"], MAGIC=0x6400):
        with T.Kernel(1, threads=32) as bx:
            words = T.alloc_shared((32, 8), "uint32")
            z = T.alloc_fragment((32, 64), "float16")
            T.copy(W, words)
            for i, j in T.Parallel(32, 64):
                word = words[i, j // 8]
                z[i, j] = as_half(MAGIC | nibble(word, j))
            T.copy(z, Z)
    assert 'static_assert(MAGIC <= 65535, "MAGIC has 16 bits");' in kernel.specialised("cuda", "sm_80", {}).source
