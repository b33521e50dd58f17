"""Expressions of the self-test's plain loops: C++ of the host, with floats computed in double."""

from __future__ import annotations

import math

from tilegen import arith, ir
from tilegen.dtypes import DTYPES, DType, int64
from tilegen.emit.expressions import Printer
from tilegen.targets.base import C_FUNCTIONS, C_TYPES, Target

_STANDARD = [*C_FUNCTIONS["float64"], "atan2", "copysign", "isnan", "isinf", "isfinite"]
_FLOAT_FUNCTIONS = {**{n: f"std::{n}" for n in _STANDARD}, "abs": "std::fabs",
                    "min": "std::fmin", "max": "std::fmax"}
_INTEGER_FUNCTIONS = {n: f"std::{n}" for n in ("abs", "min", "max")}
_FUNCTIONS = {d.name: _FLOAT_FUNCTIONS if d.is_float else _INTEGER_FUNCTIONS for d in DTYPES.values()}
_TYPES = {d.name: "double" if d.is_float else C_TYPES.get(d.name, d.name) for d in DTYPES.values()}

HOST = Target(name="host", arch="", family="cpu", suffix=".cpp", folders=("common",), types=_TYPES,
              functions=_FUNCTIONS)


def element_type(dtype: DType) -> str:
    """The type of an element of a tensor on the host: host_float16, float, int; bools are bytes."""
    if dtype.is_small_float:
        return f"host_{dtype}"
    return "unsigned char" if dtype.kind == "bool" else C_TYPES[dtype.name]


def rounded(text: str, dtype: DType) -> str:
    """The value of `text` as `dtype` would keep it."""
    return f"double(host_{dtype}({text}))" if dtype.is_small_float else text


class HostPrinter(Printer):
    """Prints expressions for the host. Elements of tensors are `A[{i, j}]`, of tiles `A_shared[i][j]`."""

    def __init__(self, ranges: dict[str, arith.Range]) -> None:
        super().__init__(HOST, ranges)

    def element(self, buffer: ir.Buffer, indices: tuple[ir.Expr, ...]) -> str:
        if buffer.scope == "global":
            return f"{buffer.name}[{self.indices(indices)}]"
        return super().element(buffer, indices)

    def indices(self, indices: tuple[ir.Expr, ...]) -> str:
        """{i, j}"""
        return "{" + ", ".join(self(_as_signed(i)) for i in indices) + "}"

    def literal(self, value: int | float | bool, dtype: DType) -> str:
        if dtype.is_float and math.isinf(value):
            return "-INFINITY" if value < 0 else "INFINITY"
        if dtype.is_float and math.isnan(value):
            return "NAN"
        text = super().literal(value, dtype)
        return text.removesuffix("f") if dtype.is_float else text

    def _print(self, e: ir.Expr) -> tuple[str, str]:
        if isinstance(e, ir.Cast) and e.dtype.is_float and e.a.dtype.is_float:
            inner = self(e.a)
            needless = not e.dtype.is_small_float or e.a.dtype == e.dtype
            return self._print(e.a) if needless else (rounded(inner, e.dtype), "atom")
        if isinstance(e, ir.Cast) and e.dtype.is_small_float:
            return rounded(self(e.a), e.dtype), "atom"
        return super()._print(e)

    def _as(self, e: ir.Expr, dtype: DType, level: str) -> str:
        return self(e, level)

    def _binary(self, e: ir.BinOp) -> tuple[str, str]:
        operands = (e.a.dtype, e.b.dtype)
        if e.dtype.kind != "bool" and not any(_holds(d, e.dtype) for d in operands):
            e = ir.BinOp(e.op, ir.Cast(e.a, e.dtype), e.b, e.dtype)
        if e.op in ("min", "max") and e.dtype.is_integer and operands != (e.dtype, e.dtype):
            return f"std::{e.op}<{self.target.type(e.dtype)}>({self(e.a)}, {self(e.b)})", "atom"
        return super()._binary(e)

    def _floor_division(self, e: ir.BinOp) -> tuple[str, str]:
        name = {"//": "floored_quotient", "%": "floored_remainder"}[e.op]
        return f"{name}({self(e.a)}, {self(e.b)})", "atom"

    def _call(self, e: ir.Call) -> tuple[str, str]:
        match e.name, e.args:
            case "infinity", _:
                return "INFINITY", "atom"
            case "rsqrt", (x,):
                return f"1 / std::sqrt({self(x)})", "/"
            case "sigmoid", (x,):
                return f"1 / (1 + std::exp(-{self(x, 'unary')}))", "/"
            case "exp10", (x,):
                return f"std::pow(10.0, {self(x)})", "atom"
            case "popcount", (x,):
                return f"int(std::bitset<{x.dtype.bits}>({self(x)}).count())", "atom"
            case "clz", (x,):
                return f"count_leading_zeros({self(ir.Cast(x, DTYPES[f'uint{x.dtype.bits}']))})", "atom"
            case "bits_as", (x, like):
                source, wanted = element_type(like.dtype), element_type(e.dtype)
                source = f"({source})" if " " in source else source
                plain = x.dtype == like.dtype and x.dtype.is_integer and isinstance(x, (ir.Var, ir.Cast))
                bits = f"bits_on_host<{wanted}>({self(x) if plain else f'{source}({self(x)})'})"
                return (f"double({bits})" if e.dtype.is_float else bits), "atom"
            case "philox", _:
                return f"philox_on_host({', '.join(self(a) for a in e.args)})", "atom"
            case "abs", (x,) if x.dtype.kind == "uint":
                return self._print(x)
        return super()._call(e)


def _as_signed(index: ir.Expr) -> ir.Expr:
    """Positions are long long; an unsigned one of that width would narrow."""
    return ir.Cast(index, int64) if index.dtype.kind == "uint" and index.dtype.bits == 64 else index


def _holds(operand: DType, result: DType) -> bool:
    """Whether C++ computes in `result` if one operand is of this type."""
    if result.is_float:
        return operand.is_float
    return operand.compute == result.compute
