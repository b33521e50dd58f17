"""Settings: `tilegen.config.target = "cpu"`, or the environment: `TILEGEN_TARGET=cpu`.

An argument of a call wins over `tilegen.config`, which wins over the environment.

    cache_dir   the folder of compiled kernels (TILEGEN_CACHE_DIR)
    target      where kernels run: cuda, hip, maca, cpu (TILEGEN_TARGET)
    arch        the architecture to emit for: sm_90a, gfx942, avx2 (TILEGEN_ARCH)
    jobs        how many compilers run at the same time (TILEGEN_JOBS)
    keep        a folder that gets a copy of every source that is compiled (TILEGEN_KEEP)

Reading a setting gives its present value, or None; setting it to None gives it back to the environment.
"""

from __future__ import annotations

import difflib
import os
import sys
import types
import warnings
from typing import Any

from tilegen.errors import TilegenError

NAMES = ("cache_dir", "target", "arch", "jobs", "keep")
changes = 0         # how often a setting was set: for what depends on them
_chosen: dict[str, Any] = {}


def __getattr__(name: str) -> Any:
    if name not in NAMES:
        raise AttributeError(f"tilegen.config has no setting {name!r}")
    return _chosen[name] if name in _chosen else _read(name, os.environ.get(variable(name)), variable(name))


def variable(name: str) -> str:
    """The environment variable of a setting: TILEGEN_CACHE_DIR."""
    return f"TILEGEN_{name.upper()}"


def _read(name: str, value: Any, place: str) -> Any:
    """The value of a setting as its type; an empty text is no value. Raises TG0506."""
    if value is None or value == "":
        return None
    if name != "jobs":
        return os.fspath(value)
    try:
        jobs = int(value)
    except (TypeError, ValueError):
        jobs = 0
    if jobs < 1:
        raise TilegenError("TG0506", f"{place} is {value!r}, and has to be a positive number")
    return jobs


def warn_of_unknown_variables() -> None:
    """A warning for each variable that starts like ours and means nothing."""
    known = [variable(name) for name in NAMES]
    for name in sorted(os.environ):
        if name.startswith("TILEGEN_") and name not in known:
            near = difflib.get_close_matches(name, known, 1)
            warnings.warn(f"tilegen does not read the environment variable {name}; "
                          + (f"did you mean {near[0]}?" if near else f"it reads {', '.join(known)}"), stacklevel=2)


class _Settings(types.ModuleType):
    """A module whose settings are checked when they are set."""

    def __setattr__(self, name: str, value: Any) -> None:
        if name.startswith("__"):
            return super().__setattr__(name, value)
        if name not in NAMES:
            near = difflib.get_close_matches(name, NAMES, 1)
            raise TilegenError("TG0506", f"tilegen.config has no setting {name!r}",
                               hint=f"did you mean {near[0]}?" if near else f"it has {', '.join(NAMES)}")
        value = _read(name, value, f"tilegen.config.{name}")
        if value is None:
            _chosen.pop(name, None)
        else:
            _chosen[name] = value
        super().__setattr__("changes", self.changes + 1)


sys.modules[__name__].__class__ = _Settings
warn_of_unknown_variables()
