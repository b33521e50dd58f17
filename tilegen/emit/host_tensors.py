"""Tensors and small floats of the self-test's program: their types, and how they are filled."""

from __future__ import annotations

from dataclasses import dataclass

from tilegen.dtypes import DType
from tilegen.emit.host_expressions import element_type

# Bits of precision, with the hidden one: inputs are multiples of 2 ** -digits, which the type holds exactly.
DIGITS = {"float64": 24, "float32": 24, "tfloat32": 11, "float16": 11, "bfloat16": 8,
          "float8_e4m3": 4, "float8_e5m2": 3}
# (exponent bits, mantissa bits) of the small floats.
FIELDS = {"float16": (5, 10), "bfloat16": (8, 7), "float8_e4m3": (4, 3), "float8_e5m2": (5, 2)}


@dataclass(frozen=True)
class HostTensor:
    """A tensor of the program: its element type here and in the kernel, and how it is filled."""

    name: str
    dtype: DType
    shape: str                           # M, K
    access: str
    kernel_type: str                     # float16
    strides: str = ""                    # lda, 1

    @property
    def type(self) -> str:
        return element_type(self.dtype)

    @property
    def is_output(self) -> bool:
        return self.access not in ("read", "workspace")

    @property
    def random(self) -> str:
        """An expression for one random element; '' for what the kernel only writes."""
        if self.access in ("write", "workspace"):
            return ""
        if self.dtype.is_small_float:
            return f"{self.type}(uniform({1 << DIGITS[self.dtype.name]}))"
        if self.dtype.is_float:
            return f"uniform(1 << {DIGITS[self.dtype.name]})"
        signed = (-8, 8) if self.dtype.bits <= 16 else (0, 7)          # wide integers may be indices
        low, high = {"bool": (0, 1), "uint": (0, 15)}.get(self.dtype.kind, signed)
        return f"whole({low}, {high})"


def small_float(name: str) -> dict:
    """The numbers that describe a small float to its template."""
    exponent, mantissa = FIELDS[name]
    bits = 1 + exponent + mantissa
    return {"name": name, "type": f"host_{name}", "bits": "unsigned short" if bits == 16 else "unsigned char",
            "exponent": exponent, "mantissa": mantissa, "bias": 2 ** (exponent - 1) - 1,
            "exponents": 2**exponent - 1, "steps": 2**mantissa, "sign": hex(1 << bits - 1),
            "infinity": hex((2**exponent - 1) << mantissa), "nan": hex((1 << bits - 1) - 1),
            "has_infinity": name != "float8_e4m3"}
