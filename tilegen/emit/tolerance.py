"""How far a right result may lie from the plain loops: a rule over the roundings of a kernel."""

from __future__ import annotations

from dataclasses import dataclass

from tilegen import arith, ir
from tilegen.dtypes import DType, float32, float64, tfloat32
from tilegen.emit.reference import rounds
from tilegen.emit.work import cancel
from tilegen.launches import launches_of
from tilegen.passes.ranges import Ranges, collect

# The error that one rounding may add, relative to the result: some units in the last place.
UNIT = {"float64": 1e-13, "float32": 1e-5, "float16": 2e-3, "tfloat32": 2e-3, "bfloat16": 1.6e-2,
        "float8_e4m3": 0.25, "float8_e5m2": 0.5}


@dataclass(frozen=True)
class Rounding:
    """A place of the kernel that rounds to `dtype`; a sum does so once for each of its terms, whose
    number is the product of `terms`."""

    dtype: DType
    terms: tuple[ir.Expr, ...] = ()


def roundings(kernel: ir.Kernel) -> list[Rounding]:
    """Every place that rounds a float, in program order."""
    found: list[Rounding] = []
    for launch in launches_of(kernel):
        _collect(launch.body, (), tuple(launch.grid), collect(launch), found)
    return found


def _collect(body, loops: tuple, all_loops: tuple, known: Ranges, found: list[Rounding]) -> None:
    """`loops` are the trip counts of the serial loops around, `all_loops` those of all loops and the grid."""
    for s in body:
        match s:
            case ir.For():
                trips = (_bound(arith.ceildiv(arith.subtract(s.stop, s.start), s.step), known),)
                _collect(s.body, loops + trips, all_loops + trips, known, found)
            case ir.Parallel():
                _collect(s.body, loops, all_loops + s.extents, known, found)
            case ir.While():
                _collect(s.body, loops, all_loops, known, found)
            case ir.If():
                _collect(s.then, loops, all_loops, known, found)
                _collect(s.otherwise, loops, all_loops, known, found)
            case _:
                found += _of(s, loops, all_loops)


def _of(s: ir.Stmt, loops: tuple, all_loops: tuple) -> list[Rounding]:
    match s:
        case ir.Gemm():
            depth = s.a.extents[-2 if s.transpose_a else -1]
            found = [Rounding(s.c.buffer.dtype, (depth, *loops))]
            if s.a.buffer.dtype == tfloat32:
                found.append(Rounding(tfloat32, (depth, *loops)))
        case ir.Reduce():
            terms = (s.src.extents[s.dim], *(() if s.clear else loops)) if s.op.endswith("sum") else ()
            found = [Rounding(s.dst.buffer.dtype, terms)]
        case ir.Scan():
            found = [Rounding(s.dst.buffer.dtype, (s.src.extents[s.dim],) if s.op == "sum" else ())]
        case ir.Atomic():
            found = [Rounding(s.buffer.dtype, all_loops if s.op == "add" else ())]
        case ir.Copy():
            found = [Rounding(s.dst.buffer.dtype)] if s.src.buffer.dtype != s.dst.buffer.dtype else []
        case ir.Store():
            again = any(isinstance(n, ir.Load) and n.buffer == s.buffer for n in ir.walk(s.value))
            computes = _computes(s.value, s.buffer.dtype)
            found = [Rounding(s.buffer.dtype, loops if again else ())] if computes else []
        case ir.Let():
            found = [Rounding(s.var.dtype)] if _computes(s.value, s.var.dtype) else []
        case _:
            found = []
    casts = [Rounding(n.dtype) for n in ir.walk(s) if isinstance(n, ir.Cast)]
    return [r for r in found + casts if r.dtype.is_float]


def _computes(value: ir.Expr, dtype: DType) -> bool:
    return rounds(value, dtype) or not isinstance(value, (ir.Const, ir.Load, ir.Var))


def _bound(trips: ir.Expr, known: Ranges) -> ir.Expr:
    """A trip count without the counters of loops around it: each at its last value."""
    last = {name: arith.subtract(limit, 1) for name, limit in known.limits.items()}
    return arith.fold(ir.substitute(trips, last))


@dataclass(frozen=True)
class Part:
    """A part of the tolerance: `unit` times `count`, or times the square root of `length`."""

    dtype: DType
    unit: float
    count: int = 1
    length: ir.Expr | None = None


def parts(kernel: ir.Kernel) -> list[Part]:
    """The tolerance of a kernel's float results as a sum: one unit of the type that it computes in, one for
    each rounding to 16 or 8 bits, and for the longest sum in each type the square root of its length."""
    counts: dict[DType, int] = {}
    longest: dict[DType, ir.Expr] = {}
    fixed = {v.name for v in kernel.sizes} | {k.name for k in kernel.knobs}
    env = {k.name: k.value for k in kernel.knobs} | {v.name: 1024 for v in kernel.sizes}
    for r in roundings(kernel):
        length = arith.product(cancel([ir.Const(1), *(f for f in r.terms if arith.names(f) <= fixed)]))
        if length == ir.Const(1):
            counts[r.dtype] = counts.get(r.dtype, 0) + 1
        elif r.dtype not in longest or _number(length, env) > _number(longest[r.dtype], env):
            longest[r.dtype] = length
    tensors = {p.buffer.dtype for p in kernel.params if p.buffer is not None and p.buffer.dtype.is_float}
    wide = float64 if tensors == {float64} else float32
    small = [Part(d, UNIT[d.name], n) for d, n in counts.items() if d.bits < 32]
    sums = [Part(d, UNIT[d.name] / (1 if d.bits < 32 or d == tfloat32 else 10), length=n) for d, n in longest.items()]
    return [Part(wide, UNIT[wide.name]), *small, *sums]


def _number(length: ir.Expr, env: dict) -> float:
    return arith.evaluate(length, env) or 0
