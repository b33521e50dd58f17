"""Expressions as C++: no parentheses but those that precedence asks for, no casts that do nothing."""

from __future__ import annotations

import math

from tilegen import arith, ir
from tilegen.dtypes import DType
from tilegen.errors import TilegenError
from tilegen.plan import EngineTile, PlacedBuffer, SwizzledBuffer
from tilegen.strided import StridedBuffer
from tilegen.targets.base import Target

# Binding strength of C++ operators, weakest first.
_LEVELS = (
    ("?:",),
    ("||",),
    ("&&",),
    ("|",),
    ("^",),
    ("&",),
    ("==", "!="),
    ("<", "<=", ">", ">="),
    ("<<", ">>"),
    ("+", "-"),
    ("*", "/", "%"),
    ("unary",),
    ("atom",),
)
PRECEDENCE = {op: level for level, ops in enumerate(_LEVELS) for op in ops}
_SPELLING = {"and": "&&", "or": "||", "//": "/", "trunc//": "/", "trunc%": "%"}
_SUFFIXES = {"int64": "LL", "uint64": "ULL", "uint32": "u"}
# Pairs that compilers warn about without parentheses.
_INSIDE_BITS = ("+", "-", "<<", ">>", "==", "!=", "<", "<=", ">", ">=", "&", "|", "^")
_ADVISED = {
    ("||", "&&"),
    *((shift, sign) for shift in ("<<", ">>") for sign in "+-"),
    *((bits, inner) for bits in "&|^" for inner in _INSIDE_BITS if inner != bits),
}


