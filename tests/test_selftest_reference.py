"""The plain loops of the self-test against the interpreter: random programs, then every statement."""

import itertools

import numpy
import pytest
from comparison import arrays, first_difference, parsed
from irbuild import (
    BX, I, J, K, buffer, call, expr, kernel, load, loop, op, parallel, region, serial, store, when, whole,
)
from programs import draw_program
from reference_library import references
from tilegen import ir
from tilegen.dtypes import (
    bfloat16, bool_, float8_e4m3, float8_e5m2, float16, float32, float64, int8, int16, int32, int64, uint8,
    uint32, uint64,
)
from tilegen.emit.reference import obstacle
from tilegen.interpret import run

FIRST_SEED, PROGRAMS = 100, 24
UNITS = {"float16": 1e-3, "bfloat16": 8e-3, "float8_e4m3fn": 0.13, "float8_e5m2": 0.26}


def test_random_programs(tmp_path):
    """The first so many programs that have plain loops."""
    drawn = ((program, parsed(program)) for program in map(draw_program, itertools.count(FIRST_SEED)))
    programs, kernels = zip(*itertools.islice((pair for pair in drawn if not obstacle(pair[1])), PROGRAMS))
    for program, tile_program, reference in zip(programs, kernels, references(kernels, tmp_path)):
        expected, found = arrays(program), arrays(program)
        run(tile_program, expected)
        reference(found)
        for argument in program.arguments:
            message = first_difference(argument, expected[argument.name], found[argument.name])
            assert not message, f"{message}\n\n{program.source}"


# ---- Every statement -------------------------------------------------------------------------------
CASES = {}


def case(function):
    CASES[function.__name__] = function
    return function


def copy(src, dst):
    return ir.Copy(src, dst)


def random(shape, dtype=float32, seed=0):
    generator = numpy.random.default_rng(seed)
    if dtype.kind == "bool":
        return generator.integers(0, 2, shape).astype(bool)
    if dtype.is_integer:
        low = 0 if dtype.kind == "uint" else -9
        return generator.integers(low, 10, shape).astype(dtype.numpy)
    return (generator.integers(-64, 65, shape) / 16).astype(dtype.numpy)


def elementwise(dtype, expression, result=None, scope="global"):
    """B[i] = expression(A[i]) for 40 elements."""
    a, b = buffer("A", 40, dtype), buffer("B", 40, result or dtype)
    body = parallel(I, 40, store(b, I, expression(load(a, I))))
    return kernel([a, b], body), [random(40, dtype), random(40, result or dtype, 1)]


def _copies(dtype, tile_dtype):
    """Through a tile of another type, with ragged edges on both sides."""
    a, b = buffer("A", (13, 11), dtype), buffer("B", (9, 14), dtype)
    s = buffer("S", (8, 8), tile_dtype, "shared")
    at = [op("*", BX, 8), op("-", op("*", BX, 8), 3)]
    body = [ir.Alloc(s), copy(region(a, at, (8, 8)), whole(s)), copy(whole(s), region(b, at, (8, 8)))]
    return kernel([a, b], *body, grid=(2,)), [random((13, 11), dtype), random((9, 14), dtype, 1)]


@case
def copies_of_float32_through_float16():
    return _copies(float32, float16)


@case
def copies_of_int64_through_int8():
    return _copies(int64, int8)


@case
def copies_of_bools():
    return _copies(bool_, bool_)


@case
def copies_of_float64_through_float8_e4m3():
    return _copies(float64, float8_e4m3)


@case
def copies_of_bfloat16_through_float8_e5m2():
    return _copies(bfloat16, float8_e5m2)


@case
def a_column_into_a_row():
    a, b = buffer("A", (6, 5)), buffer("B", (3, 6))
    body = copy(region(a, (0, 2), (6, 1)), region(b, (1, 0), (1, 6)))
    return kernel([a, b], body), [random((6, 5)), random((3, 6))]


@case
def a_fill_that_rounds():
    a = buffer("A", (4, 3), float16)
    s = buffer("S", (4, 3), float16, "shared")
    body = [ir.Alloc(s), ir.Fill(whole(s), ir.const(0.1)), copy(whole(s), whole(a))]
    return kernel([a], *body), [random((4, 3), float16)]


