"""The checks of one argument before a launch. Each error names the argument, and what to pass instead."""

from __future__ import annotations

import sys
from collections.abc import Mapping

from tilegen.errors import TilegenError
from tilegen.runtime.arrays import MAX_ELEMENTS, ArrayView
from tilegen.runtime.contract import Param
from tilegen.runtime.expressions import Number


def check_array(param: Param, array: ArrayView) -> None:
    """dtype, rank, number of elements, contiguity and writability, in the order a reader would ask."""
    name = param.name
    if array.dtype != param.dtype:
        raise TilegenError("TG0402", f"argument {name} is {array.dtype}, expected {param.dtype}")
    if param.has_shape and len(array.shape) != len(param.shape):
        raise TilegenError("TG0403", f"argument {name} has {len(array.shape)} dimensions {array.shape}, "
                           f"expected {len(param.shape)}: ({', '.join(param.shape)})")
    if param.strides:
        _check_strides(param, array)
    if max(array.elements, array.span) > MAX_ELEMENTS:
        raise TilegenError("TG0412", f"argument {name} has {max(array.elements, array.span)} elements, more than "
                           f"{MAX_ELEMENTS}", hint="kernels index with 32-bit integers; split the array")
    if not array.is_contiguous and not param.strides:
        strides = ", ".join(str(s) for s in array.strides)
        raise TilegenError("TG0404", f"argument {name} is not contiguous: shape {array.shape}, strides "
                           f"({strides}) in elements", hint=f"pass a contiguous copy{_copy(array, param)}")
    if array.readonly and param.writes:
        raise TilegenError("TG0410", f"argument {name} is read only, but the kernel writes it",
                           hint="pass a writable array, or leave the argument out to have it allocated")


def _check_strides(param: Param, array: ArrayView) -> None:
    """TG0404 for strides that the kernel cannot go: by parts of elements, backwards, or to one place twice."""
    for extent, step in zip(array.shape, array.steps):
        if extent > 1 and array.elements and (not isinstance(step, int) or step < 0 or step == 0 and param.writes):
            raise TilegenError("TG0404", f"argument {param.name} has the strides {array.steps} in elements",
                               hint=f"pass a contiguous copy{_copy(array, param)}")


def check_gradients(arrays: Mapping[str, ArrayView]) -> None:
    """TG0415 for a tensor of torch whose gradient is being recorded: it would be lost without a word."""
    for name, array in arrays.items():
        if array.library == "torch" and array.owner.requires_grad and sys.modules["torch"].is_grad_enabled():
            raise TilegenError("TG0415", f"argument {name} requires a gradient, and a plain call has none",
                               hint=f"make an operator: tilegen.interop.torch.op(forward, backward=...); or pass "
                                    f"{name}.detach(), or call under torch.no_grad()")


def misaligned(param: Param, align: int) -> TilegenError:
    """The error for an address that is no multiple of `align` bytes."""
    return TilegenError("TG0406", f"argument {param.name} starts at an address that is not a multiple of "
                        f"{align} bytes", hint="pass a copy, or a view that starts on such an address")


def check_scalar(param: Param, value: object) -> Number:
    """The Python number for a scalar argument; floats do not become integers."""
    number = value.item() if hasattr(value, "item") and getattr(value, "shape", ()) == () else value
    kinds = (int, float) if param.dtype.is_float else (int,)
    if not isinstance(number, kinds):
        raise TilegenError("TG0402", f"argument {param.name} is {value!r}, expected a scalar of "
                           f"{param.dtype}")
    if param.dtype.is_float:
        return float(number)
    low, high = _range(param)
    if not low <= number <= high:
        raise TilegenError("TG0402", f"argument {param.name} is {number}, outside the range of {param.dtype}")
    return int(number)


def _range(param: Param) -> tuple[int, int]:
    if param.dtype.kind == "bool":
        return 0, 1
    bits = param.dtype.bits
    return (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) if param.dtype.kind == "int" else (0, 2**bits - 1)


def _copy(array: ArrayView, param: Param) -> str:
    if param.writes:
        return ", and copy it back afterwards"
    if array.library == "torch":
        return f": {param.name}.contiguous()"
    return f": {array.library}.ascontiguousarray({param.name})" if array.library in ("numpy", "cupy") else ""
