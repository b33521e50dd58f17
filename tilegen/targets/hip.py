"""AMD GPUs through HIP: CDNA (waves of 64) and RDNA (waves of 32)."""

from __future__ import annotations

from tilegen.targets.base import C_TYPES, GPU_ATOMICS, Target, gpu_functions

DEFAULT_ARCH = "gfx942"
ARCHS = ("gfx908", "gfx90a", "gfx942", "gfx950", "gfx1030", "gfx1100", "gfx1201")


def make(arch: str) -> Target:
    """The facts of one arch of ARCHS: 64 KB of LDS for a block (160 KB on gfx950)."""
    return Target(name="hip", arch=arch, family="gpu", suffix=".hip", folders=("hip", "cuda", "common"),
                  warp_size=32 if arch.startswith(("gfx10", "gfx11", "gfx12")) else 64,
                  max_shared=163840 if arch == "gfx950" else 65536, includes=("hip/hip_runtime.h",),
                  types=C_TYPES, functions=gpu_functions(), atomics=GPU_ATOMICS,
                  compile_line=f"hipcc -O3 --offload-arch={arch} -DTILEGEN_MAIN {{file}}.hip -o {{file}} && ./{{file}}")
