"""The tile operations in NumPy: Copy, Fill, Gemm, Reduce, Atomic."""

from __future__ import annotations

import numpy

from tilegen import ir
from tilegen.dtypes import DType
from tilegen.errors import Loc, TilegenError
from tilegen.interpret.expressions import evaluate
from tilegen.interpret.frame import Frame
from tilegen.interpret.memory import active_positions, memory_of, read_region, write_region
from tilegen.interpret.values import convert, poison

_REDUCTIONS = {"sum": numpy.sum, "max": numpy.fmax.reduce, "min": numpy.fmin.reduce, "absmax": numpy.fmax.reduce,
               "abssum": numpy.sum, "bitand": numpy.bitwise_and.reduce, "bitor": numpy.bitwise_or.reduce,
               "bitxor": numpy.bitwise_xor.reduce}
_COMBINE = {"sum": numpy.add, "max": numpy.fmax, "min": numpy.fmin, "absmax": numpy.fmax,
            "abssum": numpy.add, "add": numpy.add, "or": numpy.bitwise_or, "bitand": numpy.bitwise_and,
            "bitor": numpy.bitwise_or, "bitxor": numpy.bitwise_xor}


def copy(node: ir.Copy, frame: Frame) -> None:
    """dst = src with conversion, after dropping the extents of 1; what is outside reads as zero."""
    values = read_region(node.src, frame, evaluate)
    extents = tuple(int(evaluate(e, frame)) for e in node.dst.extents)
    _require_same(values.shape, extents, "T.copy", node.loc)
    if dict(node.options).get("asynchronous"):
        _start(node.dst, values.reshape(extents), frame)
    else:
        write_region(node.dst, values.reshape(extents), frame, evaluate)


def _start(dst: ir.Region, values: numpy.ndarray, frame: Frame) -> None:
    """An asynchronous copy: until `wait` ends it, nothing can be read at its destination but poison."""
    place = read_region(dst, frame, evaluate)              # a view, since on-chip memory has no outside
    frame.pending.append((place, convert(values, dst.buffer.dtype).copy()))
    place[...] = poison(dst.buffer.dtype)


def sync(node: ir.Sync, frame: Frame) -> None:
    """Ends the asynchronous copies, in order, where the barrier waits for them."""
    if node.waits:
        for place, values in frame.pending:
            place[...] = values
        frame.pending.clear()


def fill(node: ir.Fill, frame: Frame) -> None:
    """Every element of dst = value."""
    write_region(node.dst, evaluate(node.value, frame), frame, evaluate)


def gemm(node: ir.Gemm, frame: Frame) -> None:
    """c += a @ b (c = a @ b with clear). The inputs are converted to c's dtype first."""
    dtype = node.c.buffer.dtype.compute
    a, b = (_matrix(read_region(r, frame, evaluate)) for r in (node.a, node.b))
    a, b = (_as_multiplied(x, r.buffer.dtype) for x, r in ((a, node.a), (b, node.b)))
    a, b = (a.T if node.transpose_a else a), (b.T if node.transpose_b else b)
    old = read_region(node.c, frame, evaluate)
    if a.shape[1] != b.shape[0] or _matrix(old).shape != (a.shape[0], b.shape[1]):
        raise TilegenError("TG0104", f"T.gemm: {a.shape} @ {b.shape} into {_matrix(old).shape}", node.loc)
    product = _product(a, b, dtype).reshape(old.shape)
    write_region(node.c, product if node.clear else convert(old, dtype) + product, frame, evaluate)


def _matrix(values: numpy.ndarray) -> numpy.ndarray:
    """`values` without leading extents of 1, down to two dimensions."""
    shape = list(values.shape)
    while len(shape) > 2 and 1 in shape:
        shape.remove(1)
    return values.reshape(shape)


def _as_multiplied(values: numpy.ndarray, dtype: DType) -> numpy.ndarray:
    """Of tfloat32 the upper 19 bits, as the matrix instructions read it."""
    if dtype.name != "tfloat32":
        return values
    bits = numpy.ascontiguousarray(values, numpy.float32).view(numpy.uint32)
    return (bits & numpy.uint32(0xffffe000)).view(numpy.float32)


