"""The operations of T: what each builds, the types of arithmetic, and their documentation."""

import inspect
import math

import pytest
import tilegen.language as T
from tilegen import ir
from tilegen.errors import TilegenError
from tilegen.frontend import parse
from tilegen.language.math import FLOAT_FUNCTIONS
from tilegen.printer import show


def statements(function, **values):
    return "\n".join(show(statement) for statement in parse(function, values=values).body).splitlines()


def dtypes_of(function):
    """{name: dtype} of the constants that a kernel binds."""
    return {s.var.name: s.var.dtype.name for s in parse(function).body if isinstance(s, ir.Let)}


# ---- Documentation -------------------------------------------------------------------------------
@pytest.mark.parametrize("name", T.__all__)
def test_every_operation_is_documented(name):
    value = getattr(T, name)
    assert inspect.getdoc(value), name
    if hasattr(value, "operation"):
        assert value.operation.place in ("kernel", "function", "scalar")
        assert inspect.signature(value) == value.operation.signature
        assert value.operation.name == value.__name__


@pytest.mark.parametrize("call", [lambda: T.gemm(1, 2, 3), lambda: T.copy(1, 2), lambda: T.alloc_shared((1,)),
                                  lambda: T.Kernel(1), lambda: T.exp(1.0), lambda: T.float16(1)])
def test_operations_outside_of_a_kernel(call):
    with pytest.raises(TilegenError) as caught:
        call()
    assert caught.value.code == "TG0006" and caught.value.hint


