"""T.Raw, T.call_extern, T.import_source: what they write, where they run, and where they are refused."""

import numpy
import pytest

import tilegen
import tilegen.language as T
from tilegen.errors import TilegenError


def raw(X: T.Tensor[("N",), "float32"], Y: T.Tensor[("N",), "float32"], Z: T.Tensor[("N",), "float32"]):
    T.import_source("__device__ float twice(float x) { return 2 * x; }",
                    cpu="static inline float twice(float x) { return 2 * x; }")
    with T.Kernel(T.ceildiv(N, 128), threads=128) as b:
        tile = T.alloc_fragment((128,), "float32")
        s = T.alloc_shared((128,), "float32")
        T.copy(X[b * 128], tile)
        for i in T.Parallel(128):
            y = T.alloc_var("float32")
            T.Raw("{y} = {x} * 1.0f;", writes="y", x=tile[i] + 1, y=y)
            tile[i] = y
            T.Raw("{z} = twice({x});", writes="z", x=tile[i], z=Z[b * 128 + i])
            T.Raw("{z} = {x};", writes=("z",), x=tile[i], z=s[i])
        for i in T.Parallel(128):
            Y[b * 128 + i] = T.call_extern("float32", "twice", s[127 - i] * 0.5)


def with_prelude(X: T.Tensor[("N",), "float32"], Y: T.Tensor[("N",), "float32"]):
    with T.Kernel(T.ceildiv(N, 64), threads=64, prelude="constexpr float FACTOR = 3.0f;") as b:
        for i in T.Parallel(64):
            y = T.alloc_var("float32")
            T.Raw("{y} = FACTOR * {x};", writes="y", x=X[b * 64 + i], y=y)
            Y[b * 64 + i] = y


def made(function, target):
    return tilegen.jit(function).specialised(target, None)


@pytest.mark.parametrize("target", ["cuda", "hip", "maca", "cpu"])
def test_lines_run_where_they_stand(target):
    how = made(raw, target)
    X = numpy.arange(200, dtype="float32")
    Y, Z = numpy.empty_like(X), numpy.empty_like(X)
    (how.loaded if target == "cpu" else how.emulated)(X, Y, Z)
    tiles = numpy.pad(X, (0, 56)).reshape(2, 128) + 1
    assert (Z == 2 * tiles.reshape(-1)[:200]).all()
    assert (Y == tiles[:, ::-1].reshape(-1)[:200]).all()


@pytest.mark.parametrize("target", ["cuda", "hip", "maca", "cpu"])
def test_a_prelude_stands_before_the_kernel(target):
    how = made(with_prelude, target)
    X = numpy.arange(100, dtype="float32")
    Y = numpy.empty_like(X)
    (how.loaded if target == "cpu" else how.emulated)(X, Y)
    assert (Y == 3 * X).all() and how.source.index("FACTOR = 3") < how.source.index("FACTOR *")


def test_operands_keep_their_meaning_in_any_text():
    text = made(raw, "cuda").source
    assert "y = (tile[e] + 1.0f) * 1.0f;" in text, "an operand is in parentheses where it needs them"
    assert "if (b * 128 + i < N)\n            Z[b * 128 + i] = twice(tile[e]);" in text, "a change is guarded"
    assert "why: s is complete before it is read" in text, "the barriers know of it"
    assert "// ---- Imported by the kernel ---" in text and "__device__ float twice" in text
    assert "Not checked" in text and "the target's own language has no meaning in plain loops" in text


def test_the_interpreter_refuses_it():
    X = numpy.zeros(128, "float32")
    with pytest.raises(TilegenError) as caught:
        tilegen.interpret(tilegen.jit(raw))(X, X.copy(), X.copy())
    assert caught.value.code == "TG0204" and "T.Raw" in caught.value.loc.text()


def test_a_function_is_refused_by_the_interpreter():
    def only_call(X: T.Tensor[(4,), "float32"]):
        with T.Kernel(1, threads=32) as _:
            for i in T.Parallel(4):
                X[i] = T.call_extern("float32", "fancy", X[i])
    with pytest.raises(TilegenError) as caught:
        tilegen.interpret(tilegen.jit(only_call))(numpy.zeros(4, "float32"))
    assert caught.value.code == "TG0204" and "fancy" in caught.value.message


def test_a_statement_of_its_own():
    def nap(X: T.Tensor[(4,), "float32"]):
        with T.Kernel(1, threads=32) as _:
            T.call_extern("handle", "__nanosleep", 100)
            for i in T.Parallel(4):
                X[i] = 1
    assert "\n    __nanosleep(100);" in made(nap, "cuda").source


def refused(function, target="cuda") -> TilegenError:
    with pytest.raises(TilegenError) as caught:
        made(function, target).source
    return caught.value


def test_a_target_without_text():
    def one(X: T.Tensor[(4,), "float32"]):
        with T.Kernel(1, threads=32) as _:
            T.Raw(cuda="__nanosleep({ns});", hip="__builtin_amdgcn_s_sleep({ns});", ns=3)
            for i in T.Parallel(4):
                X[i] = 1
    assert "__nanosleep(3);" in made(one, "cuda").source
    assert "__builtin_amdgcn_s_sleep(3);" in made(one, "hip").source
    error = refused(one, "cpu")
    assert error.code == "TG0204" and "T.Raw" in error.loc.text() and 'cpu="..."' in error.hint


def test_operands_are_checked():
    def unknown(X: T.Tensor[(4,), "float32"]):
        with T.Kernel(1, threads=32) as _:
            T.Raw("use({x}, {y});", x=1)
            X[0] = 1

    def a_tile(X: T.Tensor[(4,), "float32"]):
        with T.Kernel(1, threads=32) as _:
            T.Raw("use({x});", x=X)

    def a_number(X: T.Tensor[(4,), "float32"]):
        with T.Kernel(1, threads=32) as _:
            T.Raw("{x} = 1;", writes="x", x=X[0] + 1)

    def a_fragment(X: T.Tensor[(4,), "float32"]):
        with T.Kernel(1, threads=32) as _:
            tile = T.alloc_fragment((4,), "float32")
            T.clear(tile)
            for i in T.Parallel(4):
                T.Raw("{x} = 1;", writes="x", x=tile[i])
            T.copy(tile, X)
    found = [refused(f) for f in (unknown, a_tile, a_number, a_fragment)]
    assert [error.code for error in found] == ["TG0005", "TG0004", "TG0004", "TG0208"]
    assert all(error.loc is not None and error.hint or error is found[2] for error in found)