def _gemm(dtype, accumulator, a_turned=False, b_turned=False, clear=False):
    a = buffer("A", (7, 5) if a_turned else (5, 7), dtype)
    b = buffer("B", (6, 7) if b_turned else (7, 6), dtype)
    c = buffer("C", (5, 6), accumulator)
    x, y = buffer("X", a.shape, dtype, "shared"), buffer("Y", b.shape, dtype, "shared")
    z = buffer("Z", c.shape, accumulator, "fragment")
    body = [ir.Alloc(t) for t in (x, y, z)]
    body += [copy(whole(s), whole(t)) for s, t in ((a, x), (b, y), (c, z))]
    body += [ir.Gemm(whole(x), whole(y), whole(z), a_turned, b_turned, clear), copy(whole(z), whole(c))]
    values = [random([n.value for n in t.shape], t.dtype, i) for i, t in enumerate((a, b, c))]
    return kernel([a, b, c], *body), values


@case
def gemm_plain():
    return _gemm(float32, float32)


@case
def gemm_turned_both():
    return _gemm(float16, float32, True, True)


@case
def gemm_turned_b_clear():
    return _gemm(int8, int32, False, True, True)


@case
def gemm_into_float16():
    return _gemm(float16, float16, True)


@case
def gemm_into_int64():
    return _gemm(int32, int64, clear=True)


def _reduce(name, dtype, result, dim, clear):
    a, b = buffer("A", (5, 7), dtype), buffer("B", (7 if dim == 0 else 5,), result)
    return kernel([a, b], ir.Reduce(name, whole(a), whole(b), dim, clear)), \
        [random((5, 7), dtype), random(b.shape[0].value, result, 1)]


@case
def sum_of_rows():
    return _reduce("sum", float32, float32, 1, True)


@case
def sum_of_columns_added():
    return _reduce("sum", int8, int32, 0, False)


@case
def largest_of_integers():
    return _reduce("max", int16, int16, -1, True)


@case
def smallest_with_what_is_there():
    return _reduce("min", float64, float64, 0, False)


@case
def largest_size():
    return _reduce("absmax", float32, float32, 1, True)


@case
def sum_of_sizes_in_float16():
    return _reduce("abssum", float16, float16, 1, False)


@case
def two_sums_of_one_row_each():
    a, b = buffer("A", (1, 7)), buffer("B", (1,))
    twice = [ir.Reduce("sum", whole(a), whole(b), 1), ir.Reduce("sum", whole(a), whole(b), 1, clear=False)]
    return kernel([a, b], *twice), [random((1, 7)), random(1)]


@case
def atomics():
    a, h = buffer("A", 40, int32), buffer("H", (3, 8), int32)
    at = op("%", load(a, I), 8)
    body = [ir.Atomic(name, h, (expr(n), at), load(a, I)) for n, name in enumerate(("add", "max", "min"))]
    return kernel([a, h], parallel(I, 40, *body), grid=(2,)), [random(40, int32), random((3, 8), int32, 1)]


@case
def atomic_add_of_float16():
    h = buffer("H", 4, float16)
    body = parallel(I, 8, ir.Atomic("add", h, (op("%", I, 4),), ir.const(0.1)))
    return kernel([h], body), [random(4, float16)]


@case
def loops_that_end_early():
    a = buffer("A", 20)
    body = [serial(I, 0, 20, when(op("==", op("%", I, 3), 0), ir.Continue()),
                   when(op(">", I, 14), ir.Break()),
                   store(a, I, op("+", load(a, I), 1.0)))]
    body.append(serial(I, 18, 1, store(a, I, op("*", load(a, I), 2.0)), step=-4))
    return kernel([a], *body), [random(20)]


@case
def while_and_else():
    a = buffer("A", 20, int32)
    n = buffer("n", (), int32, "var")
    step = when(op("<", load(n), 5), store(a, load(n), 7), otherwise=[
        when(op("==", load(n), 9), store(a, load(n), 8), otherwise=[store(a, load(n), load(n))])])
    body = [ir.Alloc(n, ir.const(2)),
            ir.While(op("<", load(n), 12), (step, store(n, (), op("+", load(n), 2))))]
    return kernel([a], *body), [random(20, int32)]


