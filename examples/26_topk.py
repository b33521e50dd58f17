"""The TOP largest elements of each row of X, the largest first, and their places: one key holds both."""

import numpy

import tilegen
import tilegen.language as T


SIGNLESS = 0x7FFFFFFF


@T.macro
def key_of(x, place):
    """An int64 that orders as the float x does, and among equals the lower place first."""
    bits = T.reinterpret(x, "int32")
    return T.cast(bits ^ (bits >> 31 & SIGNLESS), "int64") << 32 | T.cast(T.cast(~place, "uint32"), "int64")


@T.macro
def value_of(key):
    ordered = T.cast(key >> 32, "int32")
    return T.reinterpret(ordered ^ (ordered >> 31 & SIGNLESS), "float32")


@tilegen.jit
def topk(X: T.Tensor[("M", "N"), "float32"], values: T.Tensor[("M", "TOP"), "float32"],
         places: T.Tensor[("M", "TOP"), "int32"], TOP=8, BM=4, BN=256):
    with T.Kernel(T.ceildiv(M, BM), threads=128) as by:
        keys = T.alloc_fragment((BM, BN), "int64")
        kept = T.alloc_fragment((BM, TOP), "int64")           # the best of what was read so far
        chosen = T.alloc_fragment((BM, TOP), "int64")
        best = T.alloc_fragment((BM,), "int64")
        T.fill(kept, T.min_value("int64"))
        T.clear(chosen)
        for k in T.serial(T.ceildiv(N, BN)):
            for i, j in T.Parallel(BM, BN):
                x = T.if_then_else(k * BN + j < N, X[by * BM + i, k * BN + j], -T.infinity("float32"))
                keys[i, j] = key_of(x, k * BN + j)
            for t in T.serial(TOP):
                T.reduce_max(keys, best, dim=1)
                T.reduce_max(kept, best, dim=1, clear=False)
                for i, j in T.Parallel(BM, BN):
                    keys[i, j] = T.if_then_else(keys[i, j] == best[i], T.min_value("int64"), keys[i, j])
                for i, j in T.Parallel(BM, TOP):
                    kept[i, j] = T.if_then_else(kept[i, j] == best[i], T.min_value("int64"), kept[i, j])
                    chosen[i, j] = T.if_then_else(j == t, best[i], chosen[i, j])
            T.copy(chosen, kept)
        for i, j in T.Parallel(BM, TOP):
            values[by * BM + i, j] = value_of(kept[i, j])
            places[by * BM + i, j] = T.cast(~kept[i, j], "int32")


if __name__ == "__main__":
    X = numpy.random.default_rng(0).standard_normal((30, 1000)).astype("float32").round(1)      # with many equals
    values, places = topk(X)
    assert (places == numpy.argsort(-X, axis=1, kind="stable")[:, :8]).all()
    assert (values == numpy.take_along_axis(X, places, 1)).all()
    print("topk: the 8 largest of 30 rows of 1000, and their places, as NumPy sorts them")
