"""Host time of one call: python tests/bench/host.py [--json FILE] [--on cpu]

What Python and the driver take until a launch is enqueued, for z = x + y over 1024 floats, where the GPU's own work is
nothing: tilegen's plain call with all arguments, with `out=`, with an output that it allocates, and prepared by
`bind`; CuPy's RawKernel and ufunc, Triton, torch's operators. Candidates take turns in one process; a sample is the
mean of 200 calls, after which the device is waited for, so that its queue never fills. Medians over 40 rounds.
`--on cpu` measures the calls of the CPU target beside torch and NumPy, without a GPU.
"""

from __future__ import annotations

import argparse
import json
import pathlib
import statistics
import sys
import time
from collections.abc import Callable

import numpy
import torch

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT)]

import tilegen  # noqa: E402
import tilegen.language as T  # noqa: E402

LENGTH, CALLS, ROUNDS = 1024, 200, 40
RAW = """extern "C" __global__ void add(const float* x, const float* y, float* z, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) z[i] = x[i] + y[i];
}"""


@tilegen.jit
def add(x: T.Tensor[("n",), "float32"], y: T.Tensor[("n",), "float32"], z: T.Tensor[("n",), "float32"], BN=256):
    with T.Kernel(T.ceildiv(n, BN), threads=256) as bx:
        for i in T.Parallel(BN):
            z[bx * BN + i] = x[bx * BN + i] + y[bx * BN + i]


def ours(name: str, x: object, y: object, z: object) -> dict[str, Callable[[], object]]:
    """The ways to call our kernel with these arrays; the result is checked."""
    add(x, y, z)
    assert float(abs(z - (x + y)).max()) == 0, name
    bound = add.bind(x, y, z)
    return {f"tilegen, {name}": lambda: add(x, y, z), f"tilegen, {name}, out=": lambda: add(x, y, out=z),
            f"tilegen, {name}, new output": lambda: add(x, y), f"tilegen, {name}, bound": bound}


def on_gpu() -> dict[str, Callable[[], object]]:
    import cupy
    x, y, z = (torch.rand(LENGTH, device="cuda") for _ in range(3))
    a, b, c = (cupy.random.rand(LENGTH, dtype=cupy.float32) for _ in range(3))
    raw = cupy.RawKernel(RAW, "add")
    grid, block = (LENGTH // 256,), (256,)
    length = numpy.int32(LENGTH)
    candidates = {"CuPy RawKernel": lambda: raw(grid, block, (a, b, c, length)),
                  "CuPy ufunc, out=": lambda: cupy.add(a, b, c), "torch.add, out=": lambda: torch.add(x, y, out=z),
                  "torch.add": lambda: torch.add(x, y), **triton_call(x, y, z)}
    return {**candidates, **ours("torch", x, y, z), **ours("CuPy", a, b, c)}


def triton_call(x: torch.Tensor, y: torch.Tensor, z: torch.Tensor) -> dict[str, Callable[[], object]]:
    try:
        import triton_add
    except ImportError as error:
        print(f"no Triton: {error}", file=sys.stderr)
        return {}
    return {"Triton": lambda: triton_add.add[(LENGTH // 256,)](x, y, z, LENGTH, BLOCK=256)}


def on_cpu() -> dict[str, Callable[[], object]]:
    x, y, z = (torch.rand(LENGTH) for _ in range(3))
    a, b, c = (numpy.random.rand(LENGTH).astype("float32") for _ in range(3))
    return {"torch.add, out=": lambda: torch.add(x, y, out=z), "numpy.add, out=": lambda: numpy.add(a, b, c),
            **ours("torch", x, y, z), **ours("NumPy", a, b, c)}


def measure(candidates: dict[str, Callable[[], object]], wait: Callable[[], object]) -> dict[str, float]:
    """Median microseconds of one call."""
    samples: dict[str, list[float]] = {name: [] for name in candidates}
    for call in candidates.values():
        for _ in range(3):
            call()
    for turn in range(ROUNDS):
        names = list(candidates)
        for name in names[turn % len(names):] + names[:turn % len(names)]:
            call = candidates[name]
            wait()
            start = time.perf_counter()
            for _ in range(CALLS):
                call()
            samples[name].append(1e6 * (time.perf_counter() - start) / CALLS)
    wait()
    return {name: statistics.median(some) for name, some in samples.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", type=pathlib.Path)
    parser.add_argument("--on", choices=("gpu", "cpu"), default="gpu")
    chosen = parser.parse_args()
    if chosen.on == "gpu":
        found = measure(on_gpu(), torch.cuda.synchronize)
    else:
        found = measure(on_cpu(), lambda: None)
    least = min(found.values())
    for name, value in found.items():
        print(f"{name:28s} {value:8.2f} us  {value / least:6.2f} of the least")
    if chosen.json:
        chosen.json.write_text(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