@case
def a_variable_that_each_iteration_has_for_itself():
    a, total = buffer("A", 20), buffer("total", (), float32, "var")
    inner = serial(J, 0, 3, store(total, (), op("+", load(total), load(a, I))))
    body = parallel(I, 20, inner, store(a, I, load(total)))
    return kernel([a], ir.Alloc(total, ir.const(0.5)), body), [random(20)]


@case
def an_array_that_each_iteration_has_for_itself():
    a, own = buffer("A", 20), buffer("own", (2, 3), float32, "local")
    clear = serial(J, 0, 2, serial(K, 0, 3, store(own, (J, K), op("*", load(a, I), 0.25))))
    add = serial(J, 0, 2, serial(K, 0, 3, store(own, (1, 2), op("+", load(own, 1, 2), load(own, J, K)))))
    return kernel([a], ir.Alloc(own), parallel(I, 20, clear, add, store(a, I, load(own, 1, 2)))), [random(20)]


@case
def names_bound_once():
    a = buffer("A", 20)
    x, y = ir.Var("x", float16), ir.Var("y", bool_)
    body = [ir.Let(x, op("*", load(a, I), 0.3)), ir.Let(y, op(">", x, 0.1)),
            store(a, I, ir.Select(y, x, ir.UnOp("-", x, float32), float32))]
    return kernel([a], parallel(I, 20, *body)), [random(20)]


@case
def elements_outside():
    a, b = buffer("A", 20), buffer("B", 20)
    body = parallel(I, 40, store(b, op("-", I, 7), load(a, op("+", I, 3))))
    return kernel([a, b], body), [random(20), random(20, seed=1)]


# ---- Expressions -----------------------------------------------------------------------------------
@case
def division_that_rounds_down():
    return elementwise(int32, lambda x: op("-", op("//", x, 4), op("*", op("%", x, -3), 100)))


@case
def division_that_truncates():
    return elementwise(int64, lambda x: op("-", op("trunc//", x, expr(4)), op("trunc%", x, 3)))


@case
def least_and_greatest_of_mixed_integers():
    return elementwise(int16, lambda x: op("min", op("max", x, ir.const(-3, int64)), ir.const(5)), int64)


@case
def least_and_greatest_of_floats():
    return elementwise(float16, lambda x: op("min", op("max", x, ir.const(-1.5)), ir.const(2.5)))


@case
def integers_divided_as_floats():
    return elementwise(int32, lambda x: op("/", x, 7, float32), float32)


@case
def wide_products_of_narrow_integers():
    return elementwise(int32, lambda x: op("*", ir.Cast(x, int64), ir.const(2**31 + 5, int64)), int64)


@case
def bits():
    def mixed(x):
        return op("^", op("|", op("&", x, 12), op("<<", ir.const(1), 4)), op(">>", x, 1))
    return elementwise(int32, mixed)


@case
def counts_of_bits():
    def both(x):
        return op("+", op("*", call("popcount", x, dtype=int32), 100), call("clz", x, dtype=int32))
    return elementwise(int8, both, int32)


@case
def sizes_of_integers():
    return elementwise(int8, lambda x: op("+", call("abs", x), call("abs", ir.Cast(x, uint32))), int64)


@case
def logic_on_bools():
    return elementwise(bool_, lambda x: op("or", ir.UnOp("not", x, bool_), op("and", x, op("==", I, 3))))


@case
def numbers_as_bools():
    return elementwise(float32, lambda x: op("*", x, 0.125), bool_)


@case
def a_position_of_64_unsigned_bits():
    a = buffer("A", 20)
    at = op("+", ir.Cast(I, uint64), ir.const(2, uint64))
    return kernel([a], parallel(I, 10, store(a, at, 1.0))), [random(20)]


FUNCTIONS = ("exp exp2 exp10 log log2 log10 log1p sqrt rsqrt sin cos tan asin acos atan sinh cosh tanh "
             "asinh acosh atanh erf sigmoid floor ceil round trunc nearbyint abs").split()


