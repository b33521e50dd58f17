"""MetaX GPUs through MACA. The figures are the public defaults of MetaX's TVM fork, not measured by us."""

from __future__ import annotations

from tilegen.targets.base import C_TYPES, GPU_ATOMICS, Target, gpu_functions

DEFAULT_ARCH = "xcore1000"
ARCHS = ("xcore1000", "xcore1500")


def make(arch: str) -> Target:
    """The facts of one arch of ARCHS."""
    return Target(name="maca", arch=arch, family="gpu", suffix=".maca", folders=("maca", "hip", "cuda", "common"),
                  warp_size=64, max_shared=65536, includes=("mc_runtime.h",), types=C_TYPES,
                  functions=gpu_functions(), atomics=GPU_ATOMICS,
                  compile_line="mxcc -x maca -O3 -DTILEGEN_MAIN {file}.maca -o {file} && ./{file}")
