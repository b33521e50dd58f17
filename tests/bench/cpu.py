"""The CPU benchmark: python tests/bench/cpu.py [--threads N] [--json FILE]

GEMM, softmax and layernorm of the examples beside NumPy, in the same rounds, on the same number of threads.
A sample counts only if the process waited for a processor during less than 2 % of it (Linux), so that other
programs on the machine do not decide the result.
"""

from __future__ import annotations

import argparse
import json
import os
import pathlib
import sys

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--threads", type=int, default=1)
parser.add_argument("--json")
options = parser.parse_args()
for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[name] = str(options.threads)

import numpy  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "tests" / "bench")]

from race import race, report  # noqa: E402
from tilegen import kernel_files  # noqa: E402
from tilegen.timing import host_clock  # noqa: E402


quiet_clock = host_clock(flush=False)


def kernel(name: str, **values):
    """The kernel of an example on the CPU target, with knobs."""
    found = kernel_files.find(str(ROOT / "examples" / name))
    return (found.specialize(**values) if values else found).on("cpu")


def checked(got: numpy.ndarray, want: numpy.ndarray) -> None:
    error = numpy.linalg.norm(got - want) / numpy.linalg.norm(want)
    assert error < 1e-5, f"relative error {error}"


def gemm() -> list[dict]:
    rows = []
    rng = numpy.random.default_rng(0)
    for M, N, K in ((256, 256, 256), (512, 512, 512), (1024, 1024, 1024), (2048, 2048, 2048), (1000, 777, 513)):
        a, b = (rng.standard_normal(s, numpy.float32) for s in ((M, K), (K, N)))
        c, want = numpy.empty((M, N), numpy.float32), a @ b
        bound = kernel("06_gemm.py").bind(a, b, c)
        bound()
        checked(c, want)
        times = race({"NumPy": lambda: numpy.matmul(a, b, out=want), "tilegen 06_gemm": bound}, quiet_clock, rounds=11)
        rows += report(f"gemm f32 {M} x {N} x {K}", times, flops=2 * M * N * K)
    return rows


def rows_of_4096() -> list[dict]:
    rng = numpy.random.default_rng(1)
    n = 4096
    x = rng.standard_normal((n, n), numpy.float32)
    gamma, beta = rng.standard_normal(n, numpy.float32), rng.standard_normal(n, numpy.float32)
    y, z, copy = (numpy.empty_like(x) for _ in range(3))

    def softmax():
        e = numpy.exp(x - x.max(1, keepdims=True))
        return e / e.sum(1, keepdims=True)

    def layernorm():
        centred = x - x.mean(1, keepdims=True)
        return centred / numpy.sqrt((centred**2).mean(1, keepdims=True) + 1e-5) * gamma + beta
    first, second = kernel("04_softmax.py", BN=n).bind(x, y), kernel("05_layernorm.py", BN=n).bind(x, gamma, beta, z)
    first(), second()
    checked(y, softmax())
    checked(z, layernorm())
    times = race({"copy": lambda: numpy.copyto(copy, x), "NumPy softmax": softmax, "tilegen 04_softmax": first,
                  "NumPy layernorm": layernorm, "tilegen 05_layernorm": second}, quiet_clock, rounds=7)
    return report(f"rows f32 {n} x {n}", times, moved=8 * n * n)


if __name__ == "__main__":
    print(f"{options.threads} thread(s), NumPy {numpy.__version__}")
    table = gemm() + rows_of_4096()
    if options.json:
        pathlib.Path(options.json).write_text(json.dumps(table, indent=1))
