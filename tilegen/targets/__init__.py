"""Targets are found by name: one module each, with ARCHS, DEFAULT_ARCH and make(arch)."""

from __future__ import annotations

import difflib
import importlib
import pkgutil
from functools import lru_cache
from types import ModuleType

from tilegen.errors import TilegenError
from tilegen.targets.base import Target

__all__ = ["Target", "find", "modules"]


@lru_cache
def modules() -> dict[str, ModuleType]:
    """{name: module} of every target in this folder."""
    found = (m.name for m in pkgutil.iter_modules(__path__) if m.name != "base")
    return {name: importlib.import_module(f"{__name__}.{name}") for name in sorted(found)}


@lru_cache
def find(name: str, arch: str | None = None) -> Target:
    """The target `name` for `arch` (its default where None). TG0502 where there is none such."""
    known = modules()
    if name not in known:
        raise TilegenError("TG0502", f"unknown target {name!r}", hint=f"use one of {', '.join(known)}")
    module = known[name]
    arch = arch or module.DEFAULT_ARCH
    if arch not in module.ARCHS:
        near = difflib.get_close_matches(arch, module.ARCHS, 1)
        raise TilegenError(
            "TG0502",
            f"target {name} has no arch {arch!r}" + (f"; did you mean {near[0]}?" if near else ""),
            hint=f"use one of {', '.join(module.ARCHS)}",
        )
    return module.make(arch)
