"""Binds arguments to the parameters of a kernel and runs its blocks one after the other."""

from __future__ import annotations

import math
from typing import Any

import numpy

from tilegen import dtypes, ir
from tilegen.errors import TilegenError
from tilegen.interpret.expressions import evaluate
from tilegen.interpret.frame import Frame, Memory
from tilegen.interpret.statements import execute
from tilegen.interpret.values import Value, convert, numpy_dtype
from tilegen.launches import launches_of
from tilegen.strided import StridedBuffer


def run(kernel: ir.Kernel, arguments: dict[str, Any], sizes: dict[str, int] | None = None) -> None:
    """Runs `kernel` on NumPy arrays and scalars by parameter name; outputs are written in place.

    kernel: Tile IR, planned or not (plans are not looked at).
    arguments: for each tensor parameter a C- or F-ordered array of its shape and dtype (bfloat16 and
        the 8-bit floats are those of ml_dtypes), for each scalar parameter a number.
    sizes: run-time dimensions by name; those that are missing follow from the shapes of the arrays.
    Raises TilegenError: TG0401-TG0403, TG0407, TG0410 for the arguments, TG0409 for a condition on the
    sizes, TG0105 for an access outside of on-chip memory, TG0112-TG0114, TG0414, and TG0204 for
    constructs that only single threads of a real device have.
    """
    frame = _bind(kernel, arguments, sizes or {})
    with numpy.errstate(all="ignore"):
        for condition in kernel.requires:
            if not evaluate(condition, frame):
                raise TilegenError("TG0409", f"{kernel.name} requires a condition that does not hold",
                                   condition.loc or kernel.loc)
        for launch in launches_of(kernel):
            grid = [int(evaluate(extent, frame)) for extent in launch.grid]
            for block in numpy.ndindex(*reversed(grid)):
                _run_block(launch, frame, tuple(reversed(block)))


def _run_block(kernel: ir.Kernel, launch: Frame, block: tuple[int, ...]) -> None:
    scalars = dict(launch.scalars)
    for var, index in zip(kernel.block_vars, block):
        scalars[var.name] = numpy_dtype(var.dtype).type(index)
    execute(kernel.body, Frame(scalars, dict(launch.memory), block, stored=launch.stored))


# ---- Arguments -----------------------------------------------------------------------------------
def _bind(kernel: ir.Kernel, arguments: dict[str, Any], sizes: dict[str, int]) -> Frame:
    names = [p.name for p in kernel.params if not p.workspace]
    wrong = [n for n in names if n not in arguments] + [n for n in arguments if n not in names]
    if wrong:
        raise TilegenError("TG0401", f"{kernel.name} takes {', '.join(names)}; {wrong[0]} is "
                           f"{'missing' if wrong[0] in names else 'not one of them'}", kernel.loc)
    for name in sizes:
        if name not in [v.name for v in kernel.sizes]:
            raise TilegenError("TG0503", f"{kernel.name} has no size {name}", kernel.loc)
    scalars = {k.name: _constant(k.value) for k in kernel.knobs}
    scalars |= {v.name: numpy_dtype(v.dtype).type(sizes[v.name]) for v in kernel.sizes if v.name in sizes}
    frame = Frame(scalars, {})
    for param in kernel.params:
        if param.workspace:
            continue
        if param.buffer is None:
            scalars[param.name] = convert(numpy.asarray(arguments[param.name])[()], param.var.dtype)
        else:
            array = _checked_array(param, arguments[param.name])
            frame.memory[param.buffer.name] = Memory(param.buffer, array)
            _infer_sizes(param, array, scalars)
    for size in kernel.sizes:
        if size.name not in scalars:
            raise TilegenError("TG0401", f"the size {size.name} does not follow from the shapes of arrays",
                               size.loc or kernel.loc, hint=f"give sizes={{'{size.name}': ...}}")
    for param in kernel.params:
        if param.workspace:
            shape = tuple(int(evaluate(extent, frame)) for extent in param.buffer.shape)
            frame.memory[param.buffer.name] = Memory.fresh(param.buffer, shape, ())
        elif param.buffer is not None:
            _check_shape(param, frame)
    return frame


def _constant(value: int | float | bool) -> Value:
    dtype = dtypes.lookup(type(value))
    if dtype == dtypes.int32 and not -2 ** 31 <= value < 2 ** 31:
        dtype = dtypes.int64
    return numpy_dtype(dtype).type(value)


def _checked_array(param: ir.Param, array: Any) -> numpy.ndarray:
    if not isinstance(array, numpy.ndarray):
        raise TilegenError("TG0407", f"{param.name} is a {type(array).__name__}, not a NumPy array",
                           param.loc)
    if array.dtype != numpy_dtype(param.buffer.dtype):
        raise TilegenError("TG0402", f"{param.name} is {array.dtype}, and has to be {param.buffer.dtype}",
                           param.loc)
    if array.ndim != len(param.buffer.shape):
        raise TilegenError("TG0403", f"{param.name} has {array.ndim} dimensions, and has to have "
                           f"{len(param.buffer.shape)}", param.loc)
    if param.access != "read" and not array.flags.writeable:
        raise TilegenError("TG0410", f"{param.name} is written by the kernel, and its array is read only",
                           param.loc)
    return array


def _infer_sizes(param: ir.Param, array: numpy.ndarray, scalars: dict[str, Value]) -> None:
    steps = tuple(step // array.itemsize for step in array.strides)
    for extent, size in zip((*param.buffer.shape, *_strides(param)), (*array.shape, *steps)):
        if isinstance(extent, ir.Var) and extent.kind == "size" and extent.name not in scalars:
            scalars[extent.name] = numpy_dtype(extent.dtype).type(size)


def _strides(param: ir.Param) -> tuple[ir.Expr, ...]:
    """The strides that a parameter is declared with."""
    return param.buffer.strides if isinstance(param.buffer, StridedBuffer) else ()


def _check_shape(param: ir.Param, frame: Frame) -> None:
    array = frame.memory[param.buffer.name].array
    shape = tuple(int(evaluate(extent, frame)) for extent in param.buffer.shape)
    if shape != array.shape:
        raise TilegenError("TG0403", f"{param.name} has the shape {array.shape}, and has to have {shape}",
                           param.loc)
    for extent, step, expr in zip(shape, array.strides, _strides(param)):
        wanted = int(evaluate(expr, frame)) * array.itemsize
        if extent > 1 and array.size and step != wanted:
            raise TilegenError("TG0403", f"{param.name} has the strides {array.strides} in bytes, and one of them has "
                               f"to be {wanted}", param.loc)
    if math.prod(shape) >= 2 ** 31:
        raise TilegenError("TG0412", f"{param.name} has {math.prod(shape)} elements; an index has 32 bits",
                           param.loc)
