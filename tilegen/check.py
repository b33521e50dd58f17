"""How far a result may be from its reference.

Integers and booleans have to be equal. A floating-point result r may differ from its reference e by

    rtol * (|e| + scale)        scale: the root mean square of all elements of e

rtol is a sum over the roundings of the kernel (`tilegen.emit.tolerance`, which the self-test of emitted files
uses too): one unit of the type that it computes in, one for each rounding to 16 or 8 bits on the way, and for
the longest sum in each type its unit times the square root of the length. Two right programs add in different
orders, and the rounding errors of k additions grow like sqrt(k). The units are about 2 roundings of a small
type, and 1e-5 of float32, which leaves room for fast math functions. `scale` stands for the size of the terms
where these cancel each other. NaN has to meet NaN, and an infinity the same infinity.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy

from tilegen import arith, ir
from tilegen.dtypes import DType
from tilegen.emit.tolerance import parts

@dataclass(frozen=True)
class Comparison:
    """One output against its reference: the worst error in the measure above, and the elements beyond it."""

    name: str
    error: float
    allowed: float
    wrong: int
    total: int
    first: tuple[int, ...] | None = None       # the index of the first wrong element
    got: object = None
    expected: object = None
    absolute: float = 0.0                      # the worst |r - e|
    relative: float = 0.0                      # the worst |r - e| / |e|, where e is not 0

    @property
    def ok(self) -> bool:
        return self.wrong == 0

    def __str__(self) -> str:
        if self.ok:
            return f"worst error {self.error:.2g}" + (f" of {self.allowed:.2g} allowed" if self.allowed else "")
        index = ", ".join(map(str, self.first))
        return (f"{self.wrong} of {self.total} elements are wrong, the first at [{index}]: {self.got} instead of "
                f"{self.expected} (worst error {self.error:.2g}, {self.allowed:.2g} allowed)")


def compare(name: str, got: numpy.ndarray, expected: numpy.ndarray, rtol: float) -> Comparison:
    """`got` against `expected`, of one shape and dtype. With rtol 0 they have to be equal."""
    result, reference = got.astype(numpy.float64), expected.astype(numpy.float64)
    finite = numpy.isfinite(reference)
    scale = math.sqrt(numpy.mean(reference[finite] ** 2)) if finite.any() and rtol else 0.0
    same = (got == expected) | (numpy.isnan(result) & numpy.isnan(reference))
    with numpy.errstate(all="ignore"):
        difference, size = numpy.abs(result - reference), numpy.abs(reference)
        errors = (difference, numpy.where(size == 0, 0.0, difference / size),
                  difference / numpy.maximum(size + scale, 1e-300) if rtol else difference)
    # NaN where only one of the two is NaN, or for two infinities: nothing can be further off
    absolute, relative, error = (numpy.where(same, 0.0, numpy.where(numpy.isnan(e), numpy.inf, e)) for e in errors)
    wrong = error > rtol
    count = int(numpy.count_nonzero(wrong))
    first = tuple(int(i) for i in numpy.unravel_index(numpy.argmax(wrong), wrong.shape)) if count else None
    return Comparison(name, float(error.max(initial=0.0)), rtol, count, error.size, first,
                      got[first] if count else None, expected[first] if count else None,
                      float(absolute.max(initial=0.0)), float(relative.max(initial=0.0)))


def tolerance(kernel: ir.Kernel, dtype: DType, values: Mapping[str, float]) -> float:
    """rtol of the rule above for an output of `dtype`; `values` are the kernel's knobs and sizes by name."""
    if not dtype.is_float:
        return 0.0
    return sum(part.unit * (part.count if part.length is None else math.sqrt(_number(part.length, values)))
               for part in parts(kernel))


def rule(kernel: ir.Kernel, dtype: DType, values: Mapping[str, float]) -> str:
    """The tolerance of an output of `dtype`, and how it comes about, in a line."""
    if not dtype.is_float:
        return f"{dtype.name} has to be equal"
    terms = [f"{part.unit:.2g} {part.dtype.name}" + (f" x {part.count}" if part.count > 1 else "")
             if part.length is None else
             f"{part.unit:.2g} sqrt({_number(part.length, values)} terms in {part.dtype.name})"
             for part in parts(kernel)]
    return f"|r - e| <= {tolerance(kernel, dtype, values):.2g} (|e| + rms of e), from {' + '.join(terms)}"


def _number(length: ir.Expr, values: Mapping[str, float]) -> int:
    """The value of a length; 1 where it is known to the running kernel only."""
    return max(int(arith.evaluate(length, dict(values)) or 1), 1)
