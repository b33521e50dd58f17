"""The TILEGEN_MAIN section: what it says, that it finds wrong kernels, and how it speaks to each runtime."""

import ctypes
import re
import subprocess

import numpy
import pytest
from irbuild import BX, BY, I, J, buffer, call, expr, load, op, parallel, region, serial, store, whole
from reference_library import FLAGS, knobs, section
from tilegen import ir, targets
from tilegen.build import cxx
from tilegen.dtypes import DTYPES, bfloat16, bool_, float8_e4m3, float16, float32, float64, int32
from tilegen.emit import device_functions, selftest, templates, tolerance
from tilegen.emit.default_sizes import default_sizes
from tilegen.emit.host_names import RESERVED
from tilegen.emit.launches import Spoken
from tilegen.emit.host_tensors import small_float
from tilegen.emit.reference import obstacle
from tilegen.errors import Loc

M, N, K = (ir.Var(name, int32, "size") for name in "MNK")
BM, BN, BK = (ir.Var(name, int32, "knob") for name in ("BM", "BN", "BK"))
KNOBS = (ir.Knob("BM", 32), ir.Knob("BN", 16), ir.Knob("BK", 8))
GPUS = ("cuda", "hip", "maca")


def tensors(shapes, access=("read", "write")):
    return [ir.Param(b.name, buffer=b, access=a) for b, a in zip(shapes, access)]


def make(name, params, *body, sizes=(), grid=(1,), knobs=(), requires=()):
    return ir.Kernel(name, tuple(params), tuple(knobs), tuple(sizes), tuple(expr(g) for g in grid),
                     (BX, BY)[:len(grid)],
                     (expr(128),), body, tuple(requires), loc=Loc("kernel.py", 1, 0))


def gemm(dtype=float16, result=float32, requires=()):
    a, b, c = buffer("A", (M, K), dtype), buffer("B", (K, N), dtype), buffer("C", (M, N), result)
    x, y = buffer("A_shared", (BM, BK), dtype, "shared"), buffer("B_shared", (BK, BN), dtype, "shared")
    z = buffer("C_local", (BM, BN), float32, "fragment")
    ko = ir.Var("ko", int32, "loop")
    m, n, k = op("*", BY, BM), op("*", BX, BN), op("*", ko, BK)
    steps = serial(ko, 0, call("ceildiv", K, BK), ir.Copy(region(a, (m, k), (BM, BK)), whole(x)),
                   ir.Copy(region(b, (k, n), (BK, BN)), whole(y)), ir.Gemm(whole(x), whole(y), whole(z)),
                   kind="pipelined")
    body = [*map(ir.Alloc, (x, y, z)), ir.Fill(whole(z), ir.const(0.0)), steps,
            ir.Copy(whole(z), region(c, (m, n), (BM, BN)))]
    return make("matmul", tensors((a, b, c), ("read", "read", "write")), *body, sizes=(M, N, K), knobs=KNOBS,
                grid=(call("ceildiv", N, BN), call("ceildiv", M, BM)), requires=requires)


def scale(dtype=float32, access=("read", "write"), name="scale", **options):
    """B = alpha * A for M elements, or B += alpha * A."""
    a, b, alpha = buffer("A", M, dtype), buffer("B", M, dtype), ir.Var("alpha", dtype, "scalar")
    i = op("+", op("*", BX, BM), I)
    value = op("*", alpha, load(a, i))
    value = op("+", load(b, i), value) if "readwrite" in access else value
    params = [*tensors((a, b), access), ir.Param("alpha", var=alpha)]
    return make(name, params, parallel(I, BM, store(b, i, value)), sizes=(M,), knobs=KNOBS[:1],
                grid=(call("ceildiv", M, BM),), **options)


