"""NVIDIA GPUs through CUDA C++: sm_70 to sm_120."""

from __future__ import annotations

from tilegen.targets.base import C_TYPES, GPU_ATOMICS, Target, gpu_functions

DEFAULT_ARCH = "sm_80"

# Most shared memory per block in bytes (CUDA C++ Programming Guide, compute capabilities).
SHARED = {70: 98304, 72: 98304, 75: 65536, 80: 166912, 86: 101376, 87: 166912, 89: 101376, 90: 232448,
          100: 232448, 103: 232448, 120: 101376, 121: 101376}

ARCHS = tuple(f"sm_{n}" for n in SHARED) + ("sm_90a", "sm_100a", "sm_103a", "sm_120a", "sm_121a")


# Threads and blocks that an SM holds at once, where they are not 2048 and 32.
RESIDENT_THREADS = {75: 1024, 86: 1536, 87: 1536, 89: 1536, 120: 1536, 121: 1536}
RESIDENT_BLOCKS = {75: 16, 86: 16, 87: 16, 89: 24, 120: 24, 121: 24}


# SMs of the GPUs of an arch, where kernels are planned for so many: H100 (SXM) and H200.
MULTIPROCESSORS = {"sm_90a": 132}


def capability(arch: str) -> int:
    """90 for 'sm_90a'."""
    return int(arch.removeprefix("sm_").rstrip("af"))


def _functions() -> dict[str, dict[str, str]]:
    """Those of GPUs; exp2 of a float by the instruction alone, without CUDA's detour to subnormal results."""
    functions = gpu_functions()
    functions["float32"]["exp2"] = "exp2_flushed"
    return functions


def _architecture(arch: str) -> str:
    """nvcc's flag for `arch`. For one with a suffix, -arch would make code for the plain one too, which lacks the
    suffix's instructions."""
    return f"-gencode arch={arch.replace('sm', 'compute')},code={arch}" if arch[-1].isalpha() else f"-arch={arch}"


def _plainer(arch: str) -> str:
    """The arch whose text, without the copy engine, runs in the place of that for `arch`."""
    return "sm_89" if capability(arch) >= 120 else arch.rstrip("a")


def make(arch: str) -> Target:
    """The facts of one arch of ARCHS."""
    return Target(name="cuda", arch=arch, family="gpu", suffix=".cu", folders=("cuda", "common"), warp_size=32,
                  max_shared=SHARED[capability(arch)], types=C_TYPES,
                  functions=_functions(), atomics=GPU_ATOMICS,
                  register_file=65536, multiprocessors=MULTIPROCESSORS.get(arch, 0),
                  resident_threads=RESIDENT_THREADS.get(capability(arch), 2048),
                  resident_blocks=RESIDENT_BLOCKS.get(capability(arch), 32), async_copies=capability(arch) >= 80,
                  rounds_bfloat16=capability(arch) >= 80,
                  stores_matrices=capability(arch) >= 90, warpgroups=arch == "sm_90a",
                  copy_engine=arch == "sm_90a" or capability(arch) >= 120, plainer=_plainer(arch),
                  pair_arithmetic=True,
                  compile_line=f"nvcc -O3 {_architecture(arch)} -DTILEGEN_MAIN {{file}}.cu -o {{file}} && ./{{file}}")