class Printer:
    """Prints expressions for one target. `prefixes` go before the names of buffers, by scope;
    `ranges` are the known ranges of names, which decide whether `//` may be C's `/`."""

    def __init__(
        self,
        target: Target,
        ranges: dict[str, arith.Range] | None = None,
        prefixes: dict[str, str] | None = None,
    ) -> None:
        self.target = target
        self.ranges = ranges or {}
        self.prefixes = prefixes or {}

    def __call__(self, expr: ir.Expr | int, level: str = "?:") -> str:
        """The text of `expr` where an operator of `level` surrounds it."""
        if isinstance(expr, (int, float)):
            expr = ir.const(expr)
        text, own = self._print(expr)
        return f"({text})" if PRECEDENCE[own] < PRECEDENCE[level] else text

    def _print(self, e: ir.Expr) -> tuple[str, str]:
        match e:
            case ir.Const():
                text = self.literal(e.value, e.dtype)
                return text, "-" if " - " in text else "unary" if text.startswith("-") else "atom"
            case ir.Var():
                return e.name, "atom"
            case ir.Load():
                return self.element(e.buffer, e.indices), "atom"
            case ir.BinOp():
                return self._binary(e)
            case ir.UnOp():
                sign = {"-": "-", "not": "!", "~": "~", "&": "&"}[e.op]
                inner = self(e.a, "unary")
                return (f"{sign}({inner})" if inner.startswith("-") else sign + inner), "unary"
            case ir.Select():
                branches = (self._as(x, e.dtype, "||") for x in (e.a, e.b))
                bits = isinstance(e.condition, ir.BinOp) and e.condition.op in ("&", "|", "^")
                return f"{self(e.condition, 'atom' if bits else '||')} ? {' : '.join(branches)}", "?:"
            case ir.Cast():
                return f"{self._type_call(e.dtype)}({self(e.a)})", "atom"
            case ir.Call():
                return self._call(e)
        raise AssertionError(f"no spelling for {type(e).__name__}")

    def _type_call(self, dtype: DType) -> str:
        name = self.target.type(dtype)
        return f"({name})" if " " in name else name

    def _as(self, e: ir.Expr, dtype: DType, level: str) -> str:
        """`e`, converted where C++ would not do it alone (a 16-bit float beside a float)."""
        if e.dtype != dtype and e.dtype.is_small_float:
            return f"{self._type_call(dtype)}({self(e)})"
        return self(e, level)

    def _alike(self, e: ir.Expr, dtype: DType, name: str) -> str:
        """An argument of the overloaded min and max, whose arguments are of one type."""
        if not dtype.is_integer or "::" in name:
            return self._as(e, dtype, "?:")
        if isinstance(e, ir.Const):
            return f"{e.value}{_SUFFIXES.get(dtype.name, '')}"
        promoted = dtype.bits < 64 and e.dtype.bits < dtype.bits
        return self(e) if promoted or e.dtype == dtype else f"{self._type_call(dtype)}({self(e)})"

    def _binary(self, e: ir.BinOp) -> tuple[str, str]:
        if e.op in ("min", "max"):
            name = self.function(e.op, e.dtype)
            return f"{name}({self._alike(e.a, e.dtype, name)}, {self._alike(e.b, e.dtype, name)})", "atom"
        if e.op in ("//", "%") and not self._plain_division(e):
            return self._floor_division(e)
        op = _SPELLING.get(e.op, e.op)
        # a - (b + c), a / (b * c) keep their parentheses; so does a * (b / c), which is not (a * b) / c.
        # Sums and products of floats round in the order that was written.
        quotient = isinstance(e.b, ir.BinOp) and e.b.op != "*" or isinstance(e.b, ir.Call) and e.b.name == "ceildiv"
        right = op in ("-", "/", "%", "<<", ">>") or (op == "*" and quotient) or (op in "+*" and not e.dtype.is_integer)
        wide = op == "<<" and isinstance(e.a, ir.Const) and e.dtype.bits == 64 and abs(e.a.value) < 2**31
        left = f"{e.a.value}{_SUFFIXES[e.dtype.name]}" if wide else self._operand(e.a, op, False)
        return f"{left} {op} {self._operand(e.b, op, right)}", op

    def _operand(self, e: ir.Expr, op: str, strict: bool) -> str:
        text, own = self._print(e)
        weaker = PRECEDENCE[own] < PRECEDENCE[op] or (strict and PRECEDENCE[own] == PRECEDENCE[op])
        return f"({text})" if weaker or (op, own) in _ADVISED else text

    def _plain_division(self, e: ir.BinOp) -> bool:
        if e.dtype.kind == "uint":
            return True
        return (
            e.dtype.is_integer
            and arith.bounds(e.a, self.ranges)[0] >= 0
            and arith.bounds(e.b, self.ranges)[0] >= 0
        )

    def _floor_division(self, e: ir.BinOp) -> tuple[str, str]:
        if e.dtype.is_integer:
            name = {"//": "floor_divide", "%": "floor_modulo"}[e.op]
            return f"{name}({self(e.a)}, {self(e.b)})", "atom"
        fraction = f"{self._operand(e.a, '/', False)} / {self._operand(e.b, '/', True)}"
        quotient = f"{self.function('floor', e.dtype)}({fraction})"
        if e.op == "//":
            return quotient, "atom"
        return f"{self._operand(e.a, '-', False)} - {quotient} * {self._operand(e.b, '*', True)}", "-"

    def _call(self, e: ir.Call) -> tuple[str, str]:
        if e.name == "ceildiv":
            a, b = e.args
            return f"({self(a, '+')} + {self(b, '+')} - 1) / {self(b, 'unary')}", "/"
        if e.name.startswith(("device:", "extern:")):
            return f"{e.name[len('device:'):]}({', '.join(self(a) for a in e.args)})", "atom"
        if e.name == "bits_as":
            return f"bits_as<{self.target.type(e.dtype)}>({self._exactly(e.args[0], e.args[1].dtype)})", "atom"
        args = ", ".join(
            self._as(a, e.dtype if not a.dtype.is_float or e.dtype.is_float else a.dtype.compute, "?:")
            for a in e.args
        )
        dtype = e.args[0].dtype.compute if e.args else e.dtype
        return f"{self.function(e.name, dtype, e)}({args})", "atom"

    def _exactly(self, e: ir.Expr, dtype: DType) -> str:
        """`e` as a value of `dtype`, where C++ would compute in a wider type."""
        plain = e.dtype == dtype and (dtype.bits >= 32 or isinstance(e, (ir.Load, ir.Var, ir.Cast)))
        return self(e) if plain else f"{self._type_call(dtype)}({self(e)})"

    def function(self, name: str, dtype: DType, e: ir.Expr | None = None) -> str:
        """The target's name of a math function; a helper of the same name where it has none."""
        spelled = self.target.functions.get(dtype.compute.name, {}).get(name)
        if spelled is None and name in ("min", "max", "abs") and dtype.is_integer:
            spelled = name
        if spelled is None and name not in HELPER_FUNCTIONS:
            raise TilegenError(
                "TG0204", f"target {self.target.name} has no {name} of {dtype}", e.loc if e else None
            )
        return spelled or name

    def literal(self, value: int | float | bool, dtype: DType) -> str:
        """A constant in C++."""
        if dtype.kind == "bool":
            return "true" if value else "false"
        if dtype.is_integer and value == -(2**63):          # C has no literal of that size
            return "-9223372036854775807LL - 1"
        if dtype.is_integer:
            suffix = "ULL" if int(value) >= 2**63 else "LL"
            return f"{int(value)}{suffix}" if abs(int(value)) >= 2**31 else str(int(value))
        if math.isinf(value):
            return ("-" if value < 0 else "") + "infinity()"
        if math.isnan(value):
            return "not_a_number()"
        return _float_text(float(value), dtype) + ("" if dtype.bits == 64 else "f")

    def element(self, buffer: ir.Buffer, indices: tuple[ir.Expr, ...]) -> str:
        """One element: a flat index for global tensors, one bracket a dimension otherwise."""
        if buffer.scope == "var":
            return buffer.name
        name = buffer.name if isinstance(buffer, ir.Alias) else self.prefixes.get(buffer.scope, "") + buffer.name
        if buffer.scope == "global":
            return f"{name}[{self(flat_index(buffer, indices))}]"
        if isinstance(buffer, PlacedBuffer):
            texts = [self(i) for i in indices]
            lead, own = texts[:-buffer.rank], texts[-buffer.rank:]
            return f"{buffer.accessor}({name}{''.join(f'[{i}]' for i in lead)}, {', '.join(own)})"
        if isinstance(buffer, EngineTile):
            *lead, row, col = (self(i) for i in indices)
            place = f"engine_place<{self.target.type(buffer.dtype)}, {self(buffer.shape[-2], '>>')}>({row}, {col})"
            return name + "".join(f"[{i}]" for i in (*lead, place))
        if isinstance(buffer, SwizzledBuffer):
            *lead, row, col = (self(i) for i in indices)
            place = f"swizzle<{self.target.type(buffer.dtype)}, {self(buffer.shape[-1], '>>')}>({row}, {col})"
            return name + "".join(f"[{i}]" for i in (*lead, row, place))
        return name + "".join(f"[{self(i)}]" for i in indices)

    def array(self, buffer: ir.Buffer) -> str:
        """The name of a buffer as a whole."""
        return self.prefixes.get(buffer.scope, "") + buffer.name


HELPER_FUNCTIONS = {"infinity", "sigmoid", "philox"}


def flat_index(buffer: ir.Buffer, indices: tuple[ir.Expr, ...]) -> ir.Expr:
    """The position of an element in memory: (i * N + j) * K + k, or i * lda + j where the tensor has strides."""
    flat: ir.Expr = ir.Const(0)
    if isinstance(buffer, StridedBuffer):
        for index, stride in zip(indices, buffer.strides):
            flat = arith.add(flat, arith.multiply(index, stride))
        return flat
    for index, extent in zip(indices, buffer.shape):
        flat = arith.add(arith.multiply(flat, extent), index)
    return flat


def _float_text(value: float, dtype: DType) -> str:
    """The shortest decimal that gives the same number in `dtype`."""
    if dtype.bits < 64:
        import numpy

        text = str(numpy.float32(value))
    else:
        text = repr(value)
    mantissa, mark, exponent = text.partition("e")
    if mark:
        return f"{mantissa}e{int(exponent)}"
    return text if "." in text else text + ".0"
