"""The emulator's times, with room for slow and busy machines: what fails here is wrong by a large factor.

Processor time is taken, since the tests may not have the machine for themselves.
"""

from __future__ import annotations

import ctypes
import resource
import time

import numpy as np
import pytest

from test_emulator_matrix import MATMUL
from tilegen.runtime import emulator

ADD = """
extern "C" __global__ void add(const float* a, float* b, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) b[i] = a[i] + 1;
}
"""


def processor_seconds(action) -> float:
    """What `action` and the compilers that it starts take."""
    def used() -> float:
        both = map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
        return sum(usage.ru_utime + usage.ru_stime for usage in both)
    start = used()
    action()
    return used() - start


def parts(root) -> set[str]:
    return {path.name.split("-")[1] for path in root.glob("emulator-*") if path.name.count("-") == 2}


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    return tmp_path_factory.mktemp("cache")


def test_a_first_use(root):
    """Shown: 2 s on two cores. The checker is not built for a file that is not checked."""
    assert processor_seconds(lambda: emulator.compile_source(ADD, "cuda", warp_size=32, root=root)) < 8
    assert parts(root) == {"machine", "engines"}


def test_a_first_checked_file(root):
    assert processor_seconds(lambda: emulator.compile_source(ADD, "cuda", warp_size=32, root=root, check=True)) < 6
    assert parts(root) == {"machine", "engines", "checker"}


def test_a_later_kernel(root):
    """Shown: 0.6 s."""
    def compile_anew(number: int) -> None:
        emulator.compile_source(f"// {number}\n{MATMUL}", "cuda", warp_size=32, root=root)
    assert min(processor_seconds(lambda: compile_anew(number)) for number in range(3)) < 1.5


def test_a_tile_on_tensor_cores():
    """Shown: 128 x 128 x 128 in 5 ms, on one thread of the operating system."""
    rng = np.random.default_rng(0)
    a, b = (rng.random((128, 128)).astype(np.float16) for _ in range(2))
    c = np.zeros((128, 128), np.float16)
    library = emulator.compile_source(MATMUL, "cuda", warp_size=32, name="matmul_sm80.cu")
    arguments = [a, b, c, *[ctypes.c_int(128)] * 3]
    best = 1.0
    for _ in range(20):
        start = time.process_time()
        emulator.launch(library, "matmul", [1, 2], [128], 2 * 3 * (64 * 64 + 64 * 128), arguments, threads=1)
        best = min(best, time.process_time() - start)
    assert best < 0.025