# ---- Running programs --------------------------------------------------------------------------------
def build(tmp_path, text, *flags):
    """The program, compiled with warnings as errors."""
    (tmp_path / "program.cpp").write_text(text)
    command = [*cxx.find().command, "-O1", "-DTILEGEN_MAIN", *FLAGS[:3], *flags, "-Wno-unknown-pragmas",
               "program.cpp", "-o", "program"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[:3000]
    return lambda *sizes: subprocess.run(["./program", *map(str, sizes)], cwd=tmp_path, capture_output=True,
                                         text=True)


MATMUL = """
struct float16 {
    unsigned short bits;
    operator float() const { return bits & 0x8000 ? -size() : size(); }
    float size() const
    {
        return bits & 0x7fff ? __builtin_ldexpf(1024 + (bits & 1023), (bits >> 10 & 31) - 25) : 0;
    }
};
extern "C" void matmul(const float16* A, const float16* B, float* C, int M, int N, int K)
{
    for (int m = 0; m < M; ++m)
        for (int n = 0; n < N; ++n) {
            float sum = 0;
            for (int k = FIRST; k < K; ++k) sum += A[m * K + k] * B[k * N + n];
            C[m * N + n] = sum;
        }
}
"""
SCALE = """
extern "C" void scale(const float* A, float* B, float alpha, int M)
{
    for (int i = 0; i < M - SHORT; ++i) B[i] = alpha * A[i];
}
"""


def test_a_right_kernel_passes(tmp_path):
    program = build(tmp_path, knobs(gemm()) + MATMUL + section(gemm()), "-DFIRST=0")
    done = program(70, 33, 50)
    speed = r"[\d.]+ us, [\d.e-]+ GFLOP/s, [\d.e-]+ GB/s"
    assert re.fullmatch(rf"matmul 70 x 33 x 50: {speed}, worst error 0\.0e\+00, ok\n", done.stdout), done
    assert done.returncode == 0


def test_a_product_without_its_first_term_is_wrong(tmp_path):
    done = build(tmp_path, knobs(gemm()) + MATMUL + section(gemm()), "-DFIRST=1")(70, 33, 500)
    assert done.stdout.endswith(", WRONG\n") and done.returncode == 1


@pytest.mark.parametrize("missing", [0, 1])
def test_an_element_that_is_never_written_is_wrong(tmp_path, missing):
    done = build(tmp_path, knobs(scale()) + SCALE + section(scale()), f"-DSHORT={missing}")(1000)
    assert done.returncode == missing
    assert ("worst error inf, WRONG\n" if missing else "worst error 0.0e+00, ok\n") in done.stdout


def test_what_is_read_and_written_is_checked_on_fresh_data(tmp_path):
    program = scale(access=("read", "readwrite"))
    kernel_text = SCALE.replace("B[i] = ", "B[i] += ")
    done = build(tmp_path, knobs(program) + kernel_text + section(program), "-DSHORT=0")(1000)
    assert done.returncode == 0 and "ok" in done.stdout


def test_integers_have_to_be_the_same(tmp_path):
    program = scale(int32)
    text = knobs(program) + SCALE.replace("float", "int") + section(program)
    assert build(tmp_path, text, "-DSHORT=0")(1000).returncode == 0
    wrong = text.replace("alpha * A[i]", "alpha * A[i] + (i == 7)")
    assert build(tmp_path, wrong, "-DSHORT=0")(1000).returncode == 1


def test_bools_have_to_be_the_same(tmp_path):
    a, b = buffer("A", M, bool_), buffer("B", M, bool_)
    program = make("invert", tensors((a, b)), parallel(I, 64, store(b, I, ir.UnOp("not", load(a, I), bool_))),
                   sizes=(M,))
    text = """
extern "C" void invert(const bool* A, bool* B, int M)
{
    for (int i = 0; i < M; ++i) B[i] = !A[i];
}
"""
    assert build(tmp_path, text + section(program))(60).returncode == 0
    assert build(tmp_path, text.replace("!A", "A") + section(program))(60).returncode == 1


def test_sizes_that_the_kernel_refuses(tmp_path):
    program = scale(requires=[op("==", op("%", M, 8), 0)])
    run = build(tmp_path, knobs(program) + SCALE + section(program), "-DSHORT=0")
    assert (run(20).returncode, run(20).stdout) == (1, "scale needs M % 8 == 0\n")
    assert (run(0).returncode, run("x").stdout) == (1, "usage: scale [M]\n")
    assert run(24).returncode == 0


def test_a_kernel_without_plain_loops_is_only_timed(tmp_path):
    a, thread = buffer("A", M), ir.Var("thread_x", kind="thread")
    program = make("count", tensors([a], ["write"]),
                   ir.Store(a, (thread,), ir.const(1.0), loc=Loc("count.py", 9, 4)),
                   sizes=(M,))
    text = section(program)
    assert "// Not checked: count.py:9: the index of a single thread has no meaning in plain loops." in text
    done = build(tmp_path, 'extern "C" void count(float* A, int M) { A[M - 1] = 1; }\n' + text)(100)
    assert re.fullmatch(r"count 100: [\d.]+ us, [\d.e-]+ GB/s, not checked\n", done.stdout)
    assert done.returncode == 0
    assert "own language" in obstacle(make("raw", [], ir.Raw("asm();")))


# ---- GPU runtimes ------------------------------------------------------------------------------------
STUB = """
#include <cstdio>
#include <cstdlib>
#include <cstring>
#define __global__
struct dim3 { unsigned x, y, z; dim3(unsigned x, unsigned y = 1, unsigned z = 1) : x(x), y(y), z(z) {} };
typedef int @Error_t;
typedef int @Event_t;
enum { @Success, @MemcpyHostToDevice, @MemcpyDeviceToHost, @FuncAttributeMaxDynamicSharedMemorySize };
inline int @Malloc(void** data, size_t bytes) { *data = malloc(bytes); return 0; }
inline int @Memcpy(void* to, const void* from, size_t bytes, int) { memcpy(to, from, bytes); return 0; }
inline int @GetLastError() { return ERROR; }
inline const char* @GetErrorString(int) { return "out of luck"; }
inline int @DeviceSynchronize() { return 0; }
inline int @EventCreate(int*) { return 0; }
inline int @EventRecord(int) { return 0; }
inline int @EventSynchronize(int) { return 0; }
inline int @EventElapsedTime(float* ms, int, int) { *ms = 1; return 0; }
inline int @FuncSetAttribute(const void*, int, int bytes)
{
    fprintf(stderr, "announced %d ", bytes);
    return 0;
}
inline void configure(dim3 grid, int threads, int shared = 0)
{
    static bool once = true;
    if (once) fprintf(stderr, "%u x %u blocks of %d, %d bytes", grid.x, grid.y, threads, shared);
    once = false;
}
constexpr int THREADS = 128, SMEM_BYTES = 1000;
"""


def on_stub(tmp_path, program, target, text, *flags, **options):
    """The program of a GPU target over a stub of its runtime, with the kernel as a host function."""
    api = {"cuda": "cuda", "hip": "hip", "maca": "mc"}[target]
    launch = re.sub(r"(\w+)<<<([^>]+)>>>\(", r"configure(\2), \1(", section(program, target, **options))
    return build(tmp_path, STUB.replace("@", api) + knobs(program) + text + launch, *flags)


@pytest.mark.parametrize("target", GPUS)
def test_gpu_programs(tmp_path, target):
    done = on_stub(tmp_path, gemm(), target, MATMUL, "-DFIRST=0", "-DERROR=0")(70, 33, 50)
    announced = "announced 1000 " if target == "cuda" else ""
    assert done.stderr == f"{announced}3 x 3 blocks of 128, 1000 bytes", done
    assert "TFLOP/s" in done.stdout and "TB/s" in done.stdout and ": 50.0 us" in done.stdout
    assert done.stdout.endswith("ok\n") and done.returncode == 0


@pytest.mark.parametrize("target", GPUS)
def test_gpu_programs_find_what_is_wrong(tmp_path, target):
    run = on_stub(tmp_path, scale(), target, SCALE, "-DSHORT=1", "-DERROR=0")
    done = run(100)
    assert done.stdout.endswith("WRONG\n") and done.returncode == 1
    assert done.stderr == "4 x 1 blocks of 128, 0 bytes"


def test_an_error_of_the_runtime_stops_the_program(tmp_path):
    done = on_stub(tmp_path, scale(), "hip", SCALE, "-DSHORT=0", "-DERROR=7")(100)
    assert (done.stdout, done.returncode) == ("HIP: out of luck\n", 1)


def test_much_shared_memory_is_announced_where_that_is_needed():
    find = targets.find
    texts = {arch: selftest.render(gemm(), find(name, arch)) for name, arch in (
        ("cuda", "sm_80"), ("hip", "gfx942"), ("hip", "gfx950"), ("maca", "xcore1000"))}
    assert [arch for arch, text in texts.items() if "FuncSetAttribute" in text] == ["sm_80", "gfx950"]
    assert "SMEM_BYTES" not in selftest.render(gemm(), find("cuda"), [Spoken(gemm(), "THREADS", "0")])


# ---- Text --------------------------------------------------------------------------------------------
KERNELS = [gemm(), gemm(float8_e4m3, bfloat16), gemm(bfloat16, float64), scale(),
           scale(float16, ("read", "readwrite")),
           scale(int32)]


@pytest.mark.parametrize("target", ("cpu", *GPUS))
@pytest.mark.parametrize("program", KERNELS, ids=range(len(KERNELS)))
def test_rules_of_the_text(program, target):
    text = section(program, target)
    assert text == section(program, target)
    assert text.startswith("// ---- Stand-alone: ") and text.endswith("\n#endif")
    assert all(len(line) <= 100 and line == line.rstrip() and "\t" not in line for line in text.split("\n"))
    assert "\n\n\n" not in text and "@" not in text
    code = re.sub(r"//[^\n]*", "", text)
    functions = re.findall(r"^static (?!constexpr)[\w:<>*& ]*?[ *&](\w+)\(", code, re.MULTILINE)
    for name in functions + re.findall(r"struct (\w+)", code):
        assert len(re.findall(rf"\b{name}\b", code)) > 1, f"{name} is not used"


def test_a_knob_that_the_file_lacks_is_a_number():
    text = section(gemm(), defined={"BM", "BN"})
    assert "BK" not in text and "std::make_unique<double[][8]>(BM)" in text


def test_names_of_the_program_are_no_helpers_of_a_target():
    for target in ("cpu", *GPUS):
        assert RESERVED & set(device_functions.available(targets.find(target).folders)) == set()


def test_names_that_the_program_takes_give_way(tmp_path):
    grid, ok = buffer("grid", M), buffer("ok", M)
    us = ir.Var("us", int32, "knob")
    i = op("+", op("*", BX, us), I)
    program = make("launch", tensors((grid, ok)),
                   parallel(I, us, store(ok, i, load(grid, i))),
                   sizes=(M,), knobs=[ir.Knob("us", 32)], grid=(call("ceildiv", M, us),))
    text = """
extern "C" void launch(const float* grid, float* ok, int M)
{
    for (int i = 0; i < M; ++i) ok[i] = grid[i];
}
"""
    assert build(tmp_path, knobs(program) + text + section(program))(100).returncode == 0


# ---- Numbers -----------------------------------------------------------------------------------------
def test_default_sizes():
    assert default_sizes(gemm()) == {"M": 1024, "N": 1024, "K": 1024}
    assert default_sizes(scale()) == {"M": 2**20}
    requires = [op("<=", N, 128), op("==", op("%", K, 96), 0)]
    assert default_sizes(gemm(requires=requires)) == {"M": 1024, "N": 128, "K": 96}
    assert default_sizes(gemm(requires=[op("==", M, N), op("<", M, 100)])) == {"M": 64, "N": 64, "K": 1024}
    assert default_sizes(gemm(requires=[op("==", op("%", M, BM), 0)]))["M"] == 1024


def test_default_sizes_of_many_dimensions_are_modest():
    a, b = buffer("A", (M, N, K, K)), buffer("B", (M, N, K, K))
    program = make("copy", tensors((a, b)), ir.Copy(whole(a), whole(b)), sizes=(M, N, K))
    assert default_sizes(program) == {"M": 64, "N": 64, "K": 64}


def tolerance_of(program):
    text = section(program)
    return re.search(r"const double tolerance = ([^;]+);", text)[1]


def test_tolerance():
    assert tolerance_of(gemm()) == "1e-5 + 1e-6 * std::sqrt(double(K))"
    assert tolerance_of(gemm(float16, bfloat16)) == "1e-5 + 1.6e-2 + 1e-6 * std::sqrt(double(K))"
    assert tolerance_of(scale()) == "1e-5"
    assert tolerance_of(scale(float64)) == "1e-13"
    assert "tolerance" not in section(scale(int32))


def test_tolerance_counts_roundings_and_atomic_additions():
    a, b = buffer("A", M, float16), buffer("B", 1)
    s = buffer("S", BM, float16, "shared")
    i = op("+", op("*", BX, BM), I)
    body = [ir.Alloc(s),
            parallel(I, BM, store(s, I, op("*", load(a, i), 0.5)), store(s, I, op("+", load(s, I), 1.0)),
                                  ir.Atomic("add", b, (ir.Const(0),), load(s, I)))]
    program = make("total", tensors((a, b), ("read", "readwrite")), *body, sizes=(M,), knobs=KNOBS[:1],
                   grid=(call("ceildiv", M, BM),))
    assert tolerance_of(program) == "1e-5 + 4e-3 + 1e-6 * std::sqrt(double(M))"
    parts = {(p.dtype.name, p.count) for p in tolerance.parts(program)}
    assert ("float16", 2) in parts


def test_flops_that_depend_on_a_loop_are_left_out():
    a = buffer("A", (M, M))
    row = ir.Reduce("sum", region(a, (I, 0), (1, 4)), region(a, (I, 5), (1, 1)), 1)
    body = serial(I, 0, M, serial(J, 0, I, row))
    program = make("triangle", tensors((a,), ["readwrite"]), body, sizes=(M,))
    text = section(program)
    assert "FLOP/s" not in text and "GB/s" in text


# ---- The small floats of the host --------------------------------------------------------------------
SMALL = [d for d in DTYPES.values() if d.is_float and d.bits < 32]


@pytest.fixture(scope="module")
def small_floats(tmp_path_factory):
    folder = tmp_path_factory.mktemp("floats")
    lines = [f"#include <{h}>" for h in ("algorithm", "cmath")]
    for d in SMALL:
        lines += [templates.render(("common",), "selftest_float", f=small_float(d.name)),
                  f'extern "C" double decode_{d}(unsigned b) {{ host_{d} x; x.bits = b; return x; }}',
                  f'extern "C" unsigned encode_{d}(double x) {{ return host_{d}(x).bits; }}']
    (folder / "floats.cpp").write_text("\n".join(lines))
    done = subprocess.run([*cxx.find().command, "-O1", *FLAGS, "-shared", "-fPIC", "floats.cpp", "-o",
                           "floats.so"],
                          cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return ctypes.CDLL(str(folder / "floats.so"))


@pytest.mark.parametrize("dtype", SMALL, ids=str)
def test_small_floats(small_floats, dtype):
    """Every pattern decodes as in NumPy; numbers, and the middles between them, encode as there."""
    decode, encode = getattr(small_floats, f"decode_{dtype}"), getattr(small_floats, f"encode_{dtype}")
    decode.restype, encode.argtypes = ctypes.c_double, [ctypes.c_double]
    patterns = numpy.arange(2**dtype.bits).astype(f"uint{dtype.bits}")
    with numpy.errstate(invalid="ignore"):
        expected = patterns.view(dtype.numpy).astype("float64")
    assert numpy.array_equal([decode(int(p)) for p in patterns], expected, equal_nan=True)
    finite = numpy.unique(expected[numpy.isfinite(expected)])
    middles = (finite[1:] + finite[:-1]) / 2
    generator = numpy.random.default_rng(3)
    numbers = numpy.concatenate([finite, middles, middles * (1 + 2.0**-12),
                                 [0.0, -0.0, numpy.inf, -numpy.inf, numpy.nan],
                                 generator.standard_normal(1000) * 2.0 ** generator.integers(-140, 40, 1000)])
    numbers = numbers.astype("float32").astype("float64")              # ml_dtypes rounds to float32 first
    with numpy.errstate(over="ignore"):
        wanted = numbers.astype(dtype.numpy)
    found = numpy.array([encode(x) for x in numbers], dtype=patterns.dtype).view(dtype.numpy)
    assert numpy.array_equal(found.astype("float64"), wanted.astype("float64"), equal_nan=True)
    assert numpy.array_equal(numpy.signbit(found.astype("float64")), numpy.signbit(wanted.astype("float64")))