def _product(a: numpy.ndarray, b: numpy.ndarray, dtype: DType) -> numpy.ndarray:
    """a @ b in `dtype`. Small integers go through float64, which holds their sums exactly and is fast."""
    small = all(x.dtype.kind in "iub" and x.dtype.itemsize <= 2 for x in (a, b))
    if dtype.is_integer and small and a.shape[1] < 2 ** 20:
        exact = a.astype("float64") @ b.astype("float64")
        return convert(exact.astype("int64"), dtype)
    return convert(a, dtype) @ convert(b, dtype)


def reduce(node: ir.Reduce, frame: Frame) -> None:
    """dst = op over `dim` of src, accumulated in dst's compute dtype; without clear, op(dst, that)."""
    dtype = node.dst.buffer.dtype.compute
    values = convert(read_region(node.src, frame, evaluate), dtype)
    if node.op.startswith("abs"):
        values = numpy.abs(values)
    options = {"dtype": values.dtype} if node.op in ("sum", "abssum") else {}
    result = _without_nan(_REDUCTIONS[node.op](values, axis=node.dim, **options), node.op)
    old = read_region(node.dst, frame, evaluate)
    _require_same(result.shape, old.shape, f"T.reduce_{node.op}", node.loc)
    result = result.reshape(old.shape)
    if not node.clear:
        result = _COMBINE[node.op](convert(old, dtype), result)
    write_region(node.dst, result, frame, evaluate)


_OF_NOTHING = {"max": -numpy.inf, "min": numpy.inf, "absmax": 0.0}


def _without_nan(values: numpy.ndarray, op: str) -> numpy.ndarray:
    """The maxima and minima of NaN alone are those of nothing."""
    if op not in _OF_NOTHING or values.dtype.kind != "f":
        return values
    return numpy.where(numpy.isnan(values), values.dtype.type(_OF_NOTHING[op]), values)


def scan(node: ir.Scan, frame: Frame) -> None:
    """dst[i] = op of src[0] to src[i] along `dim`, in dst's compute dtype; from the end with reverse."""
    values = convert(read_region(node.src, frame, evaluate), node.dst.buffer.dtype.compute)
    extents = tuple(int(evaluate(e, frame)) for e in node.dst.extents)
    _require_same(values.shape, extents, f"T.cum{node.op}", node.loc)
    values = numpy.flip(values, node.dim) if node.reverse else values
    result = _without_nan(_COMBINE[node.op].accumulate(values, axis=node.dim, dtype=values.dtype), node.op)
    result = numpy.flip(result, node.dim) if node.reverse else result
    write_region(node.dst, result.reshape(extents), frame, evaluate)


def vote(node: ir.Vote, frame: Frame) -> None:
    """dst = whether any (all) elements of src are not 0."""
    values = read_region(node.src, frame, evaluate) != 0
    memory_of(node.dst, frame, node.loc).array[...] = values.any() if node.op == "any" else values.all()


def atomic(node: ir.Atomic, frame: Frame) -> None:
    """buffer[indices] = op(buffer[indices], value) for each active lane, one after the other."""
    memory = memory_of(node.buffer, frame, node.loc)
    value = convert(evaluate(node.value, frame), node.buffer.dtype)
    indices = tuple(evaluate(i, frame) for i in node.indices)
    positions = active_positions(memory, indices, frame, node.loc)
    if positions is None:
        return
    where, lanes = positions
    value = numpy.broadcast_to(value, frame.grid)[lanes]
    if node.previous is None:
        _COMBINE[node.op].at(memory.array, where, value)
    else:
        seen = _one_by_one(node.op, memory.array, where, numpy.atleast_1d(value))
        memory_of(node.previous, frame, node.loc).array[lanes] = seen if lanes else seen[0]


def _one_by_one(op: str, array: numpy.ndarray, where: tuple, values: numpy.ndarray) -> numpy.ndarray:
    """Updates in the order of the lanes; the values before each."""
    seen = numpy.empty(values.shape, array.dtype)
    for lane, value in enumerate(values):
        place = tuple(numpy.atleast_1d(i)[lane] for i in where)
        seen[lane] = array[place]
        array[place] = _COMBINE[op](array[place], value)
    return seen


def _require_same(source: tuple[int, ...], target: tuple[int, ...], name: str, loc: Loc | None) -> None:
    if [n for n in source if n != 1] != [n for n in target if n != 1]:
        raise TilegenError("TG0101", f"{name}: the shapes differ: {source} and {target}", loc)
