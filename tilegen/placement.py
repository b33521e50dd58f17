"""Which target and architecture a kernel gets where nobody names one."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterable
from functools import lru_cache

from tilegen import config, targets
from tilegen.errors import TilegenError
from tilegen.later import Later
from tilegen.targets import Target

arrays = Later("tilegen.runtime.arrays")
_LAUNCHERS = {"cuda": Later("tilegen.runtime.cupy"), "hip": Later("tilegen.runtime.hip")}


def choose(name: str | None = None, arch: str | None = None, *, here: bool = False) -> Target:
    """The target `name`, else the setting's, else CUDA where a GPU is, else the CPU.

    The architecture is `arch`, else the setting's, else the target's default; with `here`, that of the GPU
    present goes before the default. Raises TG0502 for names that do not exist.
    """
    name = name or config.target or gpu() or "cpu"
    return targets.find(name, arch or arch_setting(name) or (_present_arch(name) if here else None))


def for_arguments(arguments: Iterable[object], arch: str | None = None) -> Target:
    """As `choose`, for a call with these arguments: memory of a GPU decides where no setting does."""
    if config.target is None:
        for value in arguments:
            if is_array(value) and arrays.view(value, "").device.kind == "gpu":
                return choose("hip" if _is_hip(value) else "cuda", arch, here=True)
    return choose(arch=arch, here=True)


def arch_setting(target: str) -> str | None:
    """The architecture that is set, if it is one of `target`. Raises TG0502 where no target has it."""
    wanted = config.arch
    known = targets.modules()
    if wanted is None or target not in known or wanted in known[target].ARCHS:
        return wanted
    if not any(wanted in module.ARCHS for module in known.values()):
        targets.find(target, wanted)
    return None


def is_array(value: object) -> bool:
    """Whether `value` is something that a kernel takes as a tensor."""
    if isinstance(value, type):
        return False
    return getattr(value, "shape", ()) != () or hasattr(value, "__dlpack__") or \
        hasattr(value, "__cuda_array_interface__")


def gpu() -> str | None:
    """"cuda" where kernels can be launched on an NVIDIA GPU, else None. CuPy is loaded to find out, if installed."""
    return "cuda" if can_launch("cuda") else None


@lru_cache
def can_launch(target: str) -> bool:
    """Whether files for `target` run on a device of this machine."""
    if target == "cpu":
        return True
    package = {"cuda": "cupy", "hip": "pyhip"}.get(target)
    if package is None or importlib.util.find_spec(package) is None:
        return False
    try:
        _LAUNCHERS[target].require_device()
    except TilegenError:
        return False
    return True


@lru_cache
def _present_arch(target: str) -> str | None:
    """The architecture of the NVIDIA GPU here, with the suffix of its own instructions where it has any."""
    if target != "cuda" or not can_launch("cuda"):
        return None
    capability = arrays.require_cupy("finding the GPU").cuda.Device().compute_capability
    known = targets.modules()["cuda"].ARCHS
    older = [a for a in known if a.removeprefix("sm_").isdigit() and int(a.removeprefix("sm_")) <= int(capability)]
    exact = [a for a in (f"sm_{capability}a", f"sm_{capability}") if a in known]
    return (exact or older[-1:] or [None])[0]


def _is_hip(value: object) -> bool:
    """Whether GPU memory is of an AMD GPU: PyTorch and CuPy call both kinds cuda."""
    library = arrays.view(value, "").library
    if library == "torch":
        import torch
        return torch.version.hip is not None
    return library == "cupy" and arrays.require_cupy("finding the GPU").cuda.runtime.is_hip
