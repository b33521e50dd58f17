"""Sizes known at launch, as plain Python sees them."""

from __future__ import annotations

from tilegen import arith, ir


class Size:
    """A size known at launch (`T.dynamic`, `T.const`), or an integer computed from such sizes, as plain
    Python sees it: `n // 128` in a factory gives another Size."""

    def __init__(self, expr: ir.Expr):
        self.expr = expr

    def __repr__(self) -> str:
        return f"Size({self.expr})"

    def __eq__(self, other) -> bool:
        return isinstance(other, Size) and self.expr == other.expr

    def __hash__(self) -> int:
        return hash(self.expr)

    def _with(self, op: str, other, swap: bool = False):
        if not isinstance(other, (int, Size)):
            return NotImplemented
        other = other.expr if isinstance(other, Size) else ir.Const(other)
        a, b = (other, self.expr) if swap else (self.expr, other)
        return Size(arith.binary(op, a, b))

    def __add__(self, other): return self._with("+", other)
    def __radd__(self, other): return self._with("+", other, True)
    def __sub__(self, other): return self._with("-", other)
    def __rsub__(self, other): return self._with("-", other, True)
    def __mul__(self, other): return self._with("*", other)
    def __rmul__(self, other): return self._with("*", other, True)
    def __floordiv__(self, other): return self._with("//", other)
    def __rfloordiv__(self, other): return self._with("//", other, True)
    def __mod__(self, other): return self._with("%", other)
    def __rmod__(self, other): return self._with("%", other, True)
    def __xor__(self, other): return self._with("^", other)
    def __rxor__(self, other): return self._with("^", other, True)
    def __and__(self, other): return self._with("&", other)
    def __or__(self, other): return self._with("|", other)
    def __lshift__(self, other): return self._with("<<", other)
    def __rshift__(self, other): return self._with(">>", other)
