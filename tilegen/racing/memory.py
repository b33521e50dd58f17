"""The arrays of a race: the same values in the memory that candidates and libraries take."""

from __future__ import annotations

from typing import Any

import numpy

from tilegen.errors import TilegenError
from tilegen.runtime.arrays import require_cupy

# Types that torch has and NumPy knows through ml_dtypes alone: torch's name, and integers of their width.
_SMALL = {"bfloat16": ("bfloat16", "int16"), "float8_e4m3fn": ("float8_e4m3fn", "uint8"),
          "float8_e5m2": ("float8_e5m2", "uint8")}


def require_torch(purpose: str) -> Any:
    """The torch module; TG0304 where it is not installed or cannot be imported."""
    try:
        import torch
    except Exception as error:          # a broken CUDA installation raises more than ImportError
        raise TilegenError("TG0304", f"{purpose} needs torch: {str(error).strip().splitlines()[0]}",
                           hint="pip install 'tilegen[torch]'") from None
    return torch


def on_device(value: Any, place: str) -> Any:
    """A NumPy array where kernels at `place` (cpu or gpu) read it without a copy: a CuPy array on a GPU, a torch tensor
    for the types that CuPy lacks. Anything else as it is."""
    if place == "cpu" or not isinstance(value, numpy.ndarray):
        return value
    if value.dtype.name in _SMALL:
        return as_torch(value).cuda()
    return require_cupy("a race on a GPU").asarray(value)


def as_torch(value: Any) -> Any:
    """A NumPy or CuPy array as a torch tensor that shares its memory. Anything else as it is."""
    if type(value).__module__.partition(".")[0] not in ("numpy", "cupy") or not hasattr(value, "dtype"):
        return value
    torch = require_torch("the peer torch")
    if value.dtype.name in _SMALL:
        name, integers = _SMALL[value.dtype.name]
        return torch.from_numpy(value.view(integers)).view(getattr(torch, name))
    return torch.from_numpy(value) if isinstance(value, numpy.ndarray) else torch.from_dlpack(value)


def on_host(value: Any) -> numpy.ndarray:
    """A NumPy array of the values of an array of any of the three libraries."""
    if isinstance(value, numpy.ndarray):
        return value
    if type(value).__module__.partition(".")[0] == "cupy":
        return value.get()
    value = value.detach().cpu()
    for name, (own, integers) in _SMALL.items():
        if str(value.dtype) == f"torch.{own}":
            import ml_dtypes
            torch = require_torch("the peer torch")
            return value.contiguous().view(getattr(torch, integers)).numpy().view(getattr(ml_dtypes, name))
    return value.numpy()