def test_arithmetic_of_plain_python():
    n = T.dynamic("n")
    assert T.ceildiv(1000, 128) == 8 and T.floordiv(-7, 2) == -4 and T.truncdiv(-7, 2) == -3
    assert T.truncmod(-7, 2) == -1 and T.floormod(-7, 2) == 1 and T.clamp(9, 0, 5) == 5 and T.max(2, 3) == 3
    for size, expected in ((n // 4, "n // 4"), (T.ceildiv(n, 128), "ceildiv(n, 128)"),
                           (2 * n + 1 - n % 3, "2 * n + 1 - n % 3")):
        assert show(size.expr) == expected
    assert [size.expr.name for size in T.dynamic("a, b")] == ["a", "b"]
    with pytest.raises(TilegenError, match="is not a name"):
        T.dynamic("1x")


# ---- Types ---------------------------------------------------------------------------------------
def test_literals_take_the_type_of_what_they_meet():
    def kernel(H: T.Tensor[("N",), "float16"], D: T.Tensor[("N",), "int64"], U: T.Tensor[("N",), "uint8"]):
        with T.Kernel(N) as bx:
            half = H[bx]
            scaled = H[bx] * 2
            wide = D[bx] * 2
            small = U[bx] + 1
            mixed = D[bx] * 0.5
            number = bx * 3000000000
            compared = H[bx] < 1
            chosen = 1 if bx > 0 else H[bx]
            both = bx & 3 | 1

    assert dtypes_of(kernel) == {"half": "float16", "scaled": "float32", "wide": "int64", "small": "int32",
                                 "mixed": "float32", "number": "int64", "compared": "bool",
                                 "chosen": "float32", "both": "int32"}


def test_casts():
    def kernel(A: T.Tensor[("N",), "float16"]):
        with T.Kernel(N) as bx:
            a = T.cast(A[bx], "int8")
            b = A[bx].astype(T.float32)
            c = T.bfloat16(bx)
            d = float(bx)
            e = int(A[bx])
            f = T.float16(A[bx])
            g = T.float64(1)

    assert statements(kernel) == ["a: int8 = int8(A[bx])", "b: float32 = float32(A[bx])",
                                  "c: bfloat16 = bfloat16(bx)",
                                  "d: float32 = float32(bx)", "e: int32 = int32(A[bx])", "f: float16 = A[bx]",
                                  "g: float64 = 1.0"]


def test_limits():
    def kernel(A: T.Tensor[("N",), "float32"]):
        with T.Kernel(N) as bx:
            a = T.infinity("float16")
            b = -T.infinity(A.dtype)
            c = T.max_value("int8")
            d = T.min_value(T.float16)
            e = T.min_value("uint8")
            f = A[bx] + math.inf

    assert statements(kernel) == ['a: float16 = infinity("float16")', 'b: float32 = -infinity("float32")',
                                  "c: int8 = 127", "d: float16 = -65504.0", "e: uint8 = 0",
                                  'f: float32 = A[bx] + infinity("float32")']


def test_python_operators_and_functions():
    def kernel(A: T.Tensor[("N",), "float32"], k=4):
        with T.Kernel(N) as bx:
            a = min(bx, 3) + max(bx, k) - abs(bx)
            b = bx // 2 % k << 1 >> 2
            c = A[bx] ** 2 + A[bx] ** 0.5
            d = ~bx ^ 1
            e = not (bx > 1)
            f = T.truncdiv(bx, 2) + T.truncmod(bx, 2)
            g = T.where(bx > 1, A[bx], 0) + T.Select(bx > 1, 1.0, 2.0)
            h = T.clamp(A[bx], 0, 1)
            i = pow(A[bx], 3)
            j = round(A[bx])
            k2 = max(bx, 1, k)

    assert statements(kernel) == [
        "a: int32 = min(bx, 3) + max(bx, k) - abs(bx)", "b: int32 = bx // 2 % k << 1 >> 2",
        "c: float32 = A[bx] * A[bx] + pow(A[bx], 0.5)", "d: int32 = ~bx ^ 1", "e: bool = not bx > 1",
        "f: int32 = truncdiv(bx, 2) + truncmod(bx, 2)",
        "g: float32 = (A[bx] if bx > 1 else 0.0) + (1.0 if bx > 1 else 2.0)",
        "h: float32 = min(max(A[bx], 0.0), 1.0)", "i: float32 = pow(A[bx], 3.0)",
        "j: float32 = nearbyint(A[bx])", "k2: int32 = max(max(bx, 1), k)"]


@pytest.mark.parametrize("name", FLOAT_FUNCTIONS)
def test_math_functions(name):
    function = getattr(T, name)
    count = len(inspect.signature(function).parameters)
    is_unary = count == 1

    def kernel(A: T.Tensor[("N",), "float16"], B: T.Tensor[("N",), "float64"]):
        with T.Kernel(N) as bx:
            x = function(A[bx]) if is_unary else function(A[bx], A[bx])
            y = function(B[bx]) if is_unary else function(A[bx], B[bx])

    lets = {s.var.name: s.value for s in parse(kernel).body if isinstance(s, ir.Let)}
    is_test = name.startswith("is")
    assert lets["x"].dtype.name == ("bool" if is_test else "float32")
    assert lets["y"].dtype.name == ("bool" if is_test else "float64")
    assert lets["x"].name == name and len(lets["x"].args) == count


def test_bits():
    def kernel(A: T.Tensor[("N",), "uint32"]):
        with T.Kernel(N) as bx:
            a = T.popcount(A[bx]) + T.clz(A[bx])
            b = T.bitwise_and(A[bx], 255) | T.shift_left(A[bx], 3)
            c = T.bitwise_not(A[bx])

    assert dtypes_of(kernel) == {"a": "int32", "b": "uint32", "c": "uint32"}


def test_activations_name_what_they_use_often():
    def kernel(A: T.Tensor[("N",), "float16"]):
        with T.Kernel(N) as bx:
            x = A[bx]
            a = T.silu(x)
            b = T.gelu(x + 1)
            c = T.relu(x)

    assert statements(kernel) == [
        "x: float16 = A[bx]", "a: float32 = x / (1.0 + exp(-x))", "gelu_input: float32 = x + 1.0",
        "b: float32 = 0.5 * gelu_input * (1.0 + erf(gelu_input * 0.7071067811865476))",
        "c: float32 = max(x, 0.0)"]


# ---- Tiles ---------------------------------------------------------------------------------------
def test_copies():
    def kernel(A: T.Tensor[("B", "M", "K"), "float16"], C: T.Tensor[("M", "K"), "float32"], BM=32):
        with T.Kernel(8, 4) as (bx, bz):
            x = T.alloc_shared((BM, 16), "float16")
            row = T.alloc_fragment((16,), "float32")
            stages = T.alloc_shared((2, BM, 16), "float16")
            T.copy(A[bz, bx * BM, 0], x)
            T.copy(A[bz, bx * BM:(bx + 1) * BM, :16], x)
            T.copy(x, A[bz, bx * BM, 16])
            T.copy(C[bx], row)
            T.copy(C[bx, 16], row)
            T.copy(A[bz, bx * BM, 0], stages[bx % 2, :, :])
            T.copy(stages[1], x)
            T.copy(stages[1, 0, 0], x[0:8, :])

    copies = [s for s in parse(kernel).body if isinstance(s, ir.Copy)]
    assert [[show(e) for e in c.src.extents] for c in copies] == [
        ["1", "BM", "16"], ["1", "BM", "16"], ["BM", "16"], ["1", "16"], ["1", "16"], ["1", "BM", "16"],
        ["1", "BM", "16"], ["1", "8", "16"]]
    assert [[show(e) for e in c.dst.extents] for c in copies][2] == ["1", "BM", "16"]
    assert [show(o) for o in copies[0].src.offsets] == ["bz", "bx * BM", "0"]


def test_gemm_options():
    def kernel(A: T.Tensor[(64, 64), "float16"], transposed=True):
        with T.Kernel(1):
            x = T.alloc_shared((64, 64), "float16")
            c = T.alloc_fragment((64, 64), "float32")
            T.gemm(x, x, c, transposed, policy=T.GemmWarpPolicy.FullRow)
            T.gemm(x[:, 0:16], x[0:16, :], c, transpose_B=False, clear_accum=not transposed, k_pack=2)

    first, second = [s for s in parse(kernel, values={"transposed": False}).body if isinstance(s, ir.Gemm)]
    assert (first.transpose_a, first.policy, first.clear) == (False, "full_row", False)
    assert (second.policy, second.clear, show(second.a.extents[1])) == ("square", True, "16")


def test_reductions():
    def kernel(A: T.Tensor[(64, 64), "float32"]):
        with T.Kernel(1):
            x = T.alloc_fragment((4, 8), "float32")
            y = T.alloc_fragment((4,), "float32")
            T.reduce_sum(x, y)
            T.reduce_max(x, y, dim=1, clear=False)
            T.reduce(x, y, "absmax", dim=-1)

    assert statements(kernel)[2:] == ["T.reduce_sum(x, y, dim=1)", "T.reduce_max(x, y, dim=1, clear=False)",
                                      "T.reduce_absmax(x, y, dim=1)"]


def test_atomics():
    def kernel(A: T.Tensor[("M", "N"), "float32"], BM=8):
        with T.Kernel(4) as bx:
            x = T.alloc_shared((BM, 16), "float32")
            T.atomic_add(A[bx, 0], 2)
            T.atomic_max(A[bx * BM, 16], x)
            T.atomic_min(x[0, :], 1.5)

    assert statements(kernel)[1:] == [
        "T.atomic_add(A[bx, 0], 2.0)", "for i, j in T.Parallel(BM, 16):",
        "    T.atomic_max(A[bx * BM + i, 16 + j], x[i, j])", "for i in T.Parallel(16):",
        "    T.atomic_min(x[0, i], 1.5)"]


def test_buffers_have_names_of_their_own():
    def kernel(A: T.Tensor[("N",), "float32"]):
        with T.Kernel(1):
            for k in range(2):
                tile = T.alloc_local((4,), "float32")
                tile[0] = 0
            for k in range(2):
                tile = T.alloc_local((4,), "float32")
                tile[0] = 1
            A_copy = T.alloc_shared((4,), "float32")
            A_copy[0] = 2

    names = [s.buffer.name for s in ir.walk(parse(kernel).body) if isinstance(s, ir.Alloc)]
    assert names == ["tile", "tile_local", "A_copy"]


def test_options_of_tilelang_are_accepted():
    def kernel(A: T.Tensor[(64,), "float32"]):
        with T.Kernel(1, threads=(32, 2)):
            x = T.alloc_shared((64,), scope="shared")
            T.copy(A, x, coalesced_width=2, disable_tma=True, eviction_policy="evict_last")
            for i in T.Pipelined(4, num_stages=2, order=[0], stage=[0]):
                for j in T.Parallel(64, coalesced_width=4):
                    x[j] = i
            for i in T.unroll(4, explicit=True, unroll_factor=2):
                x[i] = 0

    assert statements(kernel) == [
        'x = T.alloc_shared((64,), "float32")', "T.copy(A, x, coalesced_width=2, eviction_policy='evict_last')",
        "for i in T.Pipelined(4, num_stages=2, order=(0,), stage=(0,)):", "    for j in T.Parallel(64, coalesced_width=4):",
        "        x[j] = i", "for i in T.unroll(4, unroll_factor=2):", "    x[i] = 0.0"]
