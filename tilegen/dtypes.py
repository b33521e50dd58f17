"""The element types: width, kind, NumPy name, and the type that arithmetic on them uses."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class DType:
    """One element type. `kind` is 'float', 'int', 'uint' or 'bool'."""

    name: str
    kind: str
    bits: int

    def __str__(self) -> str:
        return self.name

    def __repr__(self) -> str:
        return f"DType({self.name})"

    @property
    def bytes(self) -> int:
        return self.bits // 8

    @property
    def is_float(self) -> bool:
        return self.kind == "float"

    @property
    def is_integer(self) -> bool:
        return self.kind in ("int", "uint")

    @property
    def is_small_float(self) -> bool:
        """Whether it is a float of 16 or 8 bits: C++ keeps those in types of their own."""
        return self.is_float and self.bits < 32

    @property
    def compute(self) -> DType:
        """The type that arithmetic is done in: small floats in float32, rounded once when stored;
        small integers in int32."""
        if self.is_small_float or self.name == "tfloat32":
            return float32
        if self.is_integer and self.bits < 32:
            return int32
        return self

    @property
    def in_memory(self) -> str:
        """The name of the type that arrays of it have: tfloat32 is float32 there, 4-bit integers are in bytes."""
        return {"tfloat32": "float32", "int4": "uint8", "uint4": "uint8"}.get(self.name, self.name)

    @property
    def numpy(self):
        """The NumPy dtype; bfloat16 and the 8-bit floats come from ml_dtypes."""
        import numpy
        if self.name in _ML_DTYPES:
            import ml_dtypes
            return numpy.dtype(getattr(ml_dtypes, _ML_DTYPES[self.name]))
        return numpy.dtype(self.in_memory)


float64, float32, float16 = DType("float64", "float", 64), DType("float32", "float", 32), DType("float16", "float", 16)
bfloat16 = DType("bfloat16", "float", 16)
# float32 in memory and in arithmetic, except that matrix products leave out the low 13 bits of each operand.
tfloat32 = DType("tfloat32", "float", 32)
float8_e4m3, float8_e5m2 = DType("float8_e4m3", "float", 8), DType("float8_e5m2", "float", 8)
int8, int16, int32, int64 = (DType(f"int{n}", "int", n) for n in (8, 16, 32, 64))
uint8, uint16, uint32, uint64 = (DType(f"uint{n}", "uint", n) for n in (8, 16, 32, 64))
bool_ = DType("bool", "bool", 8)

DTYPES = {d.name: d for d in (float64, float32, tfloat32, float16, bfloat16, float8_e4m3, float8_e5m2, int8, int16,
                              int32, int64, uint8, uint16, uint32, uint64, bool_)}
# Two elements in a byte, the even one in its lower half: in tensors and shared tiles alone (passes/unpack_nibbles.py).
PACKED = {"int4": DType("int4", "int", 4), "uint4": DType("uint4", "uint", 4)}
_ML_DTYPES = {"bfloat16": "bfloat16", "float8_e4m3": "float8_e4m3fn", "float8_e5m2": "float8_e5m2"}
_ALIASES = {"float": "float32", "double": "float64", "half": "float16", "fp64": "float64", "fp32": "float32",
            "fp16": "float16", "bf16": "bfloat16", "f64": "float64", "f32": "float32", "f16": "float16",
            "int": "int32", "i8": "int8", "i32": "int32", "i64": "int64", "float8_e4m3fn": "float8_e4m3",
            "e4m3": "float8_e4m3", "e5m2": "float8_e5m2", "tf32": "tfloat32", "boolean": "bool", "bool_": "bool"}


def lookup(value) -> DType | None:
    """The DType for a name, a DType, a NumPy/ml_dtypes/torch/cupy dtype or scalar type; None if there is none."""
    if isinstance(value, DType):
        return value
    if isinstance(value, type) and value in (float, int, bool):
        return {float: float32, int: int32, bool: bool_}[value]
    name = value if isinstance(value, str) else getattr(value, "name", None) or getattr(value, "__name__", None)
    name = str(name if name is not None else value).removeprefix("torch.")
    name = _ALIASES.get(name, name)
    return DTYPES.get(name) or PACKED.get(name)


def promote(a: DType, b: DType) -> DType:
    """The type of `a op b`: the compute types meet; floats win over integers, then the wider one;
    of two integers of one width the unsigned one wins."""
    a, b = a.compute, b.compute
    if a == b:
        return a
    rank = {"bool": 0, "int": 1, "uint": 2, "float": 3}
    if "float" in (a.kind, b.kind):
        return max((d for d in (a, b) if d.is_float), key=lambda d: d.bits)
    return max((a, b), key=lambda d: (d.bits if d.kind != "bool" else 0, rank[d.kind]))