@case
def functions_of_one_number():
    a, b = buffer("A", 40), buffer("B", (len(FUNCTIONS), 40))
    body = [store(b, (n, I), call(name, load(a, I))) for n, name in enumerate(FUNCTIONS)]
    return kernel([a, b], parallel(I, 40, *body)), [random(40) / 5, random((len(FUNCTIONS), 40))]


@case
def functions_of_two_numbers():
    a, b = buffer("A", 40), buffer("B", (5, 40))
    body = [store(b, (n, I), call(name, load(a, I), op("+", load(a, op("-", 39, I)), 0.3)))
            for n, name in enumerate(("fmod", "hypot", "atan2", "copysign", "pow"))]
    return kernel([a, b], parallel(I, 40, *body)), [random(40), random((5, 40))]


@case
def not_numbers_and_infinities():
    a, b = buffer("A", 40), buffer("B", (3, 40), bool_)
    infinite = ir.Select(op("<", I, 5), ir.Call("infinity", (), float32), load(a, I), float32)
    x = ir.Select(op("<", I, 3), op("-", infinite, infinite), infinite, float32)
    tests = ("isnan", "isinf", "isfinite")
    body = [store(b, (n, I), call(name, x, dtype=bool_)) for n, name in enumerate(tests)]
    return kernel([a, b], parallel(I, 40, *body)), [random(40), random((3, 40), bool_)]


@case
def casts():
    def chain(x):
        return op("+", ir.Cast(ir.Cast(op("*", x, 1.37), float16), float32),
                  ir.Cast(ir.Cast(ir.Cast(x, int32), bfloat16), float32))
    return elementwise(float32, chain)


@case
def unsigned_bytes_wrap():
    return elementwise(int32, lambda x: op("-", x, 300), uint8)


@case
def user_names_that_the_program_has():
    grid, ok, reference = buffer("grid", 20), buffer("ok", 20), buffer("reference", 20, float32, "shared")
    us, tolerance = loop("us"), ir.Var("tolerance", float32, "scalar")
    body = [ir.Alloc(reference), copy(whole(grid), whole(reference)),
            parallel(us, 20, store(ok, us, op("*", load(reference, us), tolerance)))]
    return kernel([grid, ok], *body, scalars=[tolerance]), [random(20), random(20), 1.5]


@case
def sizes_and_scalars():
    n, f = ir.Var("n", int32, "size"), ir.Var("f", int32, "scalar")
    a = buffer("A", (n, 3))
    i = op("+", op("*", BX, 8), I)
    value = op("*", op("+", load(a, i, 2), n), f)
    body = parallel(I, 8, when(op("<", i, n), store(a, (i, 1), value)))
    return kernel([a], body, grid=(call("ceildiv", n, 8),), sizes=[n], scalars=[f]), [random((21, 3)), 3]


@pytest.fixture(scope="module")
def calls(tmp_path_factory):
    kernels = [build()[0] for build in CASES.values()]
    return dict(zip(CASES, references(kernels, tmp_path_factory.mktemp("references"))))


@pytest.mark.parametrize("name", CASES)
def test_statement(name, calls):
    program, values = CASES[name]()
    names = [p.name for p in program.params]
    expected, found = dict(zip(names, copy_of(values))), dict(zip(names, copy_of(values)))
    run(program, expected)
    calls[name](found)
    changed = False
    for n, before in zip(names, values):
        if isinstance(before, numpy.ndarray):
            assert_same(found[n], expected[n])
            changed |= not numpy.array_equal(expected[n], before, equal_nan=True)
    assert changed, "the kernel has no effect"


def copy_of(values):
    return [v.copy() if isinstance(v, numpy.ndarray) else v for v in values]


def assert_same(found, expected):
    if expected.dtype.kind in "iub":
        assert numpy.array_equal(found, expected)
    else:
        unit = UNITS.get(expected.dtype.name, 1e-6)
        found, expected = found.astype("float64"), expected.astype("float64")
        numpy.testing.assert_allclose(found, expected, rtol=unit, atol=unit)
