"""How far two right implementations may differ: magnitude, granularity and error of a value.

Inputs are small multiples of 1/8, so that sums and products stay exact in float32 whatever their
order; an exact value has to agree to the last bit on every target. What is not exact carries a bound
on the difference between any two right implementations.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

UNIT = {"float64": 2.0 ** -50, "float32": 2.0 ** -20, "float16": 2.0 ** -10, "bfloat16": 2.0 ** -7,
        "float8_e4m3": 2.0 ** -3, "float8_e5m2": 2.0 ** -2}
LARGEST = 1e4


@dataclass(frozen=True)
class Value:
    """|x| <= high; x is a multiple of `grain`, unless `error` > 0 bounds how far targets may differ."""
    high: float
    grain: float = 1.0
    error: float = 0.0
    dtype: str = "float32"

    @property
    def exact(self) -> bool:
        return self.error == 0

    @property
    def integer(self) -> bool:
        return self.dtype.startswith("int")

    def stored(self, dtype: str) -> Value:
        """After a conversion to `dtype`: what is exact stays the same everywhere, what is not may fall
        on the other side of a rounding."""
        value = replace(self, dtype=dtype)
        if dtype.startswith("int") or self.exact:
            return value.settled() if dtype.startswith("float") else value
        return replace(value, error=self.error + self.high * UNIT[dtype])

    def settled(self) -> Value:
        """With an error, if the value needs more bits than the type that it is computed in has."""
        bits = 53 if self.dtype == "float64" else 24               # of the type that is computed in
        if self.exact and not self.integer and self.high / self.grain > 2.0 ** (bits - 1):
            return replace(self, error=self.high * UNIT[self.dtype])
        return self


def computed(a: str, b: str) -> str:
    """The type that an operation on these two types computes in."""
    names = ["int32" if t.startswith("int") else t if t == "float64" else "float32" for t in (a, b)]
    return max(names, key=["int32", "float32", "float64"].index)


def added(a: Value, b: Value) -> Value:
    high, dtype = a.high + b.high, computed(a.dtype, b.dtype)
    return rounded(Value(high, min(a.grain, b.grain), a.error + b.error, dtype))


def multiplied(a: Value, b: Value) -> Value:
    error = a.error * b.high + b.error * a.high + a.error * b.error
    return rounded(Value(a.high * b.high, a.grain * b.grain, error, computed(a.dtype, b.dtype)))


def chosen(a: Value, b: Value) -> Value:
    """Either of two values."""
    error, dtype = max(a.error, b.error), computed(a.dtype, b.dtype)
    return Value(max(a.high, b.high), min(a.grain, b.grain), error, dtype)


def summed(a: Value, count: int, dtype: str) -> Value:
    """A sum of `count` such values in `dtype`, in any order."""
    value = Value(a.high * count, a.grain, a.error * count, dtype)
    return rounded(value, count)


def smooth(a: Value, high: float, slope: float) -> Value:
    """A function with values up to `high` and a derivative up to `slope`, rounded by the target."""
    dtype = computed(a.dtype, "float32")
    return Value(high, 0.0, a.error * slope + high * UNIT[dtype] * 4, dtype)


def rounded(value: Value, operations: int = 1) -> Value:
    """After `operations` roundings, where the value is not exact."""
    value = value.settled()
    if value.exact:
        return value
    return replace(value, grain=0.0, error=value.error + operations * value.high * UNIT[value.dtype])
